package conversion

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// noise is text that does not compress.
func noise(n int) string {
	r := rand.NewChaCha8([32]byte{1})
	bytes := make([]byte, n*3/4)
	if _, err := r.Read(bytes); err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(bytes)
}

func annotationsOf(t *testing.T, object []byte) (all map[string]string, size int) {
	t.Helper()
	var o struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(object, &o); err != nil {
		t.Fatal(err)
	}
	for key, value := range o.Metadata.Annotations {
		size += len(key) + len(value)
	}
	return o.Metadata.Annotations, size
}

// TestBudget is C-39: annotations stay under the limit, without loss as long as compression is enough.
func TestBudget(t *testing.T) {
	user := strings.Repeat("u", 240<<10)
	cases := map[string]struct {
		user     string
		args     string
		wantLost []string
	}{
		"C-39 compressible":     {user, strings.Repeat("x", 40<<10), nil},
		"C-39 random":           {user, noise(40 << 10), []string{"spec.args"}},
		"just over 32 KiB":      {"u", noise(33 << 10), nil},
		"escapes count once":    {strings.Repeat("\n", 240<<10), strings.Repeat("x", 10<<10), nil},
		"more than can expand":  {"u", strings.Repeat("x", expandedLimit), []string{"spec.args"}},
		"no room for any field": {strings.Repeat("u", 256<<10-40), "x", []string{"spec.args", "spec.paused"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			body := fmt.Sprintf(`{"metadata":{"annotations":{"user":%s}},"spec":{"replicas":2,"paused":true,"args":[%s]}}`,
				quotedJSON(c.user), quotedJSON(c.args))
			in := object("WebApp", hubVersion, body)
			view := mustConvert(t, in, "WebApp", "v1alpha1")
			annotations, size := annotationsOf(t, view.Object)
			if size > annotationLimit {
				t.Errorf("annotations take %d bytes", size)
			}
			if annotations["user"] != c.user {
				t.Error("the user's annotation changed")
			}
			if diff := cmp.Diff(c.wantLost, lostPaths(view)); len(view.Lost)+len(c.wantLost) > 0 && diff != "" {
				t.Errorf("lost (-want +got):\n%s", diff)
			}
			back := mustConvert(t, view.Object, "WebApp", hubVersion)
			if len(c.wantLost) == 0 {
				equalJSON(t, "back", in, back.Object)
			} else if got := at(decoded(t, back.Object), "spec.replicas"); got != json.Number("2") {
				t.Errorf("replicas: %v", got)
			}
		})
	}
}

// lostPaths are the paths of what was lost, which here is always for want of room.
func lostPaths(result Result) (paths []string) {
	for _, loss := range result.Lost {
		paths = append(paths, loss.Path+strings.TrimPrefix(loss.Reason, tooLarge))
	}
	slices.Sort(paths)
	return paths
}

