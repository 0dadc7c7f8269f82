package helm

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/workload-operator/test/manifests"
)

const (
	newer = "v1"
	older = "v1alpha1"
)

// kind is one of ours, with a spec of each version.
type kind struct {
	schema.GroupKind
	specs map[string]string
}

var kinds = []kind{
	{schema.GroupKind{Group: "app.example.com", Kind: "WebApp"}, map[string]string{
		newer: `{"image": "nginx:1.25", "replicas": 1, "port": 80, "podLabels": {"team": "x"}}`,
		older: `{"image": {"repository": "nginx", "tag": "1.25"}, "scale": {"instances": 1}}`,
	}},
	{schema.GroupKind{Group: "batch.example.com", Kind: "PodSet"}, map[string]string{
		newer: `{"replicas": 1, "image": "nginx:alpine", "podLabels": {"team": "x"}}`,
		older: `{"size": 1, "container": {"image": "nginx:alpine"}}`,
	}},
}

// namespace makes one that holds its Pods to the strictest level.
func (s *site) namespace(t *testing.T, name string) {
	t.Helper()
	s.must(t, "kubectl", "create", "namespace", name)
	s.must(t, "kubectl", "label", "namespace", name, "pod-security.kubernetes.io/enforce=restricted")
}

// objects makes one of each kind through each version, and waits for their Pods.
func (s *site) objects(t *testing.T, namespace string) {
	t.Helper()
	if err := s.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{newer, older} {
		eventually(t, "objects are created", func() error { return s.create(t, namespace, version, version) })
	}
	eventually(t, "their Pods are there", func() error {
		pods := &corev1.PodList{}
		if err := s.client.List(t.Context(), pods, client.InNamespace(namespace)); err != nil {
			return err
		}
		if len(pods.Items) != 4 {
			return fmt.Errorf("%d Pods, want 4", len(pods.Items))
		}
		return nil
	})
}

// create makes an object of each kind through a version, unless it is there.
func (s *site) create(t *testing.T, namespace, name, version string) error {
	t.Helper()
	for _, k := range kinds {
		object := &unstructured.Unstructured{Object: map[string]any{}}
		object.SetGroupVersionKind(k.WithVersion(version))
		object.SetNamespace(namespace)
		object.SetName(name)
		var spec map[string]any
		if err := json.Unmarshal([]byte(k.specs[version]), &spec); err != nil {
			t.Fatal(err)
		}
		object.Object["spec"] = spec
		if err := s.client.Create(t.Context(), object); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// provide copies the operator's own certificate into a Secret that is not its own, without the authority's key.
func (s *site) provide(t *testing.T, namespace, service, name string) {
	t.Helper()
	own := &corev1.Secret{}
	key := client.ObjectKey{Namespace: namespace, Name: strings.TrimSuffix(service, "service") + "certs"}
	if err := s.client.Get(t.Context(), key, own); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Type: corev1.SecretTypeTLS, Data: map[string][]byte{
		"tls.crt": own.Data["tls.crt"], "tls.key": own.Data["tls.key"], "ca.crt": own.Data["ca.crt"],
	}}
	if err := s.client.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
}

// read lists the objects of both kinds in a version.
func (s *site) read(t *testing.T, version string) error {
	for _, k := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(k.WithVersion(version))
		if err := s.client.List(t.Context(), list); err != nil {
			return fmt.Errorf("listing %s in %s: %w", k.Kind, version, err)
		}
	}
	return nil
}

// identities are what must not change: the UIDs of objects, children and Pods, and what generation their specs are at.
func (s *site) identities(t *testing.T, namespace string) map[string]string {
	t.Helper()
	found := map[string]string{}
	lists := []client.ObjectList{&appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &corev1.PodList{}, &corev1.ServiceList{}}
	for _, k := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(k.WithVersion(newer))
		lists = append(lists, list)
	}
	for _, list := range lists {
		eventually(t, "objects can be listed", func() error { return s.client.List(t.Context(), list, client.InNamespace(namespace)) })
		data, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		var items struct {
			Items []metav1.PartialObjectMetadata `json:"items"`
		}
		if err := json.Unmarshal(data, &items); err != nil {
			t.Fatal(err)
		}
		for _, item := range items.Items {
			found[fmt.Sprintf("%T %s", list, item.Name)] = fmt.Sprintf("%s at %d", item.UID, item.Generation)
		}
	}
	return found
}

