package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/example/workload-operator/cmd/workloadctl/internal/unified"
	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/conversion"
)

// lastAppliedAnnotation is where kubectl remembers the manifest that was applied before.
const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"

// applier applies manifests as a dry run.
type applier struct {
	*diffOptions

	client    dynamic.Interface
	namespace string
	resources map[string]string // plural by group and kind
}

func (o *diffOptions) applier() (*applier, error) {
	restConfig, err := o.interactive()
	if err != nil {
		return nil, err
	}
	a := &applier{diffOptions: o, resources: map[string]string{}}
	if a.namespace, err = o.inNamespace(); err != nil {
		return nil, err
	}
	if a.client, err = dynamic.NewForConfig(restConfig); err != nil {
		return nil, unreachable(err)
	}
	crds, err := config.CRDs()
	for _, crd := range crds {
		a.resources[crd.Spec.Group+"/"+crd.Spec.Names.Kind] = crd.Spec.Names.Plural
	}
	return a, err
}

func (a *applier) input(ctx context.Context, in input) (text string, foreign int, err error) {
	reader := newManifestReader()
	var failures []error
	var all strings.Builder
	for _, d := range split(in.text) {
		ours, others, err := reader.objects(d)
		foreign += others
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: document %d: %w", in.name, d.number, err))
		}
		for _, m := range ours {
			text, err := a.difference(ctx, m.raw)
			if err != nil {
				failures = append(failures, fmt.Errorf("%s: document %d: %w", in.name, d.number, err))
			}
			all.WriteString(text)
		}
	}
	return all.String(), foreign, errors.Join(failures...)
}

// difference compares the object on the server with what it would be.
func (a *applier) difference(ctx context.Context, manifest []byte) (string, error) {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(manifest); err != nil {
		return "", err
	}
	if object.GetNamespace() == "" {
		object.SetNamespace(a.namespace)
	}
	kind := object.GroupVersionKind()
	resource := kind.GroupVersion().WithResource(a.resources[kind.Group+"/"+kind.Kind])
	what := fmt.Sprintf("%s %s/%s", kind.Kind, object.GetNamespace(), object.GetName())
	if resource.Resource == "" {
		return "", fmt.Errorf("%s: no such kind in %s", what, kind.Group)
	}
	live, err := a.client.Resource(resource).Namespace(object.GetNamespace()).Get(ctx, object.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		live, err = nil, nil
	}
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", what, err)
	}
	merged, err := a.apply(ctx, resource, live, object)
	if err != nil {
		return "", fmt.Errorf("applying %s: %w", what, err)
	}
	before, err := a.shown(live)
	if err != nil {
		return "", fmt.Errorf("showing %s: %w", what, err)
	}
	after, err := a.shown(merged)
	if err != nil {
		return "", fmt.Errorf("showing %s: %w", what, err)
	}
	version := kind.Group + "/" + a.in
	return unified.Diff("live "+version+" "+what, "merged "+version+" "+what, before, after), nil
}

// apply does on the server what kubectl apply would, without a trace.
func (a *applier) apply(ctx context.Context, resource schema.GroupVersionResource, live, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	client := a.client.Resource(resource).Namespace(object.GetNamespace())
	dry := []string{metav1.DryRunAll}
	text, err := object.MarshalJSON()
	switch {
	case err != nil:
		return nil, err
	case a.serverSide:
		return client.Patch(ctx, object.GetName(), types.ApplyPatchType, text, metav1.PatchOptions{DryRun: dry, FieldManager: a.fieldManager, Force: &a.force})
	case live == nil:
		return client.Create(ctx, object, metav1.CreateOptions{DryRun: dry, FieldManager: "kubectl-client-side-apply"})
	}
	patch, err := threeWay(live, object)
	if err != nil {
		return nil, fmt.Errorf("comparing with what was applied before: %w", err)
	}
	if string(patch) == "{}" {
		return live, nil
	}
	return client.Patch(ctx, object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{DryRun: dry, FieldManager: "kubectl-client-side-apply"})
}

// threeWay is the patch of kubectl apply, but for the annotation in which kubectl remembers the manifest.
func threeWay(live, object *unstructured.Unstructured) ([]byte, error) {
	modified := object.DeepCopy()
	annotations := modified.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{} // what kubectl remembers always has annotations
	}
	delete(annotations, lastAppliedAnnotation)
	modified.SetAnnotations(annotations)
	text, err := modified.MarshalJSON()
	if err != nil {
		return nil, err
	}
	current, err := live.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return jsonmergepatch.CreateThreeWayJSONMergePatch([]byte(live.GetAnnotations()[lastAppliedAnnotation]), text, current)
}

// shown is an object as YAML in the version asked for, empty for none.
func (a *applier) shown(object *unstructured.Unstructured) (string, error) {
	if object == nil {
		return "", nil
	}
	text, err := object.MarshalJSON()
	if err != nil {
		return "", err
	}
	converted, err := conversion.Convert(text, object.GroupVersionKind().Group+"/"+a.in)
	if err != nil {
		return "", err
	}
	plain := &unstructured.Unstructured{}
	if err := plain.UnmarshalJSON(converted.Object); err != nil {
		return "", err
	}
	unstructured.RemoveNestedField(plain.Object, "status")
	for _, field := range []string{"managedFields", "generation", "resourceVersion"} {
		unstructured.RemoveNestedField(plain.Object, "metadata", field)
	}
	if object.GetResourceVersion() == "" { // made up for this dry run
		for _, field := range []string{"uid", "creationTimestamp"} {
			unstructured.RemoveNestedField(plain.Object, "metadata", field)
		}
	}
	out, err := yaml.Marshal(plain.Object)
	return string(out), err
}
