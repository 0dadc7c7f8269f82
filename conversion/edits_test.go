package conversion

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// edit changes the decoded form of an object.
type edit func(object map[string]any)

func set(path string, value any) edit {
	return func(object map[string]any) {
		names := strings.Split(path, "|")
		for _, name := range names[:len(names)-1] {
			child, ok := object[name].(map[string]any)
			if !ok {
				child = map[string]any{}
				object[name] = child
			}
			object = child
		}
		if value == nil {
			delete(object, names[len(names)-1])
			return
		}
		object[names[len(names)-1]] = value
	}
}

func remove(path string) edit { return set(path, nil) }

const keptAt = "metadata|annotations|" + workloadv1.AnnotationV1Fields

func edited(t testing.TB, object []byte, edits ...edit) []byte {
	t.Helper()
	value := decoded(t, object).(map[string]any)
	for _, e := range edits {
		e(value)
	}
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestEdits converts, edits the result, and converts back: what a client of the other version writes.
func TestEdits(t *testing.T) {
	const envC08 = `{"metadata":{},"spec":{"env":[{"name":"Z","value":"1"},{"name":"S","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}},{"name":"A","value":"2"}]}}`
	const probeC22 = `{"metadata":{},"spec":{"probes":{"readiness":{"httpGet":{"path":"/a","port":8080,"scheme":"HTTPS"},"periodSeconds":5,"failureThreshold":4}}}}`
	const resourcesC16 = `{"metadata":{},"spec":{"resources":{"requests":{"cpu":"250m","ephemeral-storage":"1Gi"},"limits":{"memory":"1Gi"}}}}`
	const scaleC27 = `{"metadata":{},"spec":{"autoscaling":{"minReplicas":2,"maxReplicas":4,"targetCPUUtilizationPercentage":60,"targetMemoryUtilizationPercentage":70}}}`
	cases := map[string]struct {
		version, kind, in string
		edits             []edit
		want              string
		malformed         int
	}{
		"C-09 env edited, matched by name": {
			"v1", "WebApp", envC08,
			[]edit{remove("spec|env|Z"), set("spec|env|A", "9"), set("spec|env|M", "5"), set("spec|env|B", "6")},
			`{"metadata":{},"spec":{"env":[{"name":"S","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}},{"name":"A","value":"9"},{"name":"B","value":"6"},{"name":"M","value":"5"}]}}`, 0,
		},
		"C-09 env removed": {
			"v1", "WebApp", envC08, []edit{remove("spec|env")},
			`{"metadata":{},"spec":{"env":[{"name":"S","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}]}}`, 0,
		},
		"C-11 a name that repeats, removed": {
			"v1", "WebApp", `{"metadata":{},"spec":{"env":[{"name":"A","value":"1"},{"name":"B","value":"2"},{"name":"A","value":"3"}]}}`,
			[]edit{remove("spec|env|A")},
			`{"metadata":{},"spec":{"env":[{"name":"B","value":"2"}]}}`, 0,
		},
		"C-11 a variable gets a value": {
			"v1", "WebApp", `{"metadata":{},"spec":{"env":[{"name":"A"}]}}`, []edit{set("spec|env|A", "x")},
			`{"metadata":{},"spec":{"env":[{"name":"A","value":"x"}]}}`, 0,
		},
		"C-12 a visible name takes over a hidden one": {
			"v1", "WebApp", envC08, []edit{set("spec|env|S", "plain")},
			`{"metadata":{},"spec":{"env":[{"name":"Z","value":"1"},{"name":"S","value":"plain"},{"name":"A","value":"2"}]}}`, 0,
		},
		"C-16 one request dropped, another set": {
			"v1", "WebApp", resourcesC16, []edit{remove("spec|resources|cpu"), set("spec|resources|memory", "64Mi")},
			`{"metadata":{},"spec":{"resources":{"requests":{"ephemeral-storage":"1Gi","memory":"64Mi"},"limits":{"memory":"1Gi"}}}}`, 0,
		},
		"C-16 the last request dropped": {
			"v1", "WebApp", resourcesC16, []edit{remove("spec|resources|cpu")},
			`{"metadata":{"annotations":{"workload.example.com/unconvertible":"{\"v1alpha1\":{\"spec\":{\"resources\":{}}}}"}},"spec":{"resources":{"requests":{"ephemeral-storage":"1Gi"},"limits":{"memory":"1Gi"}}}}`, 0,
		},
		"C-16 resources removed": {
			"v1", "WebApp", resourcesC16, []edit{remove("spec|resources")}, `{"metadata":{},"spec":{}}`, 0,
		},
		"C-16 limits that were never shown stay": {
			"v1", "WebApp", `{"metadata":{},"spec":{"replicas":1,"resources":{"limits":{"memory":"1Gi"}}}}`, []edit{set("spec|scale|instances", 2)},
			`{"metadata":{},"spec":{"replicas":2,"resources":{"limits":{"memory":"1Gi"}}}}`, 0,
		},
		"C-20 a spelling does not outlive its value": {
			"v1alpha1", "WebApp", `{"metadata":{},"spec":{"healthCheck":{"path":"/h","interval":"2m"}}}`,
			[]edit{set("spec|probes|readiness|periodSeconds", 45)},
			`{"metadata":{},"spec":{"healthCheck":{"path":"/h","interval":"45s"}}}`, 0,
		},
		"C-20 a spelling goes with its struct": {
			"v1alpha1", "WebApp", `{"metadata":{},"spec":{"healthCheck":{"path":"/h","interval":"2m"}}}`,
			[]edit{remove("spec|probes")}, `{"metadata":{},"spec":{}}`, 0,
		},
		"C-21 an unreadable duration is replaced": {
			"v1alpha1", "WebApp", `{"metadata":{},"spec":{"healthCheck":{"path":"/h","interval":"soon"}}}`,
			[]edit{set("spec|probes|readiness|periodSeconds", 20)},
			`{"metadata":{},"spec":{"healthCheck":{"path":"/h","interval":"20s"}}}`, 0,
		},
		"C-05 an image that does not compose is replaced": {
			"v1alpha1", "WebApp", `{"metadata":{},"spec":{"image":{"repository":"a:b"}}}`,
			[]edit{set("spec|image", "c:d")}, `{"metadata":{},"spec":{"image":{"repository":"c","tag":"d"}}}`, 0,
		},
		"C-13 an unreadable entry stays while nobody takes its name": {
			"v1alpha1", "WebApp", `{"metadata":{},"spec":{"env":{"A":5,"B":"x"}}}`,
			[]edit{remove("spec|env")},
			`{"metadata":{},"spec":{"env":{"A":5}}}`, 0,
		},
		"C-13 an unreadable entry beside an empty list": {
			"v1alpha1", "WebApp", `{"metadata":{},"spec":{"env":{"A":5}}}`,
			[]edit{set("spec|env", []any{})},
			`{"metadata":{"annotations":{"workload.example.com/unconvertible":"{\"v1\":{\"spec\":{\"env\":[]}}}"}},"spec":{"env":{"A":5}}}`, 0,
		},
		"C-13 a readable entry takes the place of an unreadable one": {
			"v1alpha1", "WebApp", `{"metadata":{},"spec":{"env":{"A":5,"B":"x","C":6}}}`,
			[]edit{set("spec|env", []any{map[string]any{"name": "A", "value": "y"}})},
			`{"metadata":{},"spec":{"env":{"A":"y","C":6}}}`, 0,
		},
		"C-22 the path changes": {
			"v1", "WebApp", probeC22, []edit{set("spec|healthCheck|path", "/b")}, strings.Replace(probeC22, "/a", "/b", 1), 0,
		},
		"C-24 the health check is removed": {
			"v1", "WebApp", probeC22, []edit{remove("spec|healthCheck")}, `{"metadata":{},"spec":{}}`, 0,
		},
		"C-24 a probe of which only the interval shows is removed": {
			"v1", "WebApp", `{"metadata":{},"spec":{"probes":{"readiness":{"httpGet":{"port":8080},"periodSeconds":10,"timeoutSeconds":2}}}}`,
			[]edit{remove("spec|healthCheck")}, `{"metadata":{},"spec":{}}`, 0,
		},
		"C-24 the path is removed, the health check stays": {
			"v1", "WebApp", probeC22, []edit{remove("spec|healthCheck|path")}, strings.Replace(probeC22, `"path":"/a",`, "", 1), 0,
		},
		"C-24 an unreadable period goes with its probe": {
			"v1", "WebApp", `{"metadata":{},"spec":{"probes":{"readiness":{"httpGet":{"path":"/x","port":80},"periodSeconds":1.5,"timeoutSeconds":3}}}}`,
			[]edit{remove("spec|healthCheck")}, `{"metadata":{},"spec":{}}`, 0,
		},
		"C-27 an unreadable target goes with its struct": {
			"v1", "WebApp", `{"metadata":{},"spec":{"autoscaling":{"maxReplicas":5,"targetCPUUtilizationPercentage":99999999999999999999,"targetMemoryUtilizationPercentage":80}}}`,
			[]edit{remove("spec|scale")}, `{"metadata":{},"spec":{}}`, 0,
		},
		"C-24 a health check without hidden HTTP parts is removed": {
			"v1", "WebApp", `{"metadata":{},"spec":{"probes":{"liveness":{"a":1},"readiness":{"httpGet":{"path":"/"},"failureThreshold":4}}}}`,
			[]edit{remove("spec|healthCheck")}, `{"metadata":{},"spec":{"probes":{"liveness":{"a":1}}}}`, 0,
		},
		"C-24 a probe with another handler stays": {
			"v1", "WebApp", `{"metadata":{},"spec":{"probes":{"readiness":{"tcpSocket":{"port":5432},"periodSeconds":5}}}}`,
			[]edit{remove("spec|healthCheck")}, `{"metadata":{},"spec":{"probes":{"readiness":{"tcpSocket":{"port":5432}}}}}`, 0,
		},
		"C-24 only the hidden part of such a probe stays": {
			"v1", "WebApp", `{"metadata":{},"spec":{"probes":{"readiness":{"tcpSocket":{"port":1},"periodSeconds":10,"timeoutSeconds":2}}}}`,
			[]edit{remove("spec|healthCheck")}, `{"metadata":{},"spec":{"probes":{"readiness":{"tcpSocket":{"port":1},"timeoutSeconds":2}}}}`, 0,
		},
		"C-24 the health check is emptied": { // its path is gone
			"v1", "WebApp", probeC22, []edit{set("spec|healthCheck", map[string]any{})},
			`{"metadata":{"annotations":{"workload.example.com/unconvertible":"{\"v1alpha1\":{\"spec\":{\"healthCheck\":{}}}}"}},"spec":{}}`, 0,
		},
		"C-23 a visible path takes over from a hidden handler": {
			"v1", "WebApp", `{"metadata":{},"spec":{"probes":{"readiness":{"tcpSocket":{"port":1},"periodSeconds":10,"timeoutSeconds":2}}}}`,
			[]edit{set("spec|healthCheck|path", "/")},
			`{"metadata":{},"spec":{"probes":{"readiness":{"httpGet":{"path":"/"},"periodSeconds":10,"timeoutSeconds":2}}}}`, 0,
		},
		"C-23 a visible path takes over where nothing showed": {
			"v1", "WebApp", `{"metadata":{},"spec":{"probes":{"readiness":{"x":1,"exec":{"command":["a"]}},"liveness":{"a":1}}}}`,
			[]edit{set("spec|healthCheck", map[string]any{"path": "/"})},
			`{"metadata":{},"spec":{"probes":{"liveness":{"a":1},"readiness":{"httpGet":{"path":"/"},"x":1}}}}`, 0,
		},
		"C-23 two handlers stay while something else changes": {
			"v1", "WebApp", `{"metadata":{},"spec":{"replicas":1,"probes":{"readiness":{"httpGet":{"path":"/"},"grpc":{"port":1}}}}}`,
			[]edit{set("spec|scale|instances", 2)},
			`{"metadata":{},"spec":{"replicas":2,"probes":{"readiness":{"httpGet":{"path":"/"},"grpc":{"port":1}}}}}`, 0,
		},
		"C-24 a handler that is null is none": {
			"v1", "WebApp", `{"metadata":{},"spec":{"probes":{"readiness":{"httpGet":{"path":"/"},"grpc":null}}}}`,
			[]edit{remove("spec|healthCheck")}, `{"metadata":{},"spec":{}}`, 0,
		},
		"C-27 autoscaling emptied": { // it is not a struct of its own in the view
			"v1", "WebApp", scaleC27, []edit{set("spec|scale", map[string]any{})},
			`{"metadata":{"annotations":{"workload.example.com/unconvertible":"{\"v1alpha1\":{\"spec\":{\"scale\":{}}}}"}},"spec":{}}`, 0,
		},
		"C-43 a description beside an empty spec": {
			"v1", "PodSet", `{"metadata":{},"spec":{}}`, []edit{set("spec|description", "d")},
			`{"metadata":{"annotations":{"batch.example.com/description":"d"}},"spec":{}}`, 0,
		},
		"C-27 the maximum changes": {
			"v1", "WebApp", scaleC27, []edit{set("spec|scale|max", 6)}, strings.Replace(scaleC27, "4", "6", 1), 0,
		},
		"C-27 autoscaling removed": {
			"v1", "WebApp", scaleC27, []edit{set("spec|scale", map[string]any{"instances": 3})}, `{"metadata":{},"spec":{"replicas":3}}`, 0,
		},
		"C-32 kept is empty": {
			"v1", "WebApp", `{"metadata":{},"spec":{"replicas":1,"args":["a"]}}`, []edit{set(keptAt, "")}, `{"metadata":{},"spec":{"replicas":1}}`, 1,
		},
		"C-32 kept is cut off": {
			"v1", "WebApp", `{"metadata":{},"spec":{"replicas":1,"args":["a"]}}`, []edit{set(keptAt, "{")}, `{"metadata":{},"spec":{"replicas":1}}`, 1,
		},
		"C-32 kept is a list": {
			"v1", "WebApp", `{"metadata":{},"spec":{"replicas":1,"args":["a"]}}`, []edit{set(keptAt, "[]")}, `{"metadata":{},"spec":{"replicas":1}}`, 1,
		},
		"C-32 kept is null": {
			"v1", "WebApp", `{"metadata":{},"spec":{"replicas":1,"args":["a"]}}`, []edit{set(keptAt, "null")}, `{"metadata":{},"spec":{"replicas":1}}`, 1,
		},
		"C-32 kept is a number": {
			"v1", "WebApp", `{"metadata":{},"spec":{"replicas":1,"args":["a"]}}`, []edit{set(keptAt, "7")}, `{"metadata":{},"spec":{"replicas":1}}`, 1,
		},
		"C-32 kept is damaged base64": {
			"v1", "WebApp", `{"metadata":{},"spec":{"replicas":1,"args":["a"]}}`, []edit{set(keptAt, "gzip:H4sI!")}, `{"metadata":{},"spec":{"replicas":1}}`, 1,
		},
		"C-32 a string where a list belongs": {
			"v1", "WebApp", `{"metadata":{},"spec":{"replicas":1,"env":[{"name":"A"}],"args":["a"]}}`, []edit{set(keptAt, `{"env":"x","args":["b"],"probes":7}`)},
			`{"metadata":{},"spec":{"replicas":1,"env":[{"name":"A","value":""}],"args":["b"]}}`, 1,
		},
		"C-33 kept claims a visible field": {
			"v1", "WebApp", `{"metadata":{},"spec":{"replicas":2,"args":["a"]}}`, []edit{set(keptAt, `{"replicas":9,"image":"evil","args":["a"]}`)},
			`{"metadata":{},"spec":{"replicas":2,"args":["a"]}}`, 0,
		},
		"C-33 kept claims a visible variable": {
			"v1", "WebApp", `{"metadata":{},"spec":{"env":[{"name":"A","value":"1"}]}}`, []edit{set(keptAt, `{"env":[{"name":"EVIL","value":"x"},{"name":"A","value":"9"}]}`)},
			`{"metadata":{},"spec":{"env":[{"name":"A","value":"1"}]}}`, 0,
		},
		"C-34 kept is gone": {
			"v1", "WebApp", `{"metadata":{},"spec":{"replicas":2,"args":["a"]}}`, []edit{remove(keptAt)}, `{"metadata":{"annotations":{}},"spec":{"replicas":2}}`, 0,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			there := mustConvert(t, object(c.kind, c.version, c.in), c.kind, otherVersion(c.version))
			back := mustConvert(t, edited(t, there.Object, c.edits...), c.kind, c.version)
			equalJSON(t, "after the edit", object(c.kind, c.version, c.want), back.Object)
			if (back.Malformed > 0) != (c.malformed > 0) {
				t.Errorf("malformed: got %d, want %d", back.Malformed, c.malformed)
			}
		})
	}
}

