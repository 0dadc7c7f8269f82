package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const pollInterval = 50 * time.Millisecond

// newProbe returns a client for the health pages of every part. Etcd accepts any certificate of the authority, the
// administrator's too.
func newProbe(config *rest.Config) (*http.Client, error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("reading the certificates of the plane: %w", err)
	}
	transport := &http.Transport{TLSClientConfig: tlsConfig, DisableKeepAlives: true}
	return &http.Client{Transport: transport, Timeout: 5 * time.Second}, nil
}

// until polls check until it succeeds. stopped ends the wait early.
func until(ctx context.Context, stopped <-chan struct{}, check func(context.Context) error) error {
	ticks := time.NewTicker(pollInterval)
	defer ticks.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-stopped:
			return err
		case <-ticks.C:
		}
	}
}

// waitHealthy waits until a part reports health. The error of a part that died, or never came, carries its last words.
func (p *Plane) waitHealthy(ctx context.Context, part Part) error {
	p.mu.Lock()
	proc := p.processes[part]
	p.mu.Unlock()
	err := until(ctx, proc.done, func(ctx context.Context) error { return p.checkHealth(ctx, part) })
	if err == nil {
		return nil
	}
	if !proc.running() {
		return proc.died(p.Logs(part))
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return err // told to stop, so the part is not to blame
	}
	return fmt.Errorf("%s did not become healthy: %w; it said: %s", part, err, lastWords(p.Logs(part)))
}

func (p *Plane) checkHealth(ctx context.Context, part Part) error {
	return getOK(ctx, p.probe, healthURL(part, p.portOf(part)))
}

func getOK(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	if err != nil {
		return err
	}
	return fmt.Errorf("%s answers %s: %s", url, response.Status, failedChecks(string(body)))
}

// failedChecks picks the failing lines of a health page.
func failedChecks(body string) string {
	var failed []string
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "[-]") {
			failed = append(failed, strings.TrimSpace(line))
		}
	}
	if failed == nil {
		return strings.TrimSpace(body)
	}
	return strings.Join(failed, ", ")
}

func checkReachable(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	_, err = client.Discovery().RESTClient().Get().AbsPath("/version").DoRaw(ctx)
	return err
}

// waitCluster waits for what the parts create between them, after making the nodes.
func (p *Plane) waitCluster(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(p.config)
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	if slices.Contains(p.options.Parts, Kwok) {
		if err := createNodes(ctx, client, p.options.Nodes); err != nil {
			return err
		}
	}
	checks := []func(context.Context, kubernetes.Interface) error{checkDefaultNamespace}
	if slices.Contains(p.options.Parts, ControllerManager) {
		checks = append(checks, checkDefaultServiceAccount)
	}
	if slices.Contains(p.options.Parts, Kwok) {
		checks = append(checks, p.checkNodes)
	}
	for _, check := range checks {
		err := until(ctx, p.broken, func(ctx context.Context) error { return check(ctx, client) })
		if err == nil {
			continue
		}
		select {
		case died := <-p.failed:
			return died
		default:
			return fmt.Errorf("the cluster did not become ready: %w", err)
		}
	}
	return nil
}

func checkDefaultNamespace(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
	return err
}

func checkDefaultServiceAccount(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
	return err
}

// checkNodes wants every node ready and, where a controller manager removes it, free of the taint of new nodes: only
// then is the first Pod scheduled at once.
func (p *Plane) checkNodes(ctx context.Context, client kubernetes.Interface) error {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range nodes.Items {
		node := &nodes.Items[i]
		if !nodeReady(node) {
			return fmt.Errorf("node %s is not ready: %s", node.Name, lastWords(p.Logs(Kwok)))
		}
		if len(node.Spec.Taints) > 0 && slices.Contains(p.options.Parts, ControllerManager) {
			return fmt.Errorf("node %s still has taint %s", node.Name, node.Spec.Taints[0].Key)
		}
	}
	return nil
}

func nodeReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
