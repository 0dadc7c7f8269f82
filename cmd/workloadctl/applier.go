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
	guide     fieldGuide
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
	if a.guide, err = newFieldGuide(); err != nil {
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

func (a *applier) input(ctx context.Context, in input) (text string, found contents, err error) {
	reader := newManifestReader()
	var failures []error
	var all strings.Builder
	for _, d := range in.documents {
		inside, err := reader.read(d)
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: document %d: %w", in.name, d.number, err))
		}
		for _, m := range inside.ours {
			text, err := a.difference(ctx, m)
			if err != nil {
				failures = append(failures, fmt.Errorf("%s: document %d: %w", in.name, d.number, err))
			}
			all.WriteString(text)
		}
		found.foreign += inside.foreign
		for _, hint := range inside.hints {
			found.hints = append(found.hints, fmt.Sprintf("%s: document %d: %s", in.name, d.number, hint))
		}
	}
	return all.String(), found, errors.Join(failures...)
}

// difference compares the object on the server with what it would be.
func (a *applier) difference(ctx context.Context, m manifest) (string, error) {
	if m.unknown != "" {
		return "", errors.New(m.unknown)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(m.raw); err != nil {
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
	if err := a.duplicates(m); err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	live, err := a.client.Resource(resource).Namespace(object.GetNamespace()).Get(ctx, object.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		live, err = nil, nil
	}
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", what, err)
	}
	merged, err := a.apply(ctx, resource, live, object)
	if unserved(err) && a.in != kind.Version {
		return "", fmt.Errorf("%s: the cluster does not serve %s: convert the manifest to %s/%s; workloadctl check says at which step the definitions are",
			what, kind.GroupVersion(), kind.Group, a.in)
	}
	if err != nil {
		return "", fmt.Errorf("applying %s: %w", what, a.explained(kind, err))
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

// duplicates are fields that come twice. The cluster would not notice, since it does not get the text of the manifest.
func (a *applier) duplicates(m manifest) error {
	var failures []error
	for _, one := range m.repeated {
		failures = append(failures, fmt.Errorf("%s (line %d)", duplicateField(one.path), one.line))
	}
	mistakes, _ := a.guide.Mistakes(m.raw) // the cluster judges what else is wrong
	for _, text := range mistakes {
		if kind, _ := mistake(text); kind == duplicateWord {
			failures = append(failures, errors.New(text))
		}
	}
	return errors.Join(failures...)
}

// explained adds to the refusal of an unknown field what was probably meant. That of a patch has the whole object before it.
func (a *applier) explained(kind schema.GroupVersionKind, err error) error {
	text := err.Error()
	if at := strings.Index(text, strictError); at >= 0 {
		text = text[at:]
	}
	if text = a.guide.explained(kind, text); text == err.Error() {
		return err
	}
	return errors.New(text)
}

const strictError = "strict decoding error: "

// apply does on the server what kubectl apply would, without a trace.
func (a *applier) apply(ctx context.Context, resource schema.GroupVersionResource, live, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	client := a.client.Resource(resource).Namespace(object.GetNamespace())
	dry, strict := []string{metav1.DryRunAll}, metav1.FieldValidationStrict // as kubectl apply
	text, err := object.MarshalJSON()
	switch {
	case err != nil:
		return nil, err
	case a.serverSide:
		return client.Patch(ctx, object.GetName(), types.ApplyPatchType, text, metav1.PatchOptions{DryRun: dry, FieldValidation: strict, FieldManager: a.fieldManager, Force: &a.force})
	case live == nil:
		return client.Create(ctx, object, metav1.CreateOptions{DryRun: dry, FieldValidation: strict, FieldManager: "kubectl-client-side-apply"})
	}
	patch, err := threeWay(live, object)
	if err != nil {
		return nil, fmt.Errorf("comparing with what was applied before: %w", err)
	}
	if string(patch) == "{}" {
		return live, nil
	}
	return client.Patch(ctx, object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{DryRun: dry, FieldValidation: strict, FieldManager: "kubectl-client-side-apply"})
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
