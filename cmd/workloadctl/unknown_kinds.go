package main

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/workload-operator/cmd/workloadctl/internal/closest"
	"github.com/example/workload-operator/conversion"
)

// unknownKind says what is wrong with an object of a group that is to be looked at, but of a kind or version that is not there. It is
// empty for objects of other groups.
func (t targets) unknownKind(apiVersion, kind string) string {
	gv := schema.FromAPIVersionAndKind(apiVersion, kind).GroupVersion()
	if gv.Group == "" { // none is given, or it cannot be read
		return t.withoutGroup(apiVersion, kind)
	}
	if t[gv.Group] == "" {
		return ""
	}
	kinds, versions := kindsOf(gv.Group), versionsOf(gv.Group)
	knownKind, knownVersion := slices.Contains(kinds, strings.TrimSuffix(kind, "List")), slices.Contains(versions, gv.Version)
	if knownKind && knownVersion {
		return ""
	}
	var meant string
	if !knownKind {
		meant, _ = closest.Word(kind, withLists(kinds...))
	} else if version, ok := closest.Word(gv.Version, versions); ok {
		meant = gv.Group + "/" + version
	}
	if meant != "" {
		meant = fmt.Sprintf("; did you mean %q?", meant)
	}
	return fmt.Sprintf("no kind %q in version %q%s (there is %s in %s)", kind, apiVersion, meant, strings.Join(kinds, ", "),
		gv.Group+"/"+strings.Join(versions, ", "+gv.Group+"/"))
}

// withoutGroup is the error for a kind of ours whose group is missing.
func (t targets) withoutGroup(apiVersion, kind string) string {
	for _, known := range conversion.Kinds() {
		if t[known.Group] != "" && slices.Contains(withLists(known.Kind), kind) {
			return fmt.Sprintf("no kind %q in version %q; did you mean %q?", kind, apiVersion, known.Group+"/"+candidateVersions[0])
		}
	}
	return ""
}

// nearMiss says what was probably meant with an object of a group that is not ours, empty if it looks like somebody else's.
func nearMiss(apiVersion, kind string) string {
	gv := schema.FromAPIVersionAndKind(apiVersion, kind).GroupVersion()
	var groups []string
	for _, known := range conversion.Kinds() {
		if known.Group == gv.Group {
			return ""
		}
		groups = append(groups, known.Group)
	}
	if group, ok := closest.Within(likelyTypos, gv.Group, groups); ok {
		return fmt.Sprintf("%s %s is of another group; did you mean %q?", apiVersion, kind, group+"/"+gv.Version)
	}
	return ""
}

// likelyTypos are as many letters as a group may differ from ours to be a misspelling, and not somebody else's group.
const likelyTypos = 2

// kindsOf are our kinds in a group.
func kindsOf(group string) (kinds []string) {
	for _, known := range conversion.Kinds() {
		if known.Group == group {
			kinds = append(kinds, known.Kind)
		}
	}
	return kinds
}

// versionsOf are the versions that a group of ours has.
func versionsOf(group string) (versions []string) {
	for _, known := range knownVersions() {
		if version, ours := strings.CutPrefix(known, group+"/"); ours {
			versions = append(versions, version)
		}
	}
	return versions
}

func withLists(kinds ...string) (all []string) {
	for _, kind := range kinds {
		all = append(all, kind, kind+"List")
	}
	return all
}
