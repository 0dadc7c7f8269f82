package webapp

import (
	"flag"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/example/workload-operator/apis/app/v1"
)

var (
	idleApps = flag.Int("idle-apps", 20, "WebApps that TestIdle watches")
	idleFor  = flag.Duration("idle-for", defaultIdle, "how long TestIdle watches them")
)

const defaultIdle = 3 * time.Second

// TestIdle is W-02 and W-11 for many WebApps and for as long as asked: nobody changes anything of ours, and no request is
// sent and no object changes. Every other WebApp has fields of somebody else in its children.
func TestIdle(t *testing.T) {
	p := newPlace(t)
	patience := 30*time.Second + time.Duration(*idleApps)*time.Second
	for i := range *idleApps {
		w := sample()
		w.Name, w.Spec.Replicas = fmt.Sprintf("app-%d", i), new(int32(1))
		p.create(w)
	}
	p.Eventually(p.running, patience, time.Second).Should(Equal(*idleApps))
	for i := 0; i < *idleApps; i += 2 {
		p.meddle(fmt.Sprintf("app-%d", i))
	}
	p.Eventually(p.rolledOut, patience, time.Second).Should(Equal(*idleApps))
	p.settles()

	before := p.state()
	start := p.now()
	timer := time.NewTimer(*idleFor)
	defer timer.Stop()
	<-timer.C
	p.Expect(p.requests(start)).To(BeEmpty())
	p.Expect(p.state()).To(Equal(before))
	t.Logf("%d WebApps for %s: no request, no change", *idleApps, *idleFor)
}

// meddle does what cloud controllers and meshes do to the children of a WebApp.
func (p *place) meddle(name string) {
	p.t.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name + appv1.ServiceSuffix}}
	p.patch(service, `{"metadata":{"annotations":{"lb.example.com/id":"1"}}}`)
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name + appv1.DeploymentSuffix, Namespace: p.namespace}}
	p.Expect(p.client.Patch(p.ctx, deployment, client.RawPatch(types.StrategicMergePatchType, []byte(`{"spec":{"template":{
		"metadata":{"annotations":{"mesh.example.com/injected":"true"}},"spec":{"containers":[{"name":"proxy","image":"proxy:1"}]}}}}`)))).To(Succeed())
}

// running counts the WebApps that are Running for their present generation.
func (p *place) running() (int, error) {
	var list appv1.WebAppList
	if err := p.client.List(p.ctx, &list, client.InNamespace(p.namespace)); err != nil {
		return 0, err
	}
	count := 0
	for _, w := range list.Items {
		if w.Status.Phase == appv1.PhaseRunning && w.Status.ObservedGeneration == w.Generation {
			count++
		}
	}
	return count, nil
}

// rolledOut counts the WebApps that are Running and whose Deployments are complete.
func (p *place) rolledOut() (int, error) {
	var list appsv1.DeploymentList
	if err := p.client.List(p.ctx, &list, client.InNamespace(p.namespace)); err != nil {
		return 0, err
	}
	count, err := p.running()
	for i := range list.Items {
		if !complete(&list.Items[i]) {
			count--
		}
	}
	return count, err
}

// state is the resourceVersion of every WebApp, Deployment and Service.
func (p *place) state() map[string]string {
	p.t.Helper()
	versions := map[string]string{}
	for _, list := range []client.ObjectList{&appv1.WebAppList{}, &appsv1.DeploymentList{}, &corev1.ServiceList{}} {
		p.Expect(p.client.List(p.ctx, list, client.InNamespace(p.namespace))).To(Succeed())
		p.Expect(meta.EachListItem(list, func(o runtime.Object) error {
			object, err := meta.Accessor(o)
			if err == nil {
				versions[fmt.Sprintf("%T %s", o, object.GetName())] = object.GetResourceVersion()
			}
			return err
		})).To(Succeed())
	}
	return versions
}