// TestKeptOnTheWrongSide is C-34: our annotation on a v1 object is ignored, and the view has its own or none.
func TestKeptOnTheWrongSide(t *testing.T) {
	in := object("WebApp", "v1", `{"metadata":{"annotations":{"workload.example.com/v1-fields":"{\"args\":[\"evil\"]}","a":"b"}},"spec":{"replicas":2}}`)
	view := mustConvert(t, in, "WebApp", "v1alpha1")
	equalJSON(t, "view", object("WebApp", "v1alpha1", `{"metadata":{"annotations":{"a":"b"}},"spec":{"scale":{"instances":2}}}`), view.Object)
}

// TestEditedViews is C3 at random: a view is edited anywhere in its visible part and converted up. The visible fields are those
// of the edited view, whatever is kept, and a field only v1 has does not change unless the struct it is in was removed.
func TestEditedViews(t *testing.T) {
	for _, c := range standard.all {
		t.Run(c.kind.Kind, func(t *testing.T) {
			r := newRandom(t)
			for range *objects / 5 {
				hub := r.object(c, hubVersion, 0)
				view := mustConvert(t, hub, c.kind.Kind, "v1alpha1").Object
				changed := edited(t, view, func(object map[string]any) { r.edit(object["spec"], c.spoke.spec) })
				back := mustConvert(t, changed, c.kind.Kind, hubVersion).Object
				checkVisible(t, c, changed, back)
				checkHidden(t, c, hub, back)
				checkHandlers(t, hub, back)
				if t.Failed() {
					t.Fatalf("%s\n-> %s\nedited %s\n<- %s", hub, view, changed, back)
				}
			}
		})
	}
}

