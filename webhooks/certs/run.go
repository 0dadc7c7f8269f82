package certs

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// retryDelay is the pause after a failed pass.
	retryDelay = 2 * time.Second
	// followerDelay is how long a replica that does not lead leaves a wrong caBundle to the leader. There may be no leader: none
	// is elected before the caches are filled, and filling them may need this very caBundle.
	followerDelay = 10 * time.Second
)

// Run follows the Secret and the targets until the context ends. Every replica serves what the Secret says; the leader (see
// Lead) also renews the Secret and repairs the targets.
func (c *Certificates) Run(ctx context.Context) error {
	var informers sync.WaitGroup
	defer informers.Wait()
	for _, w := range append([]*watched{c.secret}, c.targets...) {
		w.prepare(c.client, c.poke)
	}
	// Stores may be read from here on; before, only this goroutine knew them.
	for _, w := range append([]*watched{c.secret}, c.targets...) {
		informers.Go(func() { w.informer.RunWithContext(ctx) })
	}
	for _, w := range append([]*watched{c.secret}, c.targets...) {
		if !cache.WaitForCacheSync(ctx.Done(), w.informer.HasSynced) {
			return nil
		}
	}
	c.synced.Store(true)
	for {
		timer := time.NewTimer(c.pass(ctx))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-c.wake:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// pass is one look at everything, with at most one change to the Secret. It returns when to look again at the latest.
func (c *Certificates) pass(ctx context.Context) time.Duration {
	again, err := c.advance(ctx)
	switch {
	case err == nil:
		return again
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		// The watch is behind; its event wakes us.
	case ctx.Err() == nil:
		log.FromContext(ctx).Error(err, "Certificate upkeep failed, trying again", "delay", retryDelay)
	}
	return retryDelay
}

func (c *Certificates) advance(ctx context.Context) (time.Duration, error) {
	secret, targets := c.lastSeen()
	mode := c.decide(ctx, secret, targets)
	o := c.observation(secret, targets)
	// Whoever serves nothing waits for nobody.
	first := o.serving == nil
	again := c.adopt(ctx, mode, secret, &o)
	leading := c.leading.Load()
	if leading && !mode.follows() {
		decision := plan(o, c.options.Lifetimes)
		if decision.Step != StepNone {
			_, err := c.write(ctx, secret, decision.Step, o)
			return retryDelay, err
		}
		again = min(again, decision.Again)
	}
	if c.problem.Load() != nil {
		if !mode.follows() || o.serving == nil {
			return again, nil
		}
		// What is served on stays trusted, whatever becomes of the Secret.
		o.secret = o.serving
	}
	bundle, until := bundleOf(mode, o, targets, c.options.Lifetimes)
	again = min(again, until)
	if !slices.ContainsFunc(targets, func(t client.Object) bool { return !injected(t) && !holds(t, bundle) }) {
		c.differsSince = time.Time{}
		return again, nil
	}
	if c.differsSince.IsZero() {
		c.differsSince = o.now
	}
	if wait := c.differsSince.Add(followerDelay).Sub(o.now); !leading && !first && wait > 0 {
		return min(again, wait), nil
	}
	return again, c.publishIfCurrent(ctx, secret, bundle, targets)
}

// adopt goes over to the certificate of the Secret if that is possible by now. It returns when to look again at the latest.
func (c *Certificates) adopt(ctx context.Context, mode Mode, secret *corev1.Secret, o *Observation) time.Duration {
	if !c.usable(ctx, mode, secret, *o) {
		return longest
	}
	if mode.follows() {
		if now, again := takeUp(*o, c.options.Lifetimes); !now {
			return again
		}
	}
	c.serve(ctx, o.secret)
	o.serving = o.secret
	return longest
}

// lastSeen is the Secret, nil when there is none, and the targets that exist, as the watches last saw them.
func (c *Certificates) lastSeen() (*corev1.Secret, []client.Object) {
	var targets []client.Object
	for _, w := range c.targets {
		if target := w.last(); target != nil {
			targets = append(targets, target)
		}
	}
	secret, _ := c.secret.last().(*corev1.Secret)
	return secret, targets
}

// serve makes the material what this replica serves.
func (c *Certificates) serve(ctx context.Context, m *material) {
	former := c.serving.Swap(m)
	if former == nil || !former.leaf().Equal(m.leaf()) {
		log.FromContext(ctx).Info("Serving a new certificate", "serial", m.leaf().SerialNumber.Text(16), "expires", m.leaf().NotAfter)
	}
	recordExpiry(m)
}

// write carries out a step on the Secret as it was seen; nil means that there was none.
func (c *Certificates) write(ctx context.Context, seen *corev1.Secret, step Step, o Observation) (*corev1.Secret, error) {
	data, err := issue(step, o, c.options.Lifetimes)
	if err != nil {
		return nil, fmt.Errorf("preparing %s of the certificate: %w", step, err)
	}
	secret := &corev1.Secret{}
	if seen == nil {
		secret.ObjectMeta = metav1.ObjectMeta{
			Namespace: c.options.Namespace,
			Name:      c.options.SecretName,
			Labels:    map[string]string{ownerLabel: ownerValue},
		}
		secret.Type = corev1.SecretTypeOpaque
		secret.Data = data
		err = c.client.Create(ctx, secret, client.FieldOwner(FieldManager))
	} else {
		seen.DeepCopyInto(secret)
		secret.Data = data
		err = c.client.Update(ctx, secret, client.FieldOwner(FieldManager))
	}
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", c.secretName(), err)
	}
	rotations.WithLabelValues(string(step)).Inc()
	log.FromContext(ctx).Info("Changed the certificate Secret", "secret", c.options.SecretName, "step", step)
	return secret, nil
}

// publishIfCurrent publishes unless the Secret has moved on since the watch saw it: an older bundle must not replace a newer one.
// The targets were seen before the Secret is read here, and their writes carry the resourceVersion they were seen at, so
// whoever publishes a newer bundle in between makes ours fail with a conflict.
func (c *Certificates) publishIfCurrent(ctx context.Context, seen *corev1.Secret, bundle []byte, targets []client.Object) error {
	live, err := c.fetchSecret(ctx)
	if err != nil {
		return err
	}
	if versionOf(live) != versionOf(seen) {
		return nil
	}
	return c.publish(ctx, bundle, targets)
}

// versionOf is empty when there is no Secret.
func versionOf(secret *corev1.Secret) string {
	if secret == nil {
		return ""
	}
	return secret.ResourceVersion
}

// publish puts the bundle into the targets that do not hold it, except those that are the cainjector's to write.
func (c *Certificates) publish(ctx context.Context, bundle []byte, targets []client.Object) error {
	for _, target := range targets {
		if injected(target) {
			continue
		}
		patch, err := patchFor(target, bundle)
		if err != nil {
			return fmt.Errorf("preparing the caBundle of %s: %w", target.GetName(), err)
		}
		if patch == nil {
			continue
		}
		kind := kindOf(target)
		patched := target.DeepCopyObject().(client.Object)
		err = c.client.Patch(ctx, patched, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(FieldManager))
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("publishing the caBundle to %s %s: %w", kind, target.GetName(), err)
		}
		injections.WithLabelValues(kind, target.GetName()).Inc()
		log.FromContext(ctx).Info("Published the caBundle", "kind", kind, "name", target.GetName(),
			"authorities", bytes.Count(bundle, []byte("BEGIN CERTIFICATE")))
	}
	return nil
}
