package podset

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
)

// ownWrite is what our last write left of a PodSet. It holds passes back while the cache shows an older one. Such a pass would
// write its status on a version that is gone, and be refused each time; and it would take the times of its conditions, and what
// it has told already, from a status that is gone, too.
type ownWrite struct {
	version string    // resourceVersion that the write left
	since   time.Time // of the write, or of the last look past the cache
}

func (w *ownWrite) wrote(podSet *batchv1.PodSet, now time.Time) {
	w.version, w.since = podSet.ResourceVersion, now
}

// shuts reports whether the cache still lags behind our own last write.
func (w *ownWrite) shuts(podSet *batchv1.PodSet) bool {
	return older(podSet.ResourceVersion, w.version)
}

// patience is how much longer to wait for the cache, before the API server is asked.
func (w *ownWrite) patience(now time.Time) time.Duration {
	return max(w.since.Add(expectationPatience).Sub(now), 0)
}

// lookPast reads the PodSet itself, because the cache should have shown it long ago: its watch may be stuck, or the API server
// may have been put back to an older state. What the API server says is believed, whatever version we wrote.
func (w *ownWrite) lookPast(ctx context.Context, live client.Reader, podSet *batchv1.PodSet, now time.Time) error {
	fresh := &batchv1.PodSet{}
	if err := live.Get(ctx, client.ObjectKeyFromObject(podSet), fresh); err != nil {
		return fmt.Errorf("asking the API server about a PodSet that the cache shows late: %w", err)
	}
	*podSet = *fresh
	w.wrote(podSet, now)
	return nil
}
