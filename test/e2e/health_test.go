package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	lua "github.com/yuin/gopher-lua"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/yaml"

	"github.com/example/workload-operator/test/controlplane"
)

// opinions are what tools think of an object.
type opinions struct {
	Argo    string // by config/argocd
	KStatus string
	Wait    bool // what `kubectl wait --for=condition=Ready` waits for has come
}

var (
	healthy     = opinions{"Healthy", "Current", true}
	suspended   = opinions{"Suspended", "Current", true}
	paused      = opinions{"Suspended", "InProgress", false} // kstatus has no word for it
	progressing = opinions{"Progressing", "InProgress", false}
	degraded    = opinions{"Degraded", "Failed", false}
	deleting    = opinions{"Progressing", "Terminating", false}
)

// state is a lasting state into which an object of a kind can be brought.
type state struct {
	kind, name string
	spec       string
	patch      string // sent once the object is ready
	reason     string // of the condition Ready, once the state is reached
	want       opinions
}

var states = []state{
	{"WebApp", "healthy", `{"image":"web:1"}`, "", "Ready", healthy},
	{"WebApp", "suspended", `{"image":"web:1","suspend":true}`, "", "Suspended", suspended},
	{"WebApp", "paused", `{"image":"web:1"}`, `{"spec":{"image":"web:2","paused":true}}`, "Paused", paused},
	{"WebApp", "progressing", `{"image":"web:1",` + neverReady + `}`, "", "PodNotReady", progressing},
	{"WebApp", "failed", `{"image":"registry.invalid/web:1","progressDeadlineSeconds":1}`, "", "ImagePullBackOff", degraded},
	{"WebApp", "taken", `{"image":"web:1"}`, "", "NotOwned", degraded},
	{"WebApp", "deleting", `{"image":"web:1"}`, held, "Ready", deleting},
	{"PodSet", "healthy", `{"image":"web:1"}`, "", "Ready", healthy},
	{"PodSet", "suspended", `{"image":"web:1","suspend":true}`, "", "Suspended", suspended},
	{"PodSet", "paused", `{"image":"web:1"}`, `{"spec":{"image":"web:2","paused":true}}`, "Paused", paused},
	{"PodSet", "progressing", `{"image":"web:1",` + neverReady + `}`, "", "PodNotReady", progressing},
	{"PodSet", "deleting", `{"image":"web:1"}`, held, "Ready", deleting},
}

const (
	neverReady = `"podAnnotations":{"` + controlplane.AnnotationBehaviour + `":"` + controlplane.BehaviourNeverReady + `"}`
	held       = `{"metadata":{"finalizers":["example.com/held"]}}`
	freed      = `{"metadata":{"finalizers":null}}`
)

