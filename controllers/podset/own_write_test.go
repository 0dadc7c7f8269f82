package podset

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
)

// TestOwnWrite: a pass waits for the cache to show our own last write, but not for ever.
func TestOwnWrite(t *testing.T) {
	at := func(version string) *batchv1.PodSet {
		p := base("web")
		p.ResourceVersion = version
		return p
	}
	w := &ownWrite{}
	if w.shuts(at("1")) {
		t.Error("nothing was written and the pass is held back")
	}
	w.wrote(at("10"), epoch)
	for version, want := range map[string]bool{"9": true, "10": false, "11": false, "": false, "not a version": false} {
		if got := w.shuts(at(version)); got != want {
			t.Errorf("version %q: held back %v, want %v", version, got, want)
		}
	}
	for after, want := range map[time.Duration]time.Duration{
		0: expectationPatience, 10 * time.Second: expectationPatience - 10*time.Second, expectationPatience: 0, time.Hour: 0,
	} {
		if got := w.patience(epoch.Add(after)); got != want {
			t.Errorf("after %s: patience %s, want %s", after, got, want)
		}
	}
}

// TestLookPast: a cache that stays behind is looked past, and the API server is believed even if it knows less than we wrote.
func TestLookPast(t *testing.T) {
	api := newModelAPI(rand.New(rand.NewPCG(1, 1)), func() time.Time { return epoch })
	stored := base("web", replicas(7))
	stored.Labels = map[string]string{"new": "yes"}
	api.setPodSet(stored)
	w := &ownWrite{version: "1000", since: epoch}
	cached := base("web")
	cached.ResourceVersion, cached.Labels = "0", map[string]string{"old": "yes"}

	later := epoch.Add(expectationPatience)
	if err := w.lookPast(t.Context(), &modelClient{modelAPI: api, live: true}, cached, later); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored, cached); diff != "" {
		t.Errorf("the PodSet is not the stored one (-want, +got):\n%s", diff)
	}
	if w.shuts(cached) || w.patience(later) != expectationPatience {
		t.Errorf("what was read holds the next pass back: %+v", w)
	}
}