// edit changes one visible place below n: removes, replaces or adds it.
func (r *random) edit(value any, n *node) {
	object, ok := value.(map[string]any)
	if !ok || len(n.children) == 0 {
		return
	}
	child := n.children[r.IntN(len(n.children))]
	if child.box >= 0 && object[child.name] != nil && r.chance(80) {
		r.edit(object[child.name], child)
		return
	}
	if _, there := object[child.name]; there && r.chance(40) {
		delete(object, child.name)
		return
	}
	text := r.field(child.name, 0)
	if child.box >= 0 {
		text = "{}"
	}
	if child.name == "env" {
		text = r.envMap(0)
	}
	object[child.name] = json.RawMessage(text)
}

// checkVisible demands that the view of the new hub object shows what the edited view says.
func checkVisible(t *testing.T, c *compiled, changed, back []byte) {
	t.Helper()
	again := mustConvert(t, back, c.kind.Kind, "v1alpha1").Object
	want, got := decoded(t, changed).(map[string]any)["spec"], decoded(t, again).(map[string]any)["spec"]
	if !reflect.DeepEqual(want, got) {
		t.Errorf("visible fields (-want +got):\n%s", cmp.Diff(want, got))
	}
	plainView := decoded(t, changed)
	takeAnnotation(plainView, workloadv1.AnnotationV1Fields)
	if _, parked := takeAnnotation(plainView, workloadv1.AnnotationUnconvertible); parked {
		return
	}
	bare, err := json.Marshal(plainView)
	if err != nil {
		t.Fatal(err)
	}
	without := mustConvert(t, bare, c.kind.Kind, hubVersion).Object
	alone, together := decoded(t, without), decoded(t, back)
	for i := range c.rows {
		row := &c.rows[i]
		if row.spoke == "" || row.how == envMap || strings.HasPrefix(row.hub, annotationPath) {
			continue
		}
		if want, got := at(alone, row.hub), at(together, row.hub); !reflect.DeepEqual(want, got) {
			t.Errorf("%s with what is kept: %v, without: %v", row.hub, got, want)
		}
	}
}

