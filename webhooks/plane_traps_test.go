package webhooks

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// trap is an object that is stored though today's rules refuse it.
type trap struct {
	kind   schema.GroupKind
	name   string
	reason string
	raw    []byte
}

// traps are bad objects in v1. By default every fourth, which differ between runs; all of them with -objects 240 and more.
func traps(t testing.TB) []trap {
	t.Helper()
	var all []trap
	stride := max(1, 240 / *objects)
	for i, object := range badObjects(t) {
		if i%stride != 0 || strings.Contains(object.reason, "huge exponent") { // which no client could even decode
			continue
		}
		name := fmt.Sprintf("trap-%d", i)
		all = append(all, trap{object.kind, name, object.reason, merged(t, string(object.raw), `{"metadata": {"name": "`+name+`", "finalizers": ["`+hold+`"]}}`)})
	}
	return all
}

func storeTraps(t *testing.T, c *cluster) {
	t.Helper()
	for _, trap := range traps(t) {
		if err := c.create(t, trap.kind, "v1", trap.raw, false); err != nil {
			t.Fatalf("%s: %v", trap.reason, err)
		}
	}
}

// cannotScale are objects of which the API server does not let the spec be changed before they are put right: it
// ratchets what a field holds, not that a required one is missing; and these are about the number itself.
var cannotScale = []string{"no image", "zero replicas", "replicas of the wrong type", "eleven replicas"}

// testTraps: whatever is stored can be labelled, migrated, have its status written, be scaled and be deleted, in both versions.
func testTraps(t *testing.T, c *cluster) {
	all := traps(t)
	for i, trap := range all {
		version := versions[i%2]
		try := func(what, patch string, subresources ...string) {
			err := c.patch(t, trap.kind, version, trap.name, patch, subresources...)
			if err != nil && !(what == "scale" && slices.ContainsFunc(cannotScale, func(r string) bool { return strings.HasSuffix(trap.reason, r) })) {
				t.Errorf("%s in %s: %s: %v", trap.reason, version, what, err)
			}
		}
		try("no-op", `{}`)
		try("migration", `{"metadata": {"resourceVersion": "`+c.get(t, trap.kind, version, trap.name).GetResourceVersion()+`"}}`)
		try("label", `{"metadata": {"labels": {"a": "b"}}}`)
		try("status", `{"status": {"replicas": 1}}`, "status")
		try("scale", `{"spec": {"replicas": 3}}`, "scale")
		if err := c.of(trap.kind, version).Delete(t.Context(), trap.name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("%s in %s: delete: %v", trap.reason, version, err)
		}
		try("finalizer", `{"metadata": {"finalizers": null}}`)
		if _, err := c.of(trap.kind, "v1").Get(t.Context(), trap.name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("%s is still there: %v", trap.reason, err)
		}
	}
	t.Logf("%d objects", len(all))
}

// setTimeout shortens what the API server waits for our webhooks; what is shipped is in TestShippedWebhooks.
func (c *cluster) setTimeout(t *testing.T) {
	t.Helper()
	for resource, name := range webhookConfigurations {
		var patch []string
		for i := range 4 {
			patch = append(patch, fmt.Sprintf(`{"op": "replace", "path": "/webhooks/%d/timeoutSeconds", "value": 1}`, i))
		}
		gvr := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: resource}
		if _, err := c.client.Resource(gvr).Patch(t.Context(), name, types.JSONPatchType, []byte("["+strings.Join(patch, ",")+"]"), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

var webhookConfigurations = map[string]string{
	"mutatingwebhookconfigurations":   "mutating-webhook-configuration",
	"validatingwebhookconfigurations": "validating-webhook-configuration",
}

// testWebhooksHang: a webhook that takes the call and says nothing costs its timeout. Then v1 passes and v1alpha1 is refused.
func testWebhooksHang(t *testing.T, c *cluster) {
	c.setTimeout(t)
	c.server.CloseClientConnections()
	c.server.Close()
	silent, err := net.Listen("tcp", c.address) // connections are taken, and that is all
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		return c.create(t, podSet, "v1", named(t, base(t, podSet.WithVersion("v1")), "meanwhile"), true)
	})
	if err := c.create(t, podSet, "v1alpha1", named(t, base(t, podSet.WithVersion("v1alpha1")), "late"), true); err == nil {
		t.Error("a v1alpha1 object was accepted")
	}
	if err := silent.Close(); err != nil {
		t.Fatal(err)
	}
	c.startWebhooks(t)
}

// testWebhooksRemoved: without the webhooks, schema and CEL refuse every bad v1 object but those that only break rules
// listed as the webhook's. It comes last.
func testWebhooksRemoved(t *testing.T, c *cluster) {
	for resource, name := range webhookConfigurations {
		gvr := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: resource}
		if err := c.client.Resource(gvr).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for gk := range resources {
		eventually(t, func() error {
			return c.create(t, gk, "v1", base(t, gk.WithVersion("v1"), `{"spec": {"image": "Web App"}}`), true)
		})
	}
	r := rules(t)
	refused, passed := 0, 0
	for _, object := range badObjects(t) {
		listed := true
		errs := r.apply(kinds[object.kind], object.kind, object.raw)
		for _, err := range errs {
			listed = listed && slices.ContainsFunc(webhookRules, func(rule webhookRule) bool { return rule.fieldOf(err) != "" && !rule.backstop })
		}
		switch err := c.create(t, object.kind, "v1", object.raw, true); {
		case apierrors.IsInvalid(err):
			refused++
		case err != nil:
			t.Errorf("%s: %v", object.reason, err)
		case len(errs) > 0:
			passed++
			if !listed {
				t.Errorf("%s: passes, and %v is not listed as a rule of the webhook", object.reason, errs)
			}
		case object.bad && !strings.HasSuffix(object.reason, "budget"):
			t.Errorf("%s: passes, and no rule of the webhook is broken", object.reason)
		}
	}
	if refused < 50 || passed < 50 {
		t.Errorf("refused %d, passed %d", refused, passed)
	}
	t.Logf("schema and CEL refuse %d bad objects, %d break rules of the webhook alone", refused, passed)
}