// TestHealth brings objects into each state, and asks Argo CD's script, kstatus and kubectl wait, in both versions.
func TestHealth(t *testing.T) {
	c := connect(t)
	script := healthScript(t)
	c.must("", "create", "deployment", "taken-deploy", "--image=theirs:1")
	for _, s := range states {
		created := c.must(fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q},"spec":%s}`, versions[s.kind][0], s.kind, s.name, s.spec),
			"create", "-o", "json", "-f", "-")
		c.expectOpinions(script, created, progressing, s.name+" in the first instant")
	}
	for _, s := range states {
		t.Run(s.kind+" "+s.name, func(t *testing.T) {
			c.reach(script, s)
			for _, resource := range []string{kinds[s.kind].v1, kinds[s.kind].older} {
				object := c.must("", "get", resource, s.name, "-o", "json")
				c.expectOpinions(script, object, s.want, resource)
				_, err := c.kubectl("", "wait", "--for=condition=Ready", "--timeout=0s", resource+"/"+s.name)
				if got := err == nil; got != s.want.Wait {
					t.Errorf("kubectl wait on %s: got %t, want %t: %v", resource, got, s.want.Wait, err)
				}
			}
			if s.want == deleting {
				c.must("", "patch", kinds[s.kind].v1, s.name, "--type=merge", "-p", freed)
			}
		})
	}
	// Admission leaves no way to make a PodSet stall, so this state is not a captured one.
	stalled := c.unstructuredOf("batch.example.com/v1", "PodSet", "progressing")
	conditions := []any{
		map[string]any{"type": "Ready", "status": "False", "reason": "InvalidSpec", "message": "Refused."},
		map[string]any{"type": "Stalled", "status": "True", "reason": "InvalidSpec", "message": "Refused."},
	}
	c.Expect(unstructured.SetNestedSlice(stalled.Object, conditions, "status", "conditions")).To(gomega.Succeed())
	raw, err := stalled.MarshalJSON()
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.expectOpinions(script, string(raw), degraded, "a PodSet that the cluster refuses")
}

var versions = map[string][2]string{
	"WebApp": {"app.example.com/v1", "app.example.com/v1alpha1"},
	"PodSet": {"batch.example.com/v1", "batch.example.com/v1alpha1"},
}

// reach brings an object into a state, and waits until it is there.
func (c *cluster) reach(script string, s state) {
	c.t.Helper()
	resource := kinds[s.kind].v1
	if s.patch != "" {
		c.ready(resource, s.name)
		patched := c.must("", "patch", resource, s.name, "--type=merge", "-p", s.patch, "-o", "json")
		if s.want == paused {
			c.expectOpinions(script, patched, progressing, "a change that nobody has looked at yet")
		}
	}
	if s.want == deleting {
		c.must("", "delete", resource, s.name, "--wait=false")
	}
	c.Eventually(func() string {
		return c.field(resource, s.name, `.status.conditions[?(@.type=="Ready")].reason`)
	}, patience, interval).Should(gomega.Equal(s.reason))
	if s.want == degraded {
		c.Eventually(func() string {
			return c.field(resource, s.name, `.status.conditions[?(@.type=="Stalled")].status`)
		}, patience, interval).Should(gomega.Equal("True"))
	}
}

func (c *cluster) expectOpinions(script, manifest string, want opinions, what string) {
	c.t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(manifest)); err != nil {
		c.t.Fatal(err)
	}
	result, err := status.Compute(u)
	if err != nil {
		c.t.Fatal(err)
	}
	argo, message := runScript(c.t, script, u.Object)
	if message == "" {
		c.t.Errorf("%s: Argo CD has no message", what)
	}
	got := opinions{Argo: argo, KStatus: string(result.Status), Wait: want.Wait}
	if diff := cmp.Diff(want, got); diff != "" {
		c.t.Errorf("%s (-want, +got):\n%s\n%s", what, diff, manifest)
	}
}

// healthScript is the script for Argo CD, which the ConfigMap has once for each kind.
func healthScript(t *testing.T) string {
	t.Helper()
	root, err := controlplane.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join(root, "config", "argocd", "health.lua"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(root, "config", "argocd", "argocd-cm.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var configMap corev1.ConfigMap
	if err := yaml.UnmarshalStrict(raw, &configMap); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for kind, v := range versions {
		group, _, _ := strings.Cut(v[0], "/")
		want["resource.customizations.health."+group+"_"+kind] = string(script)
	}
	if diff := cmp.Diff(want, configMap.Data); diff != "" {
		t.Errorf("argocd-cm.yaml is not health.lua for each kind (-want, +got):\n%s", diff)
	}
	return string(script)
}

// runScript runs a health script as Argo CD does: the object is the global obj, and a table with status and message returns.
func runScript(t *testing.T, script string, object map[string]any) (health, message string) {
	t.Helper()
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenTable} {
		l.Push(l.NewFunction(open))
		l.Call(0, 0)
	}
	l.SetGlobal("obj", asLua(t, l, object))
	if err := l.DoString(script); err != nil {
		t.Fatal(err)
	}
	answer, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the script returned %s", l.Get(-1))
	}
	return answer.RawGetString("status").String(), answer.RawGetString("message").String()
}

func asLua(t *testing.T, l *lua.LState, value any) lua.LValue {
	t.Helper()
	switch v := value.(type) {
	case nil:
		return lua.LNil
	case bool:
		return lua.LBool(v)
	case string:
		return lua.LString(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case json.Number:
		n, err := v.Float64()
		if err != nil {
			t.Fatal(err)
		}
		return lua.LNumber(n)
	case []any:
		table := l.NewTable()
		for _, element := range v {
			table.Append(asLua(t, l, element))
		}
		return table
	case map[string]any:
		table := l.NewTable()
		for name, element := range v {
			table.RawSetString(name, asLua(t, l, element))
		}
		return table
	}
	t.Fatalf("a value of type %T is no JSON", value)
	return nil
}
