package scale

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// turns is how often each number of watchers is measured, in each version.
const turns = 3

// crowd are watchers that count events and decode none.
type crowd struct {
	seen  []atomic.Int64
	bytes atomic.Int64
	group errgroup.Group
	stop  context.CancelFunc
}

// watches measures what a change of a label costs with some watchers of all WebApps, in each version: medians of some turns.
// Without watchers it is what the write itself costs, with the webhooks that it passes, the caches of both versions, and the
// operator's own watch.
func (r *rig) watches() {
	r.Helper()
	spent, size := map[audience][]processors{}, map[string]int64{}
	r.changed(audience{"v1", 1}) // everything has been used once
	for turn := range turns {
		for _, count := range []int{0, 10, 50} {
			for _, version := range inTurn(turn) {
				a := audience{version, count}
				if count == 0 {
					a.version = "" // nobody watches
				}
				now, bytes := r.changed(a)
				spent[a], size[version] = append(spent[a], now), bytes
			}
		}
	}
	none := middle(spent[audience{"", 0}])
	r.say("watch", "no watcher: a change costs %s", none)
	for _, count := range []int{10, 50} {
		hub, spoke := middle(spent[audience{"v1", count}]), middle(spent[audience{"v1alpha1", count}])
		r.say("watch", "%d watchers: a change costs %s in v1 (events of %d bytes), %s in v1alpha1 (%d); v1alpha1/v1 %.2f",
			count, hub, size["v1"], spoke, size["v1alpha1"], spoke.server/hub.server)
	}
}

// audience is how many watch which version.
type audience struct {
	version string
	count   int
}

// middle has the medians.
func middle(all []processors) processors {
	var operators, servers []float64
	for _, p := range all {
		operators, servers = append(operators, p.operator), append(servers, p.server)
	}
	return processors{operator: median(operators), server: median(servers)}
}

func (p processors) String() string {
	return fmt.Sprintf("%.2f ms of the API server and %.2f of the operator", 1000*p.server, 1000*p.operator)
}

// changed changes labels while a version is watched. It returns the processor time of a change, and the bytes of an event.
func (r *rig) changed(a audience) (processors, int64) {
	r.Helper()
	c := r.gather(a)
	defer func() {
		c.stop()
		r.check(c.group.Wait())
	}()
	used, calls, value := r.used(), r.counted(), time.Now().UnixNano()
	var group errgroup.Group
	group.SetLimit(4)
	for range *updates {
		i := rand.IntN(r.webApps)
		group.Go(func() error {
			patch := fmt.Appendf(nil, `{"metadata":{"labels":{"changed":"%d-%d"}}}`, value, rand.Uint64())
			return r.raw.Patch(types.MergePatchType).AbsPath("/apis/app.example.com/v1/namespaces/" + webAppNamespace(i) + "/webapps/" + webAppName(i)).
				Body(patch).Do(r.ctx).Error()
		})
	}
	r.check(group.Wait())
	r.poll(20*time.Millisecond, "every watcher has seen every change", func() bool {
		for i := range c.seen {
			if c.seen[i].Load() < int64(*updates) {
				return false
			}
		}
		return r.idleQueues()
	})
	spent, total := r.since(used, *updates), int64(0)
	for i := range c.seen {
		total += c.seen[i].Load()
	}
	if want := int64(a.count * *updates); total != want {
		r.Errorf("%d events instead of %d", total, want)
	}
	if n := r.counted().writes - calls.writes; n != 0 {
		r.Errorf("the operator wrote %d times because of labels, which do not concern it", n)
	}
	return spent, c.bytes.Load() / max(total, 1)
}

// gather opens watches from now on.
func (r *rig) gather(a audience) *crowd {
	r.Helper()
	ctx, cancel := context.WithCancel(r.ctx)
	c := &crowd{seen: make([]atomic.Int64, a.count), stop: cancel}
	if a.count == 0 {
		return c
	}
	body, err := r.raw.Get().AbsPath(path(a.version)).Param("limit", "1").DoRaw(r.ctx)
	r.check(err)
	var list metav1.PartialObjectMetadataList
	r.check(json.Unmarshal(body, &list))
	var open sync.WaitGroup
	for i := range c.seen {
		open.Add(1)
		c.group.Go(func() error {
			stream, err := r.raw.Get().AbsPath(path(a.version)).Param("watch", "true").Param("resourceVersion", list.ResourceVersion).Stream(ctx)
			open.Done()
			if err != nil {
				return err
			}
			defer stream.Close()
			return c.count(ctx, stream, &c.seen[i])
		})
	}
	open.Wait()
	return c
}

// count counts lines, of which each is an event, until ctx ends.
func (c *crowd) count(ctx context.Context, stream io.Reader, seen *atomic.Int64) error {
	reader := bufio.NewReaderSize(stream, 1<<16)
	for {
		line, err := reader.ReadSlice('\n')
		c.bytes.Add(int64(len(line)))
		switch ended := err != nil && !errors.Is(err, bufio.ErrBufferFull); {
		case err == nil:
			seen.Add(1)
		case ended && ctx.Err() == nil:
			return fmt.Errorf("a watch ended early: %w", err)
		case ended:
			return nil // the end that was asked for
		}
	}
}
