package migration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// definition is a CustomResourceDefinition as it was read.
type definition struct {
	*apiextensionsv1.CustomResourceDefinition
}

// read asks the API server, not a cache.
func (e *Engine) read(ctx context.Context, name string) (definition, error) {
	crd, err := e.definitions.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return definition{}, fmt.Errorf("reading CustomResourceDefinition %s: %w", name, err)
	}
	return definition{crd}, nil
}

// target is the storage version. Every definition has exactly one.
func (d definition) target() string {
	for _, v := range d.Spec.Versions {
		if v.Storage {
			return v.Name
		}
	}
	return ""
}

func (d definition) served(version string) bool {
	return slices.ContainsFunc(d.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == version && v.Served
	})
}

// others are the served versions except one.
func (d definition) others(version string) []string {
	var names []string
	for _, v := range d.Spec.Versions {
		if v.Served && v.Name != version {
			names = append(names, v.Name)
		}
	}
	return names
}

func (d definition) resource(version string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: d.Spec.Group, Version: version, Resource: d.Spec.Names.Plural}
}

// trimmed says that status.storedVersions names the storage version alone.
func (d definition) trimmed() bool {
	return slices.Equal(d.Status.StoredVersions, []string{d.target()})
}

// usable says why objects cannot be migrated with this definition, nil when they can.
func (d definition) usable() error {
	established := slices.ContainsFunc(d.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
	switch {
	case !established:
		return errors.New("the definition is not established: its status conditions say why")
	case !d.served(d.target()):
		return fmt.Errorf("the storage version %s is not served", d.target())
	case len(d.Spec.Versions) == 1:
		return nil
	}
	conversion := d.Spec.Conversion
	switch {
	case conversion == nil || conversion.Strategy != apiextensionsv1.WebhookConverter:
		// Without it the API server would only change the apiVersion, and prune what the other schema does not know.
		return errors.New("the definition has several versions but no conversion webhook: install the definitions of this release")
	case conversion.Webhook == nil || conversion.Webhook.ClientConfig == nil || len(conversion.Webhook.ClientConfig.CABundle) == 0:
		return errors.New("the caBundle of the conversion webhook is not published yet: the operator does that")
	}
	return nil
}

// mayStore says why a version cannot become the storage version, nil when it can.
func (d definition) mayStore(version string) error {
	if !slices.ContainsFunc(d.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version }) {
		return fmt.Errorf("CustomResourceDefinition %s has no version %s: install the definitions of a release that has it", d.Name, version)
	}
	if !d.served(version) {
		return fmt.Errorf("CustomResourceDefinition %s does not serve version %s: install the definitions of a release that serves it", d.Name, version)
	}
	return d.usable()
}

// changed is when the spec was changed for the last time at the latest, as far as managedFields tell; otherwise false.
func (d definition) changed() (time.Time, bool) {
	var latest time.Time
	for _, entry := range d.ManagedFields {
		if entry.Subresource == "" && entry.Manager != fieldManager && entry.Time != nil && entry.Time.After(latest) {
			latest = entry.Time.Time
		}
	}
	// The API server cuts off the fraction of the second.
	return latest.Add(time.Second), !latest.IsZero()
}

// record is what the latest run left, nil if there is none that can be read.
func (d definition) record() *Record { return RecordOf(d) }

func (d definition) status() *Status {
	s := &Status{CRD: d.Name, UID: d.UID, Target: d.target(), StoredVersions: d.Status.StoredVersions, Record: d.record()}
	s.Reason = d.pending(s.Record)
	s.Pending = s.Reason != ""
	return s
}

// pending says why a run is due, empty when none is.
func (d definition) pending(last *Record) string {
	if !d.trimmed() {
		others := slices.DeleteFunc(slices.Clone(d.Status.StoredVersions), func(name string) bool { return name == d.target() })
		return "objects may be stored in " + strings.Join(others, ", ") + "; a migration to " + d.target() + " rewrites them"
	}
	done := last != nil && last.Phase == PhaseDone && last.Target == d.target() && last.Generation == d.Generation
	for _, v := range d.Spec.Versions {
		if !v.Served && !done {
			return "version " + v.Name + " is not served any more, and managedFields may still name it; a migration to " + d.target() + " translates them"
		}
	}
	return ""
}
