package podset

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
)

// TestRevisionIsStable pins revisions. A change restarts every Pod of every user at the next upgrade (M-13): never adapt
// the expected value, find out what moved.
func TestRevisionIsStable(t *testing.T) {
	full := `{"image":"reg:5000/web:1","imagePullPolicy":"Always","command":["run"],"args":["-v"],"replicas":5,
		"env":[{"name":"B","value":"1"},{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],
		"ports":[{"containerPort":80,"protocol":"TCP"}],"resources":{"requests":{"cpu":"1000m"},"limits":{"memory":"1Gi"}},
		"probes":{"readiness":{"httpGet":{"path":"/","port":80}}},"volumes":[{"name":"v","emptyDir":{}}],
		"volumeMounts":[{"name":"v","mountPath":"/v"}],"podLabels":{"team":"a"},"nodeSelector":{"disk":"ssd"},
		"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"}],
		"terminationGracePeriodSeconds":9223372036854775807}`
	cases := map[string]struct{ spec, want string }{
		"sample": {spec: `{"image":"nginx:alpine","replicas":3}`, want: "f04023a702-83075afea3"},
		"full":   {spec: full, want: "c9632dbcd9-32362cb11e"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var spec batchv1.PodSetSpec
			if err := json.Unmarshal([]byte(c.spec), &spec); err != nil {
				t.Fatal(err)
			}
			got, err := revisionOf(&spec)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != c.want {
				t.Errorf("the revision moved from %s to %s", c.want, got)
			}
			if parseRevision(got.String()) != got {
				t.Errorf("%s does not survive the label", got)
			}
		})
	}
}

// TestRevisionChanges says what counts as another template, and which half shows it.
func TestRevisionChanges(t *testing.T) {
	cases := map[string]struct {
		reason          string
		mutate          func(*batchv1.PodSetSpec)
		settings, image bool
	}{
		"image":    {"only the image's half", func(s *batchv1.PodSetSpec) { s.Image = "nginx:1.29" }, false, true},
		"args":     {"only the settings' half", func(s *batchv1.PodSetSpec) { s.Args = []string{"-v"} }, true, false},
		"both":     {"both halves", func(s *batchv1.PodSetSpec) { s.Image, s.Args = "a", []string{"-v"} }, true, true},
		"label":    {"labels are part of the template", func(s *batchv1.PodSetSpec) { s.PodLabels = map[string]string{"a": "b"} }, true, false},
		"replicas": {"not part of the template", func(s *batchv1.PodSetSpec) { s.Replicas = new(int32(9)) }, false, false},
		"paused":   {"not part of the template", func(s *batchv1.PodSetSpec) { s.Paused, s.Suspend, s.MinReadySeconds = true, true, 9 }, false, false},
		"empty":    {"an empty list is no change", func(s *batchv1.PodSetSpec) { s.Args, s.PodLabels = []string{}, map[string]string{} }, false, false},
		"ports":    {"ports are part of the template", func(s *batchv1.PodSetSpec) { s.Ports = []corev1.ContainerPort{{ContainerPort: 80}} }, true, false},
	}
	before, err := revisionOf(&base("web").Spec)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			podSet := base("web")
			c.mutate(&podSet.Spec)
			after, err := revisionOf(&podSet.Spec)
			if err != nil {
				t.Fatal(err)
			}
			if got := before.settings != after.settings; got != c.settings {
				t.Errorf("settings changed: %t; %s", got, c.reason)
			}
			if got := before.image != after.image; got != c.image {
				t.Errorf("image changed: %t; %s", got, c.reason)
			}
		})
	}
}

// TestForeignRevision: labels that we did not write equal no revision.
func TestForeignRevision(t *testing.T) {
	for _, label := range []string{"", "-", "s1", "s1-", "s1-i1-x"} {
		if parseRevision(label) == current {
			t.Errorf("%q is taken for %s", label, current)
		}
	}
}
