package scale

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	rounds   = 5
	pageSize = "500"

	converted = "workload_operator_conversion_objects_per_review_sum"
)

var versions = []string{"v1", "v1alpha1"}

// inTurn are the versions, in an order that favours neither.
func inTurn(turn int) []string {
	order := slices.Clone(versions)
	if turn%2 == 1 {
		slices.Reverse(order)
	}
	return order
}

func path(version string) string { return "/apis/app.example.com/" + version + "/webapps" }

// answer of a list, in one piece or several.
type answer struct {
	seconds float64 // until the last byte, without the time between pages
	bytes   int
	items   int
}

// lists measures a list of all WebApps in both versions, by turns. A list comes from a cache, so that nothing is
// converted.
func (r *rig) lists() {
	for _, kind := range []struct {
		name       string
		parameters map[string]string
	}{
		{"any version", map[string]string{"resourceVersion": "0"}},
		{"consistent", nil},
		{"pages of " + pageSize, map[string]string{"limit": pageSize}},
	} {
		seconds, spent, size := map[string][]float64{}, map[string]processors{}, map[string]int{}
		before := r.metric(converted)
		for round := range rounds {
			for _, version := range inTurn(round) {
				used := r.used()
				got := r.list(version, kind.parameters)
				now := r.since(used, rounds)
				if got.items != r.webApps {
					r.Fatalf("%d objects in a list of %d", got.items, r.webApps)
				}
				seconds[version], size[version] = append(seconds[version], got.seconds), got.bytes
				spent[version] = processors{spent[version].operator + now.operator, spent[version].server + now.server, 0}
			}
		}
		hub, spoke := median(seconds["v1"]), median(seconds["v1alpha1"])
		r.say("list", "%s: v1 %.3f s, %.1f MiB (processor time %.3f s of the API server, %.3f of the operator); v1alpha1 %.3f s, %.1f MiB (%.3f, %.3f); v1alpha1/v1 %.2f; %.0f objects converted",
			kind.name, hub, mib(size["v1"]), spent["v1"].server, spent["v1"].operator,
			spoke, mib(size["v1alpha1"]), spent["v1alpha1"].server, spent["v1alpha1"].operator, spoke/hub, r.metric(converted)-before)
		if kind.parameters == nil {
			r.ReportMetric(spoke/hub, "list-ratio")
		}
	}
}

func mib(bytes int) float64 { return float64(bytes) / (1 << 20) }

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// list reads all WebApps, page by page if the parameters ask for it.
func (r *rig) list(version string, parameters map[string]string) (a answer) {
	r.Helper()
	for next, more := "", true; more; more = next != "" {
		request := r.raw.Get().AbsPath(path(version))
		for name, value := range parameters {
			request.Param(name, value)
		}
		if next != "" {
			request.Param("continue", next)
		}
		begin := time.Now()
		body, err := request.DoRaw(r.ctx)
		a.seconds += time.Since(begin).Seconds()
		r.check(err)
		var list struct {
			Metadata metav1.ListMeta   `json:"metadata"`
			Items    []json.RawMessage `json:"items"`
		}
		r.check(json.Unmarshal(body, &list))
		a.bytes, a.items, next = a.bytes+len(body), a.items+len(list.Items), list.Metadata.Continue
	}
	return a
}

// rebuild changes the definition in a way that matters to nobody. The API server then makes its cache of each version anew,
// and has every object converted for the one that is not stored.
func (r *rig) rebuild() {
	r.Helper()
	other := versions[1-slices.Index(versions, *storage)]
	before, calls, used, begin := r.metric(converted), r.counted(), r.used(), time.Now()
	column := fmt.Sprintf(`{"name":"Scale %d","type":"string","jsonPath":".metadata.name"}`, r.webApps)
	r.patchDefinition(`[{"op":"add","path":"/spec/versions/0/additionalPrinterColumns/-","value":` + column + `}]`)
	r.poll(50*time.Millisecond, "the caches are made anew", func() bool {
		// It says 429 while it makes them.
		err := r.raw.Get().AbsPath(path(other)).Param("limit", "1").MaxRetries(0).Do(r.ctx).Error()
		if err != nil && !apierrors.IsTooManyRequests(err) {
			r.check(err)
		}
		return err == nil && r.metric(converted)-before >= float64(r.webApps)
	})
	took := time.Since(begin)
	r.settle()
	spent, after := r.since(used, 1), r.counted()
	r.say("rebuild", "the definition changed: %s is served again after %.1f s, %.0f objects converted; until all is quiet, processor time %.2f s of the operator, %.2f of the API server, %d writes",
		other, took.Seconds(), r.metric(converted)-before, spent.operator, spent.server, after.writes-calls.writes)
}

const definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/webapps.app.example.com"

func (r *rig) patchDefinition(patch string) {
	r.Helper()
	r.check(r.raw.Patch(types.JSONPatchType).AbsPath(definition).Body([]byte(patch)).Do(r.ctx).Error())
}

// store makes another version the storage version, before there are objects.
func (r *rig) store(version string) {
	r.Helper()
	body, err := r.raw.Get().AbsPath(definition).DoRaw(r.ctx)
	r.check(err)
	var crd apiextensionsv1.CustomResourceDefinition
	r.check(json.Unmarshal(body, &crd))
	var patches []string
	for i, v := range crd.Spec.Versions {
		patches = append(patches, fmt.Sprintf(`{"op":"replace","path":"/spec/versions/%d/storage","value":%t}`, i, v.Name == version))
	}
	r.patchDefinition("[" + strings.Join(patches, ",") + "]")
}
