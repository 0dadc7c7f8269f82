package conversion

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/onsi/gomega"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/conversion"
)

const partialFile = "../corpus/conversion/partial-ssa.json"

var update = flag.Bool("update", false, "rewrite recorded reviews in test/corpus/conversion")

// TestPlane is conversion under a real API server. Its parts share the plane and have namespaces of their own.
func TestPlane(t *testing.T) {
	c := startCluster(t)
	for _, part := range []struct {
		name string
		test func(*cluster)
	}{
		{"server-side apply by two managers in two versions", serverSideApply},
		{"a field given up beside an entry for v1alpha1", givenUpBesideV1alpha1},
		{"kubectl apply in alternating versions", clientSideApply},
		{"patches through v1alpha1", patches},
		{"status through v1alpha1", statusThroughV1alpha1},
		{"watches in both versions", watches},
		{"deleting a collection", deleteCollection},
		{"lists of 5,000 objects", lists},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(c.within(t)) })
	}
	failed, largest := c.reviews.verdict()
	if len(failed) > 0 {
		t.Errorf("%d reviews failed, the first: %s", len(failed), failed[0])
	}
	t.Logf("the largest review had %d objects", largest)
}

// serverSideApply (C-28): neither manager disturbs the other, and fields that one gives up go. At last a manager moves to
// v1alpha1. The API server then takes all that it had applied in v1 out of the object, with its labels the whole
// metadata, and has the rest converted: such partial objects must arrive and convert.
func serverSideApply(c *cluster) {
	before := len(c.reviews.partials())
	c.apply(webApps, "v1alpha1", "old", `{"apiVersion":"app.example.com/v1alpha1","kind":"WebApp","metadata":{"name":"web"},
		"spec":{"image":{"repository":"web","tag":"1"},"scale":{"instances":3},"env":{"A":"1","B":"2"}}}`)
	c.apply(webApps, "v1", "new", `{"apiVersion":"app.example.com/v1","kind":"WebApp","metadata":{"name":"web","labels":{"team":"blue"}},
		"spec":{"args":["-v"],"targetPort":8080,"env":[{"name":"S","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}},{"name":"T","value":"1"}]}}`)
	c.expectSpec("v1", "web", `{"image":"web:1","replicas":3,"port":80,"targetPort":8080,"args":["-v"],"env":[{"name":"A","value":"1"},{"name":"B","value":"2"},
		{"name":"S","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}},{"name":"T","value":"1"}]}`)

	c.apply(webApps, "v1alpha1", "old", `{"apiVersion":"app.example.com/v1alpha1","kind":"WebApp","metadata":{"name":"web"},
		"spec":{"image":{"repository":"web","tag":"2"},"env":{"B":"3"}}}`)
	c.apply(webApps, "v1", "new", `{"apiVersion":"app.example.com/v1","kind":"WebApp","metadata":{"name":"web","labels":{"team":"blue"}},
		"spec":{"replicas":5,"args":["-w"],"env":[{"name":"S","valueFrom":{"secretKeyRef":{"name":"s","key":"l"}}}]}}`)
	c.expectSpec("v1", "web", `{"image":"web:2","replicas":5,"port":80,"args":["-w"],"env":[{"name":"B","value":"3"},
		{"name":"S","valueFrom":{"secretKeyRef":{"name":"s","key":"l"}}}]}`)
	c.expectSpec("v1alpha1", "web", `{"image":{"repository":"web","tag":"2"},"scale":{"instances":5},"expose":{"port":80},"env":{"B":"3"}}`)

	c.apply(webApps, "v1alpha1", "new", `{"apiVersion":"app.example.com/v1alpha1","kind":"WebApp","metadata":{"name":"web","labels":{"team":"red"}},
		"spec":{"scale":{"instances":6}}}`)
	c.expectSpec("v1alpha1", "web", `{"image":{"repository":"web","tag":"2"},"scale":{"instances":6},"expose":{"port":80},"env":{"B":"3"}}`)
	c.keepPartial(c.reviews.partials()[before:])
}

// keepPartial expects reviews with partial objects, and records one with -update.
func (c *cluster) keepPartial(partial [][]byte) {
	c.t.Helper()
	c.Expect(partial).NotTo(gomega.BeEmpty(), "reviews with an object without metadata")
	c.t.Logf("%d reviews had an object without metadata, the first: %s", len(partial), partial[0])
	if !*update {
		return
	}
	var pretty bytes.Buffer
	c.Expect(json.Indent(&pretty, bytes.TrimSpace(partial[0]), "", "  ")).To(gomega.Succeed())
	pretty.WriteByte('\n')
	c.Expect(os.WriteFile(partialFile, pretty.Bytes(), 0o644)).To(gomega.Succeed())
}

