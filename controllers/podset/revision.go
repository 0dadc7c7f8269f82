package podset

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	"github.com/example/workload-operator/controllers/podtemplate"
)

// hashBytes of a SHA-256 are kept of each half of a revision: 40 bits tell the few revisions of one PodSet apart.
const hashBytes = 5

// revision identifies a template in two halves, so that the label alone shows whether two templates differ in more than
// their image.
type revision struct {
	settings string // hash of the template without its image
	image    string // hash of the image
}

// String is the value of the label batch.example.com/revision.
func (r revision) String() string { return r.settings + "-" + r.image }

// parseRevision reads the label of a Pod. A foreign value gives a revision that equals no other.
func parseRevision(label string) revision {
	settings, image, _ := strings.Cut(label, "-")
	return revision{settings: settings, image: image}
}

// revisionOf hashes what the user's settings say about Pods. The labels of the operator are left out, so a release that
// adds one restarts nothing; podtemplate promises that the rest never changes for the same settings.
func revisionOf(spec *batchv1.PodSetSpec) (revision, error) {
	template, err := podtemplate.Build(&spec.PodSettings, podtemplate.Options{Ports: spec.Ports})
	if err != nil {
		return revision{}, err
	}
	return hashTemplate(template, spec.Image)
}

func hashTemplate(template *applycorev1.PodTemplateSpecApplyConfiguration, image string) (revision, error) {
	for i := range template.Spec.Containers {
		template.Spec.Containers[i].Image = nil
	}
	raw, err := json.Marshal(template)
	if err != nil {
		return revision{}, fmt.Errorf("encoding the Pod template: %w", err)
	}
	canonical, err := canonicalJSON(raw)
	if err != nil {
		return revision{}, fmt.Errorf("ordering the Pod template: %w", err)
	}
	return revision{settings: shortHash(canonical), image: shortHash([]byte(image))}, nil
}

// canonicalJSON orders the members of every object by name, so that the order of fields in Go types does not matter.
func canonicalJSON(raw []byte) ([]byte, error) {
	var value any
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

func shortHash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:hashBytes])
}