// unmoved wants that objects and Pods run on as they were.
func (s *site) unmoved(t *testing.T, namespace string, before map[string]string) {
	t.Helper()
	if diff := cmp.Diff(before, s.identities(t, namespace)); diff != "" {
		t.Errorf("objects and Pods in %s (-before +now):\n%s", namespace, diff)
	}
}

func (s *site) definitions(t *testing.T) []apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	var ours []apiextensionsv1.CustomResourceDefinition
	for _, name := range []string{"podsets.batch.example.com", "webapps.app.example.com"} {
		crd := apiextensionsv1.CustomResourceDefinition{}
		if err := s.client.Get(t.Context(), client.ObjectKey{Name: name}, &crd); err != nil {
			t.Fatal(err)
		}
		ours = append(ours, crd)
	}
	return ours
}

// forget removes the definitions, and with them all objects.
func (s *site) forget(t *testing.T) {
	t.Helper()
	for _, name := range []string{"podsets.batch.example.com", "webapps.app.example.com"} {
		crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := s.client.Delete(t.Context(), crd); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		eventually(t, name+" is gone", func() error {
			err := s.client.Get(t.Context(), client.ObjectKeyFromObject(crd), crd)
			if apierrors.IsNotFound(err) {
				return nil
			}
			return errors.Join(err, fmt.Errorf("conditions: %v", crd.Status.Conditions))
		})
	}
}

// migrated waits until everything is stored as v1.
func (s *site) migrated(t *testing.T) {
	t.Helper()
	eventually(t, "everything is stored as v1", func() error {
		for _, crd := range s.definitions(t) {
			if !slices.Equal(crd.Status.StoredVersions, []string{newer}) {
				return fmt.Errorf("%s has stored %v", crd.Name, crd.Status.StoredVersions)
			}
		}
		return nil
	})
}

// works waits until both versions can be read and the Service that a definition names is that of the release.
func (s *site) works(t *testing.T, service, namespace string) {
	t.Helper()
	eventually(t, "both versions can be read", func() error { return errors.Join(s.read(t, newer), s.read(t, older)) })
	for _, crd := range s.definitions(t) {
		at := crd.Spec.Conversion.Webhook.ClientConfig
		if at.Service.Name != service || at.Service.Namespace != namespace || len(at.CABundle) == 0 {
			t.Errorf("%s asks Service %s/%s, want %s/%s; %d bytes of caBundle", crd.Name, at.Service.Namespace, at.Service.Name, namespace, service, len(at.CABundle))
		}
	}
	for _, configuration := range s.webhooks(t) {
		if !strings.HasPrefix(configuration.GetName(), strings.TrimSuffix(service, "webhook-service")) {
			t.Errorf("%s is left of another installation", configuration.GetName())
		}
	}
}

// webhooks are all webhook configurations of the cluster.
func (s *site) webhooks(t *testing.T) []client.Object {
	t.Helper()
	validating, mutating := &admissionv1.ValidatingWebhookConfigurationList{}, &admissionv1.MutatingWebhookConfigurationList{}
	if err := errors.Join(s.client.List(t.Context(), validating), s.client.List(t.Context(), mutating)); err != nil {
		t.Fatal(err)
	}
	var all []client.Object
	for i := range validating.Items {
		all = append(all, &validating.Items[i])
	}
	for i := range mutating.Items {
		all = append(all, &mutating.Items[i])
	}
	return all
}

// versions are what a write of the objects of a manifest would change: the resourceVersion, or the generation where the status
// moves by itself.
func (s *site) versions(t *testing.T, manifest string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, object := range manifests.Decode(t, []byte(manifest)) {
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(object.GroupVersionKind())
		if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(object), live); err != nil {
			t.Fatalf("%s: %v", manifests.ID(object), err)
		}
		version := live.GetResourceVersion()
		if live.Object["status"] != nil {
			version = fmt.Sprint("generation ", live.GetGeneration())
		}
		found[manifests.ID(object)] = version
	}
	if len(found) < 20 {
		t.Fatalf("the release has %d objects", len(found))
	}
	return found
}

// deleted removes a namespace and waits until it is gone with all that it holds.
func (s *site) deleted(t *testing.T, name string) {
	t.Helper()
	s.must(t, "kubectl", "delete", "namespace", name, "--wait=false")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	eventually(t, "namespace "+name+" is gone", func() error {
		err := s.client.Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, fmt.Errorf("conditions: %v", namespace.Status.Conditions))
	})
}

// each calls a function with the name of every item.
func each(list client.ObjectList, do func(name string)) error {
	items, err := meta.ExtractList(list)
	for _, item := range items {
		if object, ok := item.(metav1.Object); ok {
			do(object.GetName())
		}
	}
	return err
}
