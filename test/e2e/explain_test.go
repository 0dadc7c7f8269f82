package e2e

import (
	"strings"
	"testing"
)

// TestExplain checks what kubectl shows of the API: a description of every field of ours, columns and short names.
func TestExplain(t *testing.T) {
	c := connect(t)
	for resource, apiVersion := range map[string]string{
		webAppV1: "app.example.com/v1", webAppV1alpha1: "app.example.com/v1alpha1",
		podSetV1: "batch.example.com/v1", podSetV1alpha1: "batch.example.com/v1alpha1",
	} {
		plural, _, _ := strings.Cut(resource, ".")
		for _, part := range []string{"spec", "status"} {
			t.Run(apiVersion+" "+plural+" "+part, func(t *testing.T) {
				out := c.must("", "explain", plural+"."+part, "--api-version="+apiVersion)
				if strings.Contains(out, "<no description>") || !strings.Contains(out, "FIELDS:") {
					t.Errorf("a field has no description:\n%s", out)
				}
			})
		}
	}
}

// TestColumns checks the columns of kubectl get, in both versions, under the short names and the categories.
func TestColumns(t *testing.T) {
	c := connect(t)
	c.must(webApp("x", 1), "apply", "-f", "-")
	c.must(podSet("x", 1), "apply", "-f", "-")
	for args, want := range map[string]string{
		"wa":           "NAME IMAGE REPLICAS AVAILABLE PHASE AGE",
		"wa -o wide":   "NAME IMAGE REPLICAS AVAILABLE PHASE AGE REASON URL",
		webAppV1alpha1: "NAME IMAGE TAG INSTANCES AVAILABLE STATE AGE",
		"ps":           "NAME REPLICAS READY AVAILABLE REASON AGE",
		podSetV1alpha1: "NAME SIZE READY AVAILABLE REASON AGE",
	} {
		header, _, _ := strings.Cut(c.must("", append([]string{"get"}, strings.Fields(args)...)...), "\n")
		if got := strings.Join(strings.Fields(header), " "); got != want {
			t.Errorf("kubectl get %s: got columns %q, want %q", args, got, want)
		}
	}
	if out := c.must("", "get", "workloads", "-o", "name"); !strings.Contains(out, "webapp") || !strings.Contains(out, "podset") {
		t.Errorf("kubectl get workloads: %s", out)
	}
}
