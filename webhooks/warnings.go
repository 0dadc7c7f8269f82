package webhooks

import (
	"encoding/json"
	"fmt"

	"github.com/distribution/reference"

	"github.com/example/workload-operator/conversion"
)

// warn names what is legal but likely wrong, with what to do about it: on create, and afterwards whenever the field in question
// changes, so that nobody is told the same again and again. At most one warning for each field is given, each short enough
// for an HTTP header.
//
// Writes to /scale are not seen here: they are those of the autoscaler, or of somebody who means just that.
func warn(r Request) []string {
	var warnings []string
	var image string
	if err := json.Unmarshal(valueAt(r.Object, "spec", "image"), &image); err == nil && r.sets("spec", "image") && followsLatest(image) {
		warnings = append(warnings, fmt.Sprintf("%s: %.100q may mean another image tomorrow: set a tag other than latest, or a digest",
			r.nameOf("spec.image"), image))
	}
	if requests, _ := members(valueAt(r.Object, "spec", "resources", "requests")); r.sets("spec", "resources") && len(requests) == 0 {
		warnings = append(warnings, fmt.Sprintf("%s: without requests the scheduler may crowd a node: request cpu and memory",
			r.nameOf("spec.resources")))
	}
	if r.sets("spec", "probes") && !r.hasProbe() {
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

// sets is true if a field gets its first value, or another one.
func (r Request) sets(path ...string) bool {
	return r.Old == nil || r.changes(path...)
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

func (r Request) hasProbe() bool {
	for _, probe := range []string{"startup", "readiness", "liveness"} {
		if valueAt(r.Object, "spec", "probes", probe) != nil {
			return true
		}
	}
	return false
}
