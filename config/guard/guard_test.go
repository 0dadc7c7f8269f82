package guard_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/config/guard"
)

const (
	older = "v1alpha1"
	newer = "v1"
)

// state is where a definition may be: its step, and what status.storedVersions says.
type state struct {
	step   config.Step
	stored []string
}

func (s state) String() string { return string(s.step) + " storing " + strings.Join(s.stored, " and ") }

// What refusals say. An empty one stands for a change that is allowed.
const (
	migrateFirst  = "run workloadctl migrate run first"
	stepR3First   = "take step R3 first (workloadctl crds --step R3 --apply), then run workloadctl migrate run"
	stepR4First   = "take step R4 first (workloadctl crds --step R4 --apply), then run workloadctl migrate run"
	rollbackFirst = "run workloadctl migrate rollback first"
)

// matrix has for each state what is said to each step, R1 to R5. M-09 is R1 to R3, and R2 to R4.
var matrix = []struct {
	from state
	to   [5]string
}{
	{state{config.StepR1, []string{older}}, [5]string{"", "", "", stepR3First, stepR3First}},
	{state{config.StepR2, []string{older}}, [5]string{"", "", "", stepR3First, stepR3First}},
	{state{config.StepR2, []string{older, newer}}, [5]string{rollbackFirst, "", "", stepR3First, stepR3First}},
	{state{config.StepR3, []string{older, newer}}, [5]string{rollbackFirst, "", "", migrateFirst, migrateFirst}},
	{state{config.StepR3, []string{newer}}, [5]string{rollbackFirst, "", "", "", stepR4First}},
	{state{config.StepR4, []string{newer}}, [5]string{rollbackFirst, "", "", "", ""}},
	{state{config.StepR5, []string{newer}}, [5]string{rollbackFirst, "", "", "", ""}},
}

// other changes, which no step makes.
var otherChanges = map[string]struct {
	reason string
	from   state
	change func(*apiextensionsv1.CustomResourceDefinition)
	want   string
}{
	"StanzaDropped": {
		"two served versions would be read as they are stored",
		state{config.StepR3, []string{newer}}, without, "keep the conversion stanza",
	},
	"StanzaDroppedWhileOneIsServed": {
		"objects that are still stored as v1alpha1 would be read as they are stored",
		state{config.StepR4, []string{older, newer}}, without, "keep the conversion stanza",
	},
	"Uninstalled": {
		"one served version, and nothing stored in another, needs no conversion",
		state{config.StepR4, []string{newer}}, without, "",
	},
	"UninstalledAtOnce": {
		"the same in one change",
		state{config.StepR3, []string{newer}}, func(crd *apiextensionsv1.CustomResourceDefinition) {
			without(crd)
			version(crd, older).Served = false
		}, "",
	},
	"StoredButNotServed": {
		"nobody could migrate to a version that is not served",
		state{config.StepR3, []string{older, newer}}, func(crd *apiextensionsv1.CustomResourceDefinition) { version(crd, newer).Served = false },
		"version v1 would be stored but not served",
	},
	"StanzaChanged": {
		"the operator may always publish its authority, however wrong the rest is",
		state{config.StepR4, []string{older, newer}}, func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Conversion.Webhook.ClientConfig.Service.Name = "another"
		}, "",
	},
	"RemovedWhileStored": {
		"a version that is not served any more may still be stored",
		state{config.StepR4, []string{older, newer}}, func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions = slices.DeleteFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == older })
		}, "objects may still be stored as v1alpha1, which would be gone",
	},
	"Repaired": {
		"back from a step that was taken too early",
		state{config.StepR4, []string{older, newer}}, func(crd *apiextensionsv1.CustomResourceDefinition) { version(crd, older).Served = true }, "",
	},
}

func without(crd *apiextensionsv1.CustomResourceDefinition) {
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
}

func version(crd *apiextensionsv1.CustomResourceDefinition, name string) *apiextensionsv1.CustomResourceDefinitionVersion {
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Name == name {
			return &crd.Spec.Versions[i]
		}
	}
	return nil
}

// slim are the first of our definitions at each step, with schemas that say nothing: the rules do not look at them, and an API server
// is quicker without.
var slim = sync.OnceValues(func() (map[config.Step]*apiextensionsv1.CustomResourceDefinition, error) {
	all := map[config.Step]*apiextensionsv1.CustomResourceDefinition{}
	for _, step := range config.Steps() {
		crds, err := config.CRDsAt(step)
		if err != nil {
			return nil, err
		}
		for i := range crds[0].Spec.Versions {
			v := &crds[0].Spec.Versions[i]
			v.Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
			v.AdditionalPrinterColumns, v.Subresources = nil, nil
		}
		all[step] = crds[0]
	}
	return all, nil
})

// at returns the definition of a step.
func at(t *testing.T, step config.Step) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	all, err := slim()
	if err != nil {
		t.Fatal(err)
	}
	return all[step].DeepCopy()
}

func in(t *testing.T, s state) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := at(t, s.step)
	crd.Status.StoredVersions = s.stored
	return crd
}

// check wants an error that has the text, or none for an empty one.
func check(t *testing.T, what string, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s is refused: %v", what, err)
	case want != "" && err == nil:
		t.Errorf("%s is allowed, want %q", what, want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}

func TestCheckSteps(t *testing.T) {
	for _, row := range matrix {
		for i, step := range config.Steps() {
			check(t, row.from.String()+" to "+string(step), guard.Check(t.Context(), in(t, row.from), at(t, step)), row.to[i])
		}
	}
}

func TestCheckOtherChanges(t *testing.T) {
	for name, test := range otherChanges {
		t.Run(name, func(t *testing.T) {
			next := at(t, test.from.step)
			test.change(next)
			check(t, test.reason, guard.Check(t.Context(), in(t, test.from), next), test.want)
		})
	}
}

func TestCheckCreation(t *testing.T) {
	for _, step := range config.Steps() {
		check(t, "creating "+string(step), guard.Check(t.Context(), nil, at(t, step)), "")
	}
	mixed := at(t, config.StepR3)
	without(mixed)
	check(t, "two versions without conversion", guard.Check(t.Context(), nil, mixed), "versions v1, v1alpha1 are served or stored and differ")
}

// A definition that came to be wrong while there was no guard can be changed, as long as nothing gets worse.
func TestCheckLetsRepairsPass(t *testing.T) {
	live := in(t, state{config.StepR3, []string{older, newer}})
	without(live)
	same := live.DeepCopy()
	same.Labels = map[string]string{"a": "b"}
	check(t, "a label", guard.Check(t.Context(), live, same), "")
	check(t, "the stanza comes back", guard.Check(t.Context(), live, at(t, config.StepR3)), "")
	check(t, "another step too far", guard.Check(t.Context(), live, at(t, config.StepR5)), migrateFirst)
}

// What is judged is not changed.
func TestCheckKeepsItsInput(t *testing.T) {
	live, next := in(t, state{config.StepR1, []string{older}}), at(t, config.StepR2)
	before := next.DeepCopy()
	check(t, "R1 to R2", guard.Check(t.Context(), live, next), "")
	if len(live.Status.StoredVersions) != 1 || len(next.Status.StoredVersions) != len(before.Status.StoredVersions) {
		t.Errorf("stored versions became %v and %v", live.Status.StoredVersions, next.Status.StoredVersions)
	}
}
