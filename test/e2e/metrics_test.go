package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/workload-operator/test/monitoring"
)

const metricsReader = "workload-operator-metrics-reader"

// TestMetrics asks a running operator for its metrics, as docs/operate.md says, and holds what it shows to docs/metrics.md.
func TestMetrics(t *testing.T) {
	c := connect(t)
	c.must("", "create", "serviceaccount", "scraper")
	token := c.must("", "create", "token", "scraper")
	// A replica is ready before it opens the port of its metrics.
	c.Eventually(func() int { return c.status("") }, patience, interval).Should(gomega.Not(gomega.BeZero()))
	c.Expect(c.status("")).To(gomega.Equal(http.StatusUnauthorized), "without a token")
	c.Expect(c.status(token)).To(gomega.Equal(http.StatusForbidden), "without the right")
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: c.namespace + "-scraper"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: metricsReader},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: c.namespace, Name: "scraper"}},
	}
	c.Expect(c.client.Create(t.Context(), binding)).To(gomega.Succeed())
	t.Cleanup(func() { c.Expect(c.client.Delete(context.WithoutCancel(t.Context()), binding)).To(gomega.Succeed()) })
	// A refusal is remembered for some seconds, by token.
	token = c.must("", "create", "token", "scraper")
	c.Eventually(func() int { return c.status(token) }, patience, interval).Should(gomega.Equal(http.StatusOK))
	plain, err := http.Get(strings.Replace(c.operator.MetricsURL(), "https:", "http:", 1))
	c.Expect(err).NotTo(gomega.HaveOccurred())
	plain.Body.Close()
	c.Expect(plain.StatusCode).To(gomega.Equal(http.StatusBadRequest), "by HTTP")

	c.stir("s3cret")
	families := func() map[string]*monitoring.Family { return c.scrape(token) }
	c.Eventually(func() []string { return missing(families(), "workload_operator_drift_repaired_total") }, patience, interval).Should(gomega.BeEmpty())
	scraped := families()
	// Those that show only after what a test cannot do here are held to their page by cmd/manager.
	c.Expect(missing(scraped, "workload_operator_build_info", "workload_operator_objects", "workload_operator_objects_conversion_degraded",
		"workload_operator_podsets_backing_off", "workload_operator_child_writes_total", "workload_operator_conversion_duration_seconds",
		"workload_operator_admission_duration_seconds", "workload_operator_admission_refusals_total", "workload_operator_admission_warnings_total",
		"workload_operator_certificate_expiry_timestamp_seconds", "workload_operator_migration_pending", "leader_election_master_status")).To(gomega.BeEmpty())
	checkDocumented(t, scraped)
	checkLabels(t, scraped, "s3cret", c.namespace)
}

// status is how the metrics endpoint answers.
func (c *cluster) status(token string) int {
	response, err := c.metrics(token)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	return response.StatusCode
}

func (c *cluster) metrics(token string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.operator.MetricsURL(), nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	return (&http.Client{Transport: transport}).Do(request)
}

// scrape reads the metrics as Prometheus would, and finds no fault with how those of the operator are named and described.
func (c *cluster) scrape(token string) map[string]*monitoring.Family {
	c.t.Helper()
	response, err := c.metrics(token)
	c.Expect(err).NotTo(gomega.HaveOccurred())
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	c.Expect(err).NotTo(gomega.HaveOccurred())
	problems, err := promlint.New(bytes.NewReader(body)).Lint()
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Expect(slices.DeleteFunc(problems, func(p promlint.Problem) bool { return !strings.HasPrefix(p.Metric, monitoring.Prefix) })).To(gomega.BeEmpty())
	return monitoring.Parse(string(body))
}

// stir does what metrics count, with objects of this name: both kinds and versions, drift, a refusal.
func (c *cluster) stir(name string) {
	c.t.Helper()
	for i := range 3 {
		c.must(fmt.Sprintf(`{"apiVersion": "app.example.com/v1", "kind": "WebApp", "metadata": {"name": "%s-%d"}, "spec": {"image": "nginx"}}`, name, i), "apply", "-f", "-")
		c.must(fmt.Sprintf(`{"apiVersion": "batch.example.com/v1alpha1", "kind": "PodSet", "metadata": {"name": "%s-%d"}, "spec": {"container": {"image": "nginx:1"}}}`, name, i), "apply", "-f", "-")
	}
	for i := range 3 {
		c.ready(webAppV1, fmt.Sprintf("%s-%d", name, i))
		c.ready(podSetV1, fmt.Sprintf("%s-%d", name, i))
	}
	c.must("", "delete", "deployment", name+"-0-deploy")
	_, err := c.kubectl(fmt.Sprintf(`{"apiVersion": "app.example.com/v1", "kind": "WebApp", "metadata": {"name": %q}, "spec": {"image": "N O", "podLabels": {"%[1]s one": "x"}}}`, name), "apply", "-f", "-")
	c.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("spec.image")))
}

func missing(families map[string]*monitoring.Family, names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return families[name] != nil })
}

// checkDocumented wants every metric that is listed to be as it is listed, and every one of the operator's to be listed.
func checkDocumented(t *testing.T, families map[string]*monitoring.Family) {
	t.Helper()
	documented, err := monitoring.Documented(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for name, family := range families {
		want, listed := documented[name]
		if !listed {
			if strings.HasPrefix(name, monitoring.Prefix) {
				t.Errorf("docs/metrics.md does not list %s", name)
			}
			continue
		}
		got := monitoring.Metric{Name: name, Type: family.Type, Meaning: want.Meaning}
		for label := range family.Series[0] {
			got.Labels = append(got.Labels, label)
		}
		if strings.HasPrefix(name, monitoring.Prefix) {
			got.Meaning = family.Help
		}
		slices.Sort(want.Labels)
		slices.Sort(got.Labels)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-docs/metrics.md +scraped):\n%s", name, diff)
		}
	}
	for name := range documented {
		if !strings.HasPrefix(name, monitoring.Prefix) && families[name] == nil {
			t.Errorf("docs/metrics.md lists %s, which the operator does not show", name)
		}
	}
}

// checkLabels: no name of an object or a namespace is a label of any metric, and there are not many series.
func checkLabels(t *testing.T, families map[string]*monitoring.Family, names ...string) {
	t.Helper()
	series := 0
	for name, family := range families {
		if strings.HasPrefix(name, monitoring.Prefix) {
			series += len(family.Series)
		}
		for _, labels := range family.Series {
			for label, value := range labels {
				if slices.ContainsFunc(names, func(private string) bool { return strings.Contains(value, private) }) {
					t.Errorf("%s has the label %s=%q", name, label, value)
				}
			}
		}
	}
	if series > 1500 {
		t.Errorf("%d series of the operator's, buckets included", series)
	}
	t.Log(series, "series of the operator's")
}
