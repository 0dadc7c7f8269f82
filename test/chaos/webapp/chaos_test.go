package webapp

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	"github.com/example/workload-operator/test/controlplane"
)

// TestKilled kills the operator at random moments of a churn, and once the API server, and then compares the cluster with
// the last acknowledged write of each WebApp.
func TestKilled(t *testing.T) {
	from := cmp.Or(*seed, time.Now().UnixNano())
	t.Logf("seed %d: -seed=%d makes the same choices", from, from)
	a := open(t)
	stop := make(chan struct{})
	group, ctx := errgroup.WithContext(t.Context())
	var churners []*churner
	for i := range *workers {
		c := &churner{client: a.client, namespace: a.namespace, wishes: map[string]*wish{},
			random: rand.New(rand.NewPCG(uint64(from), uint64(i)))}
		for j := range *names {
			c.names = append(c.names, fmt.Sprintf("app-%d-%d", i, j))
		}
		churners = append(churners, c)
		group.Go(func() error { return c.run(ctx, stop) })
	}
	group.Go(func() error {
		defer close(stop)
		return a.kill(ctx, rand.New(rand.NewPCG(uint64(from), uint64(*workers))))
	})
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	wishes, writes := map[string]*wish{}, 0
	for _, c := range churners {
		maps.Copy(wishes, c.wishes)
		writes += c.writes
	}
	maps.DeleteFunc(wishes, func(_ string, w *wish) bool { return w == nil })
	t.Logf("%d kills, %d writes; %d WebApps remain", *kills, writes, len(wishes))
	a.Eventually(func() string { return a.difference(wishes) }, patience, 500*time.Millisecond).Should(gomega.BeEmpty())
	a.staysSo(wishes)
}

// kill ends the operator again and again, after anything from no time to two seconds, and once the API server.
func (a *arena) kill(ctx context.Context, random *rand.Rand) error {
	for i := range *kills {
		timer := time.NewTimer(time.Duration(random.Int64N(int64(2 * time.Second))))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
		if i == *kills/2 {
			if err := a.plane.Restart(ctx, controlplane.APIServer); err != nil {
				return err
			}
		}
		a.operator.Kill()
		if err := a.operator.Start(ctx); err != nil {
			return fmt.Errorf("starting the operator after kill %d: %w", i+1, err)
		}
	}
	return nil
}

// staysSo checks that the end is one: nothing changes any more.
func (a *arena) staysSo(wishes map[string]*wish) {
	a.t.Helper()
	versions := a.versions()
	a.Consistently(func() string { return a.difference(wishes) }, 3*time.Second, 500*time.Millisecond).Should(gomega.BeEmpty())
	if diff := gocmp.Diff(versions, a.versions()); diff != "" {
		a.t.Errorf("Deployments changed after the end (-before, +after):\n%s", diff)
	}
}

func (a *arena) versions() map[string]string {
	a.t.Helper()
	versions := map[string]string{}
	var list appsv1.DeploymentList
	a.Expect(a.client.List(a.t.Context(), &list, client.InNamespace(a.namespace))).To(gomega.Succeed())
	for _, d := range list.Items {
		versions[d.Name] = d.ResourceVersion
	}
	return versions
}

// app is all there is of a WebApp, in words, so that a difference can be read.
type app struct {
	Phase      appv1.Phase
	Deployment string
	Service    string
	Budget     string
	Pods       []string // images
}

// difference compares the cluster with the wishes; empty means that they agree.
func (a *arena) difference(wishes map[string]*wish) string {
	want := map[string]app{}
	for name, w := range wishes {
		one := app{Phase: appv1.PhaseRunning, Deployment: fmt.Sprintf("%d of %s on %d", w.replicas, w.image, w.port), Service: fmt.Sprintf("[%d]", w.port)}
		if w.budget && w.replicas > 1 {
			one.Budget = "1"
		}
		one.Pods = slices.Repeat([]string{w.image}, int(w.replicas))
		want[name] = one
	}
	got, err := a.observe()
	if err != nil {
		return err.Error()
	}
	return gocmp.Diff(want, got)
}

// census sorts what is in the namespace by the WebApp that controls it.
type census struct {
	found  map[string]app
	owners map[string]string // names of WebApps by the UID of the WebApp, and of what it controls
}

// observe reads everything in the namespace. What no WebApp controls by UID is found under the name of its kind.
func (a *arena) observe() (map[string]app, error) {
	var (
		webApps     appv1.WebAppList
		deployments appsv1.DeploymentList
		replicaSets appsv1.ReplicaSetList
		services    corev1.ServiceList
		budgets     policyv1.PodDisruptionBudgetList
		pods        corev1.PodList
	)
	for _, list := range []client.ObjectList{&webApps, &deployments, &replicaSets, &services, &budgets, &pods} {
		if err := a.client.List(a.t.Context(), list, client.InNamespace(a.namespace)); err != nil {
			return nil, err
		}
	}
	c := &census{found: map[string]app{}, owners: map[string]string{}}
	for _, w := range webApps.Items {
		one := app{}
		if w.Status.ObservedGeneration == w.Generation {
			one.Phase = w.Status.Phase
		}
		c.found[w.Name], c.owners[string(w.UID)] = one, w.Name
	}
	for _, d := range deployments.Items {
		container := d.Spec.Template.Spec.Containers[0]
		c.add("Deployment", &d, func(one *app) {
			one.Deployment += fmt.Sprintf("%d of %s on %d", *d.Spec.Replicas, container.Image, container.Ports[0].ContainerPort)
		})
	}
	for _, r := range replicaSets.Items {
		c.add("ReplicaSet", &r, func(*app) {})
	}
	for _, s := range services.Items {
		c.add("Service", &s, func(one *app) {
			for _, port := range s.Spec.Ports {
				one.Service += fmt.Sprintf("[%d]", port.Port)
			}
		})
	}
	for _, b := range budgets.Items {
		c.add("PodDisruptionBudget", &b, func(one *app) { one.Budget += b.Spec.MaxUnavailable.String() })
	}
	for _, pod := range pods.Items {
		c.add("Pod", &pod, func(one *app) { one.Pods = append(one.Pods, pod.Spec.Containers[0].Image) })
	}
	return c.found, nil
}

// add counts an object for the WebApp that controls it, or else as an orphan.
func (c *census) add(kind string, object client.Object, count func(*app)) {
	name, known := "", false
	if owner := metav1.GetControllerOf(object); owner != nil {
		name, known = c.owners[string(owner.UID)]
	}
	if !known {
		name = "orphaned " + kind + " " + object.GetName()
	}
	one := c.found[name]
	count(&one)
	c.found[name] = one
	c.owners[string(object.GetUID())] = name
}
