package migration

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// base is a definition at step R3, migrated.
func base() *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: crdName, Generation: 3},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "webapps", Kind: "WebApp"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				{Name: "v1alpha1", Served: true}, {Name: "v1", Served: true, Storage: true},
			},
			Conversion: &apiextensionsv1.CustomResourceConversion{
				Strategy: apiextensionsv1.WebhookConverter,
				Webhook:  &apiextensionsv1.WebhookConversion{ClientConfig: &apiextensionsv1.WebhookClientConfig{CABundle: []byte("x")}},
			},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{
			StoredVersions: []string{"v1"},
			Conditions:     []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}},
		},
	}
}

func TestDefinition(t *testing.T) {
	record := func(text string) func(*apiextensionsv1.CustomResourceDefinition) {
		return func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions[0].Served = false
			crd.Annotations = map[string]string{AnnotationRecord: text}
		}
	}
	tests := map[string]struct {
		mutate  func(*apiextensionsv1.CustomResourceDefinition)
		usable  string // what is wrong, empty for nothing
		pending string
	}{
		"Migrated": {func(*apiextensionsv1.CustomResourceDefinition) {}, "", ""},
		"Mixed": {func(c *apiextensionsv1.CustomResourceDefinition) {
			c.Status.StoredVersions = []string{"v1alpha1", "v1"}
		}, "", "may be stored in v1alpha1; a migration to v1 rewrites them"},
		"NoStanza": {func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Conversion = nil }, "no conversion webhook", ""},
		"None":     {func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Conversion.Strategy = "None" }, "no conversion webhook", ""},
		"NoBundle": {func(c *apiextensionsv1.CustomResourceDefinition) {
			c.Spec.Conversion.Webhook.ClientConfig.CABundle = nil
		}, "caBundle", ""},
		"Pending":  {func(c *apiextensionsv1.CustomResourceDefinition) { c.Status.Conditions = nil }, "not established", ""},
		"Unserved": {func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Versions[1].Served = false }, "v1 is not served", "v1 is not served any more"},
		"One": {func(c *apiextensionsv1.CustomResourceDefinition) {
			c.Spec.Versions, c.Spec.Conversion = c.Spec.Versions[1:], nil
		}, "", ""},
		"R4":        {record(""), "", "managedFields may still name it"},
		"R4Garbage": {record("{"), "", "managedFields may still name it"},
		"R4Before":  {record(`{"phase":"Done","target":"v1","generation":2}`), "", "managedFields may still name it"},
		"R4Failed":  {record(`{"phase":"Incomplete","target":"v1","generation":3}`), "", "managedFields may still name it"},
		"R4Done":    {record(`{"phase":"Done","target":"v1","generation":3}`), "", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := definition{base()}
			tc.mutate(d.CustomResourceDefinition)
			usable := ""
			if err := d.usable(); err != nil {
				usable = err.Error()
			}
			if (usable == "") != (tc.usable == "") || !strings.Contains(usable, tc.usable) {
				t.Errorf("usable: %q, want %q in it", usable, tc.usable)
			}
			status := d.status()
			if status.Pending != (tc.pending != "") || !strings.Contains(status.Reason, tc.pending) {
				t.Errorf("pending: %q, want %q in it", status.Reason, tc.pending)
			}
		})
	}
}

// The settle delay counts from the latest change of the spec, or from when it was seen if nobody knows; a record of ours is no change.
func TestSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		e := &Engine{options: Options{SettleDelay: time.Minute}}
		at := func(manager string, ago time.Duration, subresource string) metav1.ManagedFieldsEntry {
			return metav1.ManagedFieldsEntry{Manager: manager, Time: &metav1.Time{Time: now.Add(-ago)}, Subresource: subresource}
		}
		for name, tc := range map[string]struct {
			entries []metav1.ManagedFieldsEntry
			seen    time.Duration
			want    string
		}{
			"Unknown":  {nil, 10 * time.Second, "50s left"},
			"Long":     {[]metav1.ManagedFieldsEntry{at("helm", time.Hour, "")}, 0, ""},
			"Recent":   {[]metav1.ManagedFieldsEntry{at("helm", time.Hour, ""), at("kubectl", 21*time.Second, "")}, 0, "40s left"},
			"Record":   {[]metav1.ManagedFieldsEntry{at("helm", time.Hour, ""), at(fieldManager, time.Second, "")}, 0, ""},
			"Rollback": {[]metav1.ManagedFieldsEntry{at("helm", time.Hour, ""), at(specManager, time.Second, "")}, 0, "1m0s left"},
			"Status":   {[]metav1.ManagedFieldsEntry{at("helm", time.Hour, ""), at("kube-apiserver", time.Second, "status")}, 0, ""},
			"Future":   {[]metav1.ManagedFieldsEntry{at("helm", -time.Hour, "")}, 10 * time.Second, "50s left"},
		} {
			d := definition{base()}
			d.ManagedFields = tc.entries
			got := ""
			if err := e.settled(d, now.Add(-tc.seen)); err != nil {
				got = err.Error()
			}
			if (got == "") != (tc.want == "") || !strings.HasSuffix(got, tc.want) {
				t.Errorf("%s: %q, want %q", name, got, tc.want)
			}
		}
	})
}
