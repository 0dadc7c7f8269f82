package webhooks

import (
	"fmt"

	"github.com/distribution/reference"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/ptr"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/conversion"
)

// warn names what is legal but likely wrong, with what to do about it. Each text is short enough for an HTTP header.
//
// Writes to /scale are not seen here: they are those of the autoscaler, or of somebody who means just that.
func warn(r Request) []string {
	settings := settingsOf(r.Object)
	if settings == nil {
		return nil
	}
	var warnings []string
	if image := settings.Image; followsLatest(image) {
		warnings = append(warnings, fmt.Sprintf("%s: %.100q may mean another image tomorrow: set a tag other than latest, or a digest",
			r.nameOf("spec.image"), image))
	}
	if len(settings.Resources.Requests) == 0 {
		warnings = append(warnings, fmt.Sprintf("%s: without requests the scheduler may crowd a node: request cpu and memory",
			r.nameOf("spec.resources")))
	}
	if probes := ptr.Deref(settings.Probes, workloadv1.Probes{}); probes.Startup == nil && probes.Readiness == nil && probes.Liveness == nil {
		warnings = append(warnings, fmt.Sprintf("%s: without a probe a Pod counts as ready as soon as its process runs: add one",
			r.nameOf("spec.probes.readiness")))
	}
	if valueAt(r.Object, "spec", "autoscaling") != nil && r.changes("spec", "replicas") {
		warnings = append(warnings, fmt.Sprintf("%s: the autoscaler sets it, so this change will not last: change %s and %s",
			r.nameOf("spec.replicas"), r.nameOf("spec.autoscaling.minReplicas"), r.nameOf("spec.autoscaling.maxReplicas")))
	}
	return warnings
}

// followsLatest is true for an image with neither digest nor tag, or with the tag latest.
func followsLatest(image string) bool {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return false // not a reference, which is an error and needs no warning
	}
	if _, pinned := named.(reference.Digested); pinned {
		return false
	}
	tagged, ok := named.(reference.Tagged)
	return !ok || tagged.Tag() == "latest"
}

// changes is true if a field of the stored object gets another value.
func (r Request) changes(path ...string) bool {
	return r.Old != nil && !sameValue(valueAt(r.Object, path...), valueAt(r.Old, path...))
}

// nameOf returns the name that the client knows a v1 field by. A field that its version does not have is named in v1.
func (r Request) nameOf(field string) string {
	if !r.inOlderVersion() {
		return field
	}
	name := conversion.SpokePath(r.Kind, r.Version, field)
	if inAnnotation(name) {
		return fmt.Sprintf("%s in %s/%s", field, r.Kind.Group, hubVersion)
	}
	return name
}

// settingsOf reads the settings that all kinds share, or returns nil if they cannot be read.
func settingsOf(object []byte) *workloadv1.PodSettings {
	settings := &workloadv1.PodSettings{}
	if err := json.Unmarshal(valueAt(object, "spec"), settings); err != nil {
		return nil
	}
	return settings
}
