package webapp

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1 "github.com/example/workload-operator/apis/app/v1"
)

var rewrite = flag.Bool("update", false, "rewrite the children in testdata; a changed template restarts Pods of users")

// TestBytes holds the bytes of the children for some specs. A difference means that upgrading the operator writes to
// children, and one in the template that it restarts Pods.
func TestBytes(t *testing.T) {
	specs := map[string]*appv1.WebApp{
		"sample": stored(), "everything": stored(everything), "asked": stored(ask),
		"suspended": stored(ask, func(w *appv1.WebApp) { w.Spec.Suspend, w.Spec.Paused = true, true }),
		"recreate":  stored(func(w *appv1.WebApp) { w.Spec.Strategy = &appv1.Strategy{Type: appv1.RecreateStrategy} }),
	}
	for name, w := range specs {
		t.Run(name, func(t *testing.T) {
			before := w.DeepCopy()
			deployment, err := deploymentFor(w, observed{})
			if err != nil {
				t.Fatal(err)
			}
			compact, err := json.Marshal([]any{deployment, serviceFor(w), autoscalerFor(w), budgetFor(w), ingressFor(w)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, w); diff != "" {
				t.Errorf("the WebApp was changed (-before, +after):\n%s", diff)
			}
			var got bytes.Buffer
			if err := json.Indent(&got, compact, "", "  "); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			golden := filepath.Join("testdata", name+".json")
			if *rewrite {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("the children changed (-want, +got):\n%s", diff)
			}
		})
	}
}

func TestURL(t *testing.T) {
	tests := map[string]struct {
		reason string
		mutate func(*appv1.WebApp)
		want   string
	}{
		"in the cluster": {"the default port is left out", func(*appv1.WebApp) {}, "http://my-app-svc.shop.svc"},
		"other port":     {"any other is not", func(w *appv1.WebApp) { w.Spec.Port = 8080 }, "http://my-app-svc.shop.svc:8080"},
		"ingress": {"the path is part of it",
			func(w *appv1.WebApp) { w.Spec.Ingress = &appv1.IngressSettings{Host: "a.example.com", Path: "/x"} }, "http://a.example.com/x"},
		"tls": {"a certificate means https",
			func(w *appv1.WebApp) {
				w.Spec.Ingress = &appv1.IngressSettings{Host: "a.example.com", TLSSecretName: "s"}
			}, "https://a.example.com/"},
		"wildcard": {"a wildcard is no place to go",
			func(w *appv1.WebApp) { w.Spec.Ingress = &appv1.IngressSettings{Host: "*.example.com"} }, "http://my-app-svc.shop.svc"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := urlOf(stored(test.mutate)); got != test.want {
				t.Errorf("%s: got %s, want %s", test.reason, got, test.want)
			}
		})
	}
}

func TestImage(t *testing.T) {
	for image, valid := range map[string]bool{
		"web": true, "web:1": true, "reg:5000/web": true, "web:1@sha256:" + string(bytes.Repeat([]byte("a"), 64)): true,
		"": false, "Web": false, "web:": false, "a b": false, "web@sha256:1": false,
	} {
		if got := invalidImage(image) == nil; got != valid {
			t.Errorf("%q: valid is %t, want %t", image, got, valid)
		}
	}
}

// TestPodLabels is W-21: podLabels cannot change the selector.
func TestPodLabels(t *testing.T) {
	w := stored(func(w *appv1.WebApp) {
		w.Spec.PodLabels = map[string]string{appv1.LabelWebApp: "other", "app": "other", "team": "a"}
	})
	d := liveDeployment(t, w)
	want := labelsOf(w)
	want["app"], want["team"] = "my-app", "a"
	if diff := cmp.Diff(want, d.Spec.Template.Labels); diff != "" {
		t.Errorf("labels of the Pods (-want, +got):\n%s", diff)
	}
	if diff := cmp.Diff(&metav1.LabelSelector{MatchLabels: map[string]string{appv1.LabelWebApp: "my-app"}}, d.Spec.Selector); diff != "" {
		t.Errorf("selector (-want, +got):\n%s", diff)
	}
}
