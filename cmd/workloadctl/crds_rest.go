package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/example/workload-operator/apis/app/v1"
)

// ownersSeen is how long a version must have been served before it may go, if owner references name it. The garbage collector of
// Kubernetes looks for new versions every 30 seconds and then lists their objects. Until it has, it asks for each owner; once
// the version is gone, the answer is "not found", and it deletes what the owner owns.
const ownersSeen = time.Minute

// ownersVersion is the one that the operator's owner references name, in both groups.
var ownersVersion = appv1.GroupVersion.Version

// rest waits until the changes put nothing at risk that owner references hold.
func (t *stepTaker) rest(ctx context.Context, w io.Writer, changes []*stepChange) error {
	var wait time.Duration
	for _, change := range changes {
		if least := change.rest(time.Now()); least > wait {
			owners, err := t.anyOwners(ctx, change.live)
			if err != nil {
				return err
			}
			if owners {
				wait = least
			}
		}
	}
	if wait == 0 {
		return nil
	}
	if _, err := fmt.Fprintf(w, "Waiting %s until the garbage collector has surely seen the owners of Deployments and Pods in %s\n",
		wait.Round(time.Second), ownersVersion); err != nil {
		return err
	}
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// anyOwners says whether there is an object of the kind.
func (t *stepTaker) anyOwners(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) (bool, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: crd.Spec.Group, Version: ownersVersion, Kind: crd.Spec.Names.ListKind})
	if err := t.client.List(ctx, list, client.Limit(1)); err != nil {
		return false, fmt.Errorf("looking for objects of %s: %w", crd.Name, err)
	}
	return len(list.Items) > 0, nil
}

// rest is how long the change has to wait. When a definition last changed is the time in its managedFields, by the clock of the
// API server; a clock that is behind it waits no longer than ownersSeen.
func (c *stepChange) rest(now time.Time) time.Duration {
	if c.live == nil || !serves(c.live, ownersVersion) || serves(c.next, ownersVersion) {
		return 0
	}
	var changed time.Time
	for _, entry := range c.live.ManagedFields {
		if entry.Subresource == "" && entry.Time != nil && entry.Time.After(changed) {
			changed = entry.Time.Time
		}
	}
	return min(max(changed.Add(ownersSeen).Sub(now), 0), ownersSeen)
}

func serves(crd *apiextensionsv1.CustomResourceDefinition, version string) bool {
	return slices.ContainsFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == version && v.Served
	})
}