// TestParkedBudget: parked values and moved annotations obey the limit too.
func TestParkedBudget(t *testing.T) {
	user := strings.Repeat("u", 250<<10)
	in := object("PodSet", "v1alpha1", fmt.Sprintf(`{"metadata":{"annotations":{"user":%q}},"spec":{"size":2,"description":%q,"extra":%q}}`,
		user, strings.Repeat("d", 5<<10), noise(8<<10)))
	hub := mustConvert(t, in, "PodSet", hubVersion)
	if _, size := annotationsOf(t, hub.Object); size > annotationLimit {
		t.Errorf("annotations take %d bytes", size)
	}
	want := []string{"metadata.annotations[" + workloadv1.AnnotationUnconvertible + "]"}
	if diff := cmp.Diff(want, lostPaths(hub)); diff != "" {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
	in = object("PodSet", "v1alpha1", fmt.Sprintf(`{"metadata":{"annotations":{"user":%q}},"spec":{"size":2,"description":%q}}`,
		strings.Repeat("u", 255<<10), strings.Repeat("d", 4<<10)))
	hub = mustConvert(t, in, "PodSet", hubVersion)
	if _, size := annotationsOf(t, hub.Object); size > annotationLimit || len(hub.Lost) != 1 {
		t.Errorf("annotations take %d bytes, lost %v", size, hub.Lost)
	}
}

// TestExpansionIsBounded: a small annotation cannot become a large object.
func TestExpansionIsBounded(t *testing.T) {
	bomb := packed([]byte(`{"args":["`+strings.Repeat("x", 64<<20)+`"]}`), 0)
	in := object("WebApp", "v1alpha1", fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}},"spec":{}}`, workloadv1.AnnotationV1Fields, bomb))
	hub := mustConvert(t, in, "WebApp", hubVersion)
	if hub.Malformed != 1 || len(hub.Object) > 1000 {
		t.Errorf("malformed %d, %d bytes", hub.Malformed, len(hub.Object))
	}
}

// TestDepth: deep values come back up to the limit of annotations; no annotation makes an object the API server cannot read.
func TestDepth(t *testing.T) {
	in := object("WebApp", hubVersion, `{"metadata":{},"spec":{"x":`+deep(maxDepth-10)+`}}`)
	checkRoundTrip(t, in, "WebApp", hubVersion)
	checkRoundTrip(t, object("WebApp", "v1alpha1", `{"metadata":{},"spec":{"x":`+deep(maxDepth-10)+`,"env":`+deep(5000)+`}}`), "WebApp", "v1alpha1")

	for field, want := range map[string]string{"x": "spec.x", "replicas": "spec.scale.instances"} { // kept, and renamed to a deeper place
		view := mustConvert(t, object("WebApp", hubVersion, `{"spec":{"`+field+`":`+deep(maxNesting-2)+`}}`), "WebApp", "v1alpha1")
		if diff := cmp.Diff([]Loss{{want, tooDeep}}, view.Lost); diff != "" {
			t.Errorf("lost (-want +got):\n%s", diff)
		}
	}
	planted := object("WebApp", "v1alpha1", fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}},"spec":{}}`,
		workloadv1.AnnotationV1Fields, `{"x":`+deep(maxDepth)+`}`))
	if hub := mustConvert(t, planted, "WebApp", hubVersion); hub.Malformed != 1 {
		t.Errorf("malformed %d", hub.Malformed)
	}
	if _, err := Convert(object("WebApp", hubVersion, `{"spec":{"x":`+deep(10000)+`}}`), "app.example.com/v1alpha1"); err == nil {
		t.Error("nested deeper than JSON readers go: no error")
	}
}

// TestDepthAgrees: whatever depth a value has, at any place of either version, it comes back, or the way there reports it lost. The
// way back finds nothing that it would not read.
func TestDepthAgrees(t *testing.T) {
	for _, c := range standard.all {
		for _, version := range c.versions {
			tree := c.spoke
			if version == hubVersion {
				tree = c.hub
			}
			for _, n := range slices.Concat(tree.fields, tree.boxes) {
				for _, depth := range []int{8990, 9000, maxValueDepth - 8, maxValueDepth, maxValueDepth + 1, maxDepth, maxNesting - 8} {
					checkDepth(t, c.kind.Kind, version, n, deep(depth))
				}
			}
		}
	}
}

func checkDepth(t *testing.T, kind, version string, n *node, value string) {
	t.Helper()
	if n.box >= 0 {
		value = `{"x":` + value + `}`
	}
	for ; n != nil; n = n.parent {
		value = `{"` + n.name + `":` + value + `}`
	}
	in := object(kind, version, value)
	there := mustConvert(t, in, kind, otherVersion(version))
	back := mustConvert(t, there.Object, kind, version)
	if len(there.Lost) > 0 && depthOf([]byte(value)) < maxValueDepth {
		t.Errorf("%s %s: lost %v, nested %d", kind, version, there.Lost, depthOf([]byte(value)))
	}
	if back.Malformed > 0 || len(there.Lost) == 0 && !bytes.Contains(back.Object, []byte(value[1:len(value)-1])) {
		t.Errorf("%s %s, %.80s nested %d: lost %v, damaged %d, and the way back lost %v", kind, version, value,
			depthOf([]byte(value)), there.Lost, back.Malformed, back.Lost)
	}
}

// TestPure is C-38: the same bytes every time, in parallel too, and the input stays as it is.
func TestPure(t *testing.T) {
	in := object("WebApp", hubVersion, fullWebApp)
	want := mustConvert(t, in, "WebApp", "v1alpha1").Object
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 125 {
				if got, err := Convert(in, "app.example.com/v1alpha1"); err != nil || !bytes.Equal(want, got.Object) {
					t.Errorf("got %s, %v", got.Object, err)
					return
				}
			}
		})
	}
	group.Wait()
}