// givenUpBesideV1alpha1 shows a limit. While another manager has an entry for v1alpha1, what v1alpha1 cannot show stays when
// its manager gives it up. The API server puts back what it takes for the other's fields by going through v1alpha1,
// where all hidden fields are one annotation, and takes the annotation as it was before. Once the entries for v1alpha1
// are gone from managedFields, as after migration, the same request removes the fields.
func givenUpBesideV1alpha1(c *cluster) {
	const (
		before = `{"apiVersion":"app.example.com/v1","kind":"WebApp","metadata":{"name":"web"},"spec":{"paused":true,"args":["-v"],
			"env":[{"name":"S","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]}}`
		after = `{"apiVersion":"app.example.com/v1","kind":"WebApp","metadata":{"name":"web"},"spec":{"paused":true,
			"env":[{"name":"S","value":"plain"}]}}`
	)
	c.apply(webApps, "v1alpha1", "old", `{"apiVersion":"app.example.com/v1alpha1","kind":"WebApp","metadata":{"name":"web"},"spec":{"image":{"repository":"web"}}}`)
	c.apply(webApps, "v1", "new", before)
	c.apply(webApps, "v1", "new", after)
	c.expectSpec("v1", "web", `{"image":"web","replicas":1,"port":80,"paused":true,"args":["-v"],
		"env":[{"name":"S","value":"plain","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]}`)

	c.apply(webApps, "v1", "new", before)
	object := c.get(webApps, "v1", "web")
	object.SetManagedFields(slices.DeleteFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.APIVersion == "app.example.com/v1alpha1"
	}))
	_, err := c.of(webApps, "v1").Update(c.t.Context(), object, metav1.UpdateOptions{FieldManager: "new"})
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.apply(webApps, "v1", "new", after)
	c.expectSpec("v1", "web", `{"image":"web","replicas":1,"port":80,"paused":true,"env":[{"name":"S","value":"plain"}]}`)
}

