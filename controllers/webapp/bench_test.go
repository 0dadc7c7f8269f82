package webapp

import (
	"testing"

	appv1 "github.com/example/workload-operator/apis/app/v1"
)

// BenchmarkQuietPlan measures the decision of a pass that finds everything in place, for the sample and for a WebApp that
// uses every field.
func BenchmarkQuietPlan(b *testing.B) {
	for name, w := range map[string]*appv1.WebApp{"sample": stored(), "everything": stored(everything)} {
		b.Run(name, func(b *testing.B) {
			o := settled(b, w)
			for b.Loop() {
				p, err := planFor(w, o)
				if err != nil || len(p.steps) > 0 {
					b.Fatal(p, err)
				}
			}
		})
	}
}
