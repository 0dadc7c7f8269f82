package upgrade

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/example/workload-operator/test/etcd"
)

const (
	newer = "v1"
	older = "v1alpha1"
)

// kind is one of ours.
type kind struct {
	schema.GroupKind
	resource string
}

var kinds = []kind{
	{schema.GroupKind{Group: "app.example.com", Kind: "WebApp"}, "webapps"},
	{schema.GroupKind{Group: "batch.example.com", Kind: "PodSet"}, "podsets"},
}

func (k kind) in(version string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: k.Group, Version: version, Resource: k.resource}
}

// specs of the objects on the road. Those of v1 say much that v1alpha1 cannot.
var specs = map[string]map[string]string{
	"WebApp": {
		older: `{"image": {"repository": "nginx", "tag": "1.25"}, "scale": {"instances": 1}, "env": {"B": "2", "A": "1"},
			"resources": {"cpu": "1000m"}}`,
		newer: `{"image": "nginx:1.25", "replicas": 1, "env": [{"name": "Z", "value": "1"},
			{"name": "S", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k", "optional": true}}}, {"name": "A", "value": "2"}],
			"resources": {"requests": {"cpu": "0.010"}, "limits": {"memory": "1024Mi"}}, "podLabels": {"team": "x"},
			"terminationGracePeriodSeconds": 5, "disruptionBudget": {"maxUnavailable": 1}}`,
	},
	"PodSet": {
		older: `{"size": 1, "container": {"image": "nginx", "env": {"B": "2"}}, "readyAfter": "0s", "description": "from the old days"}`,
		newer: `{"replicas": 1, "image": "nginx", "podLabels": {"team": "x"}, "terminationGracePeriodSeconds": 5,
			"scaleDown": {"policy": "Newest"}, "env": [{"name": "Z", "value": "1"}, {"name": "A", "value": "2"}]}`,
	},
}

func (r *road) of(k kind, version string) dynamic.ResourceInterface {
	return r.dynamic.Resource(k.in(version)).Namespace(r.namespace)
}

// create makes so many objects of each kind through a version.
func (r *road) create(version string, count int) {
	r.t.Helper()
	for _, k := range kinds {
		for i := range count {
			object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
			r.Expect(json.Unmarshal([]byte(specs[k.Kind][version]), ptrTo(object.Object["spec"].(map[string]any)))).To(gomega.Succeed())
			object.SetGroupVersionKind(k.WithVersion(version))
			object.SetName(fmt.Sprintf("%s-%d", version, i))
			r.Eventually(func() error {
				_, err := r.of(k, version).Create(r.t.Context(), object, metav1.CreateOptions{FieldManager: "road"})
				return err
			}, patience, interval).Should(gomega.Succeed(), "the API server may not serve the kind yet")
		}
	}
}

func ptrTo[T any](value T) *T { return &value }

// ready waits until every object is Ready for its generation.
func (r *road) ready() {
	r.t.Helper()
	r.Eventually(func(g gomega.Gomega) {
		for _, k := range kinds {
			for _, object := range r.list(g, k.in(newer)) {
				g.Expect(isReady(object)).To(gomega.BeTrue(), "%s %s: %v", k.Kind, object.GetName(), object.Object["status"])
			}
		}
	}, collectorPatience, interval).Should(gomega.Succeed())
}

func isReady(object unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(entry any) bool {
		condition, _ := entry.(map[string]any)
		return condition["type"] == "Ready" && condition["status"] == "True" && condition["observedGeneration"] == object.GetGeneration()
	})
}

func (r *road) list(g gomega.Gomega, resource schema.GroupVersionResource) []unstructured.Unstructured {
	list, err := r.dynamic.Resource(resource).Namespace(r.namespace).List(r.t.Context(), metav1.ListOptions{})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	return list.Items
}

// picture is what must not change on the road: what a client sees of the objects in one version, and of their children who they
// are and how often their spec was changed.
type picture map[string]any

// children are the kinds that we make, and those that are made of them.
var children = []schema.GroupVersionResource{
	{Group: "apps", Version: "v1", Resource: "deployments"}, {Group: "apps", Version: "v1", Resource: "replicasets"},
	{Version: "v1", Resource: "services"}, {Version: "v1", Resource: "pods"}, {Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
}

// look takes the picture in some versions.
func (r *road) look(versions ...string) picture {
	r.t.Helper()
	p := picture{}
	for _, resource := range children {
		for _, object := range r.list(r, resource) {
			p[resource.Resource+" "+object.GetName()] = fmt.Sprintf("%s generation %d", object.GetUID(), object.GetGeneration())
		}
	}
	for _, k := range kinds {
		for _, version := range versions {
			for _, object := range r.list(r, k.in(version)) {
				p[fmt.Sprintf("%s %s %s", version, k.resource, object.GetName())] = map[string]any{
					"uid": object.GetUID(), "generation": object.GetGeneration(), "spec": object.Object["spec"], "status": object.Object["status"],
				}
			}
		}
	}
	return p
}

// unchanged compares what is there with an earlier picture, in the versions that are served.
func (r *road) unchanged(before picture, versions ...string) {
	r.t.Helper()
	now := r.look(versions...)
	wanted := maps.Clone(before)
	for name := range wanted {
		for _, version := range []string{older, newer} {
			if !slices.Contains(versions, version) && len(name) > len(version) && name[:len(version)+1] == version+" " {
				delete(wanted, name)
			}
		}
	}
	if diff := cmp.Diff(wanted, now); diff != "" {
		r.t.Errorf("the road changed something (-before +now):\n%s", diff)
	}
}

// stored counts the objects of the test in etcd by the version they are stored in, over both kinds.
func (r *road) stored() map[string]int { return r.storedIn(r.namespace + "/") }

// everywhere is storedIn for all namespaces.
func (r *road) everywhere() map[string]int { return r.storedIn("") }

func (r *road) storedIn(place string) map[string]int {
	r.t.Helper()
	counts := map[string]int{}
	for _, entry := range r.entries(place) {
		gv, err := schema.ParseGroupVersion(entry.APIVersion())
		r.Expect(err).NotTo(gomega.HaveOccurred())
		counts[gv.Version]++
	}
	return counts
}

// entries are the objects of both kinds in etcd, below a place.
func (r *road) entries(place string) []etcd.Entry {
	r.t.Helper()
	var all []etcd.Entry
	for _, k := range kinds {
		entries, err := r.etcd.List(r.t.Context(), etcd.Prefix(schema.GroupResource{Group: k.Group, Resource: k.resource})+place)
		r.Expect(err).NotTo(gomega.HaveOccurred())
		all = append(all, entries...)
	}
	return all
}

// applyBoth applies something to an object of each kind by server-side apply, as a manager that has done so before.
func (r *road) applyBoth(version, manager, label string) {
	r.t.Helper()
	for _, k := range kinds {
		_, err := r.apply(r.t.Context(), k, version, manager, label)
		r.Expect(err).NotTo(gomega.HaveOccurred(), "%s applies a %s in %s", manager, k.Kind, version)
	}
}

func (r *road) apply(ctx context.Context, k kind, version, manager, label string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
		"name": version + "-0", "labels": map[string]any{manager: label},
	}}}
	// The object was made through v1alpha1, whichever version applies.
	object.SetName(older + "-0")
	object.SetGroupVersionKind(k.WithVersion(version))
	return r.of(k, version).Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: manager})
}

// gone says that a request found no such version or object.
func gone(err error) bool { return apierrors.IsNotFound(err) }