// TestPartialReview (C-28) replays a review that an API server sent during server-side apply.
func TestPartialReview(t *testing.T) {
	body, err := os.ReadFile(partialFile)
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest(http.MethodPost, "/convert", bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	conversion.NewHandler(conversion.HandlerOptions{}).ServeHTTP(answer, request)
	sent, err := converted(body, answer)
	if err != nil {
		t.Fatal(err)
	}
	if len(sent) == 0 || sent[0].Metadata != nil {
		t.Errorf("the recorded review has no partial object: %s", body)
	}
}

// expectSpec compares the whole spec of a WebApp.
func (c *cluster) expectSpec(version, name, want string) {
	c.t.Helper()
	object := c.get(webApps, version, name)
	c.Expect(object.Object["spec"]).To(gomega.BeComparableTo(any(parsed(c.t, want))), "in %s", version)
	_, kept := object.GetAnnotations()[workloadv1.AnnotationV1Fields]
	c.Expect(kept && version == "v1").To(gomega.BeFalse(), "the annotation of kept fields on a v1 object")
}

// clientSideApply: kubectl computes its patches from the last applied configuration, which is in the other version
// each time. What v1alpha1 does not have, applying in v1alpha1 does not remove, and afterwards kubectl no longer knows
// of it.
func clientSideApply(c *cluster) {
	const (
		first  = `{"apiVersion":"app.example.com/v1","kind":"WebApp","metadata":{"name":"web"},"spec":{"image":"web:1","replicas":2,"args":["-v"],"env":[{"name":"Z","value":"1"},{"name":"A","value":"2"}]}}`
		second = `{"apiVersion":"app.example.com/v1alpha1","kind":"WebApp","metadata":{"name":"web"},"spec":{"image":{"repository":"web","tag":"2"},"scale":{"instances":3},"env":{"A":"2","M":"3"}}}`
		third  = `{"apiVersion":"app.example.com/v1","kind":"WebApp","metadata":{"name":"web"},"spec":{"image":"web:3","replicas":4,"podLabels":{"team":"blue"}}}`
	)
	c.kubectl(first, "apply", "-f", "-")
	c.kubectl(second, "apply", "-f", "-")
	c.expectSpec("v1alpha1", "web", `{"image":{"repository":"web","tag":"2"},"scale":{"instances":3},"expose":{"port":80},"env":{"A":"2","M":"3","Z":"1"}}`)
	c.kubectl(third, "apply", "-f", "-")
	c.kubectl(second, "apply", "-f", "-")
	c.kubectl(third, "apply", "-f", "-")
	c.expectSpec("v1", "web", `{"image":"web:3","replicas":4,"port":80,"args":["-v"],"podLabels":{"team":"blue"}}`)
}

// patches: an old client's patch changes what it names, and hidden fields only where it takes the annotation away that
// carries them. Admission, which is not here, undoes the latter: without it, promise 2 ends at this annotation.
func patches(c *cluster) {
	c.create(webApps, "v1", `{"apiVersion":"app.example.com/v1","kind":"WebApp","metadata":{"name":"web","annotations":{"a":"b"}},"spec":{"image":"web:1","args":["-v"],
		"env":[{"name":"Z","value":"1"},{"name":"S","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}},{"name":"A","value":"2"}]}}`)
	c.patch("v1alpha1", "web", types.JSONPatchType, `[{"op":"test","path":"/spec/scale/instances","value":1},
		{"op":"replace","path":"/spec/scale/instances","value":4},{"op":"add","path":"/spec/env/M","value":"5"},{"op":"remove","path":"/spec/env/Z"}]`)
	c.expectSpec("v1", "web", `{"image":"web:1","replicas":4,"port":80,"args":["-v"],
		"env":[{"name":"S","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}},{"name":"A","value":"2"},{"name":"M","value":"5"}]}`)
	c.patch("v1alpha1", "web", types.MergePatchType, `{"metadata":{"annotations":{"a":null}},"spec":{"image":{"tag":"2"},"env":{"A":null}}}`)
	c.expectSpec("v1", "web", `{"image":"web:2","replicas":4,"port":80,"args":["-v"],
		"env":[{"name":"S","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}},{"name":"M","value":"5"}]}`)
	c.patch("v1alpha1", "web", types.MergePatchType, `{"metadata":{"annotations":null}}`)
	c.expectSpec("v1", "web", `{"image":"web:2","replicas":4,"port":80,"env":[{"name":"M","value":"5"}]}`)
}

// statusThroughV1alpha1 (C-40, C-44): status is the same thing in both versions, and needs no annotation.
func statusThroughV1alpha1(c *cluster) {
	c.create(webApps, "v1", `{"apiVersion":"app.example.com/v1","kind":"WebApp","metadata":{"name":"web"},"spec":{"image":"web:1"}}`)
	older := parsed(c.t, `{"observedGeneration":1,"replicas":3,"readyReplicas":2,"updatedReplicas":3,"available":0,"state":"running",
		"updatedAt":"2026-01-02T03:04:05Z","selector":"a=b","url":"http://web",
		"conditions":[{"type":"Ready","status":"True","reason":"Ready","message":"","lastTransitionTime":"2026-01-02T03:04:05Z"}]}`)
	newer := parsed(c.t, `{"observedGeneration":1,"replicas":3,"readyReplicas":2,"updatedReplicas":3,"availableReplicas":0,"phase":"Running",
		"lastUpdateTime":"2026-01-02T03:04:05Z","selector":"a=b","url":"http://web",
		"conditions":[{"type":"Ready","status":"True","reason":"Ready","message":"","lastTransitionTime":"2026-01-02T03:04:05Z"}]}`)
	c.patch("v1alpha1", "web", types.MergePatchType, string(encoded(c.t, map[string]any{"status": older})), "status")
	c.expectStatus("v1", newer)
	c.expectStatus("v1alpha1", older)
	older["state"], newer["phase"] = "failed", "Failed"
	c.patch("v1", "web", types.MergePatchType, string(encoded(c.t, map[string]any{"status": newer})), "status")
	c.expectStatus("v1alpha1", older)
	c.expectStatus("v1", newer)
}

func (c *cluster) expectStatus(version string, want map[string]any) {
	c.t.Helper()
	object := c.get(webApps, version, "web")
	got, _, err := unstructured.NestedMap(object.Object, "status")
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Expect(got).To(gomega.BeComparableTo(want), "in %s", version)
	c.Expect(object.GetAnnotations()).To(gomega.BeEmpty(), "in %s", version)
}
