package certs

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// races bounds how often Bootstrap starts over when other replicas bootstrap at the same time.
var races = wait.Backoff{Steps: 8, Duration: 50 * time.Millisecond, Factor: 2, Jitter: 0.5, Cap: 2 * time.Second}

// Bootstrap makes sure, without any cache, that this replica has a certificate to serve and that the API server trusts it. Any
// number of replicas may do so at once: the first creates the Secret, the others read it, and all publish the same bundle.
// It must come before the caches of the manager start. When all objects are stored in the older version, filling them needs the
// conversion webhook, so a caBundle that waits for a cache or a leader would never come.
func (c *Certificates) Bootstrap(ctx context.Context) error {
	lostRace := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	return retry.OnError(races, lostRace, func() error { return c.bootstrap(ctx) })
}

func (c *Certificates) bootstrap(ctx context.Context) error {
	targets, err := c.fetchTargets(ctx)
	if err != nil {
		return err
	}
	secret, err := c.fetchSecret(ctx)
	if err != nil {
		return err
	}
	mode := c.decide(ctx, secret, targets)
	o := c.observation(secret, targets)
	if !mode.follows() {
		decision := plan(o, c.options.Lifetimes)
		// What is not urgent is left to the leader.
		if decision.Step != StepNone && (o.secret == nil || judge(o.secret, o.names, o.now) != nil) {
			if secret, err = c.write(ctx, secret, decision.Step, o); err != nil {
				return err
			}
			o.secret = decode(secret.Data)
		}
	}
	if !c.usable(ctx, mode, secret, o) {
		return nil
	}
	bundle, _ := bundleOf(mode, o, targets, c.options.Lifetimes)
	c.serve(ctx, o.secret)
	return c.publish(ctx, bundle, targets)
}

// fetchTargets reads the targets that exist.
func (c *Certificates) fetchTargets(ctx context.Context) ([]client.Object, error) {
	var targets []client.Object
	for _, w := range c.targets {
		target, err := w.fetch(ctx, c.client)
		switch {
		case apierrors.IsNotFound(err):
			log.FromContext(ctx).Info("Not installed, so no caBundle is published to it", "kind", w.kind, "name", w.name)
		case err != nil:
			return nil, fmt.Errorf("reading %s %s: %w", w.kind, w.name, err)
		default:
			targets = append(targets, target)
		}
	}
	return targets, nil
}

// fetchSecret reads the Secret, nil when there is none.
func (c *Certificates) fetchSecret(ctx context.Context) (*corev1.Secret, error) {
	secret, err := c.secret.fetch(ctx, c.client)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", c.secretName(), err)
	}
	return secret.(*corev1.Secret), nil
}
