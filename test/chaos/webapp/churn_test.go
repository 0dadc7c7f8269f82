package webapp

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// wish is what was last asked for, and acknowledged, about a WebApp; nil means that it was deleted.
type wish struct {
	image    string
	replicas int64
	port     int64
	budget   bool // v1 alone can say it
}

// churner writes to its WebApps, one write after the other, each until it is acknowledged. So it knows how each must end.
type churner struct {
	client    client.Client
	namespace string
	random    *rand.Rand
	names     []string
	wishes    map[string]*wish
	writes    int
}

// run writes until stop is closed, and finishes what it began.
func (c *churner) run(ctx context.Context, stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		if err := c.step(ctx); err != nil {
			return err
		}
	}
}

// step does one thing to one WebApp: create it, or change it, and now and then delete it.
func (c *churner) step(ctx context.Context) error {
	name := c.names[c.random.IntN(len(c.names))]
	former := c.wishes[name]
	if former != nil && c.random.IntN(5) == 0 {
		c.wishes[name] = nil
		return c.insist(ctx, "deleting "+name, func(ctx context.Context) error {
			return client.IgnoreNotFound(c.client.Delete(ctx, c.object("v1", name), client.PropagationPolicy("Background")))
		})
	}
	next := &wish{image: fmt.Sprintf("web:%d", c.random.IntN(1000)), replicas: 1 + c.random.Int64N(4), port: 8000 + c.random.Int64N(100)}
	version, spec := "v1", map[string]any{"image": next.image, "replicas": next.replicas, "port": next.port, "disruptionBudget": nil}
	if c.random.IntN(2) == 0 {
		next.budget = true
		spec["disruptionBudget"] = map[string]any{"maxUnavailable": int64(1)}
	}
	if c.random.IntN(2) == 0 {
		version, spec = "v1alpha1", map[string]any{
			"image":  map[string]any{"repository": "web", "tag": next.image[len("web:"):]},
			"scale":  map[string]any{"instances": next.replicas},
			"expose": map[string]any{"port": next.port},
		}
		next.budget = former != nil && former.budget
	}
	c.wishes[name] = next
	return c.insist(ctx, "writing "+name+" in "+version, func(ctx context.Context) error { return c.write(ctx, version, name, spec) })
}

// write changes a WebApp or creates it. It may be done again: an attempt whose answer was lost may have been heard.
func (c *churner) write(ctx context.Context, version, name string, spec map[string]any) error {
	object := c.object(version, name)
	patch := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	raw, err := patch.MarshalJSON()
	if err != nil {
		return err
	}
	err = c.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, raw))
	if !apierrors.IsNotFound(err) {
		return err
	}
	object = c.object(version, name)
	object.Object["spec"] = spec
	return c.client.Create(ctx, object)
}

func (c *churner) object(version, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetAPIVersion("app.example.com/" + version)
	object.SetKind("WebApp")
	object.SetNamespace(c.namespace)
	object.SetName(name)
	return object
}

// insist tries until it is acknowledged: while the operator is down, writes in the older version fail, and while the API
// server is, all do.
func (c *churner) insist(ctx context.Context, what string, try func(context.Context) error) error {
	c.writes++
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		short, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		last = try(short)
		if apierrors.IsInvalid(last) || apierrors.IsBadRequest(last) {
			return false, last
		}
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w; last answer: %w", what, err, last)
	}
	return nil
}
