package podtemplate

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

var update = flag.Bool("update", false, "rewrite the templates in testdata; every changed byte restarts Pods of users")

// TestBytes holds the template's bytes for a corpus of settings: testdata/NAME.yaml gives testdata/NAME.json.
// A difference means that upgrading the operator restarts Pods.
func TestBytes(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no corpus in testdata: %v", err)
	}
	for _, input := range inputs {
		t.Run(filepath.Base(input), func(t *testing.T) {
			got := templateOf(t, input)
			golden := input[:len(input)-len("yaml")] + "json"
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("the template changed, which would restart Pods (-want, +got):\n%s", diff)
			}
		})
	}
}

func templateOf(t *testing.T, input string) []byte {
	t.Helper()
	raw, err := os.ReadFile(input)
	if err != nil {
		t.Fatal(err)
	}
	var settings workloadv1.PodSettings
	if err := yaml.UnmarshalStrict(raw, &settings); err != nil {
		t.Fatal(err)
	}
	before := settings.DeepCopy()
	template, err := Build(&settings, Options{
		Labels:   map[string]string{"app": "x", "app.example.com/webapp": "x"},
		Selector: map[string]string{"app.example.com/webapp": "x"},
		Ports:    []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, &settings); diff != "" {
		t.Errorf("Build changed its argument (-before, +after):\n%s", diff)
	}
	compact, err := json.Marshal(template)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, compact, "", "  "); err != nil {
		t.Fatal(err)
	}
	out.WriteByte('\n')
	return out.Bytes()
}

func TestLabelsOfTheOwnerWin(t *testing.T) {
	settings := &workloadv1.PodSettings{Image: "web", PodLabels: map[string]string{"app": "mine", "team": "a"}}
	template, err := Build(settings, Options{Labels: map[string]string{"app": "x"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"app": "x", "team": "a"}, template.Labels); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestPod checks that the typed Pod carries everything that the template says.
func TestPod(t *testing.T) {
	settings := &workloadv1.PodSettings{Image: "web:1", Args: []string{"serve"}, PodAnnotations: map[string]string{"a": "b"}}
	template, err := Build(settings, Options{Labels: map[string]string{"podset-name": "x"}})
	if err != nil {
		t.Fatal(err)
	}
	pod, err := Pod(template)
	if err != nil {
		t.Fatal(err)
	}
	want := &corev1.Pod{}
	want.Labels = map[string]string{"podset-name": "x"}
	want.Annotations = map[string]string{"a": "b"}
	want.Spec.AutomountServiceAccountToken = new(false)
	want.Spec.SecurityContext = &corev1.PodSecurityContext{SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
	want.Spec.Containers = []corev1.Container{{
		Name: "app", Image: "web:1", Args: []string{"serve"},
		SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false)},
	}}
	if diff := cmp.Diff(want, pod); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