// checkHidden demands that the new hub object has the hidden fields of the old one, other than those inside of a struct that
// the view can remove.
func checkHidden(t *testing.T, c *compiled, hub, back []byte) {
	t.Helper()
	before, after := decoded(t, hub), decoded(t, back)
	for i := range c.rows {
		row := &c.rows[i]
		if row.spoke != "" || strings.Count(row.hub, ".") > 1 {
			continue
		}
		if want, got := at(before, row.hub), at(after, row.hub); !reflect.DeepEqual(want, got) {
			t.Errorf("%s was %v and is %v", row.hub, want, got)
		}
	}
}

// checkHandlers demands that an edit gives no probe a second handler, which v1 refuses.
func checkHandlers(t *testing.T, hub, back []byte) {
	t.Helper()
	count := func(object []byte) (handlers int) {
		for _, handler := range []string{"exec", "grpc", "tcpSocket", "httpGet"} {
			if at(decoded(t, object), "spec.probes.readiness."+handler) != nil {
				handlers++
			}
		}
		return handlers
	}
	if before, after := count(hub), count(back); before < 2 && after > 1 {
		t.Errorf("the readiness probe had %d handlers and has %d", before, after)
	}
}

func at(value any, path string) any {
	for _, name := range strings.Split(path, ".") {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[name]
	}
	return value
}
