package webapp

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

const image = "nginx:1.25"

// contender is one way to get an application running.
type contender struct {
	name string
	list client.ObjectList // of what becomes available
	// objects are what is created for an application.
	objects func(namespace, name string) []client.Object
	// available says whether an object of the list is.
	available func(client.Object) bool
}

var (
	ours  = contender{"webapp", &appv1.WebAppList{}, webApp, webAppAvailable}
	plain = contender{"pair", &appsv1.DeploymentList{}, pair, deploymentAvailable}
)

func webApp(namespace, name string) []client.Object {
	w := &appv1.WebApp{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	w.Spec.Image, w.Spec.Replicas, w.Spec.Port = image, new(int32(1)), 80
	return []client.Object{w}
}

func webAppAvailable(object client.Object) bool {
	w, ok := object.(*appv1.WebApp)
	if !ok || w.Status.ObservedGeneration != w.Generation {
		return false
	}
	for _, c := range w.Status.Conditions {
		if c.Type == workloadv1.ConditionAvailable {
			return c.Status == metav1.ConditionTrue
		}
	}
	return false
}

// pair is what a WebApp becomes.
func pair(namespace, name string) []client.Object {
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
	d.Spec.Replicas = new(int32(1))
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.AutomountServiceAccountToken = new(false)
	d.Spec.Template.Spec.SecurityContext = &corev1.PodSecurityContext{SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
	d.Spec.Template.Spec.Containers = []corev1.Container{{
		Name: "app", Image: image, Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 80}},
		SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false)},
	}}
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
	s.Spec.Selector = labels
	s.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(80)}}
	return []client.Object{d, s}
}

func deploymentAvailable(object client.Object) bool {
	d, ok := object.(*appsv1.Deployment)
	if !ok || d.Status.ObservedGeneration != d.Generation {
		return false
	}
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentAvailable {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// createAll creates the objects of count applications with as many workers as the operator has.
func createAll(ctx context.Context, c client.Client, k contender, namespace string, count int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(*workers)
	for i := range count {
		group.Go(func() error {
			for _, object := range k.objects(namespace, fmt.Sprintf("app-%d", i)) {
				if err := c.Create(ctx, object); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// awaitAll reads a watch until count objects are available.
func awaitAll(ctx context.Context, w watch.Interface, k contender, count int) error {
	defer w.Stop()
	available := map[string]bool{}
	for len(available) < count {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d are available: %w", len(available), count, ctx.Err())
		case event, open := <-w.ResultChan():
			object, ok := event.Object.(client.Object)
			if !open || !ok {
				return errors.New("the watch ended early")
			}
			if k.available(object) {
				available[object.GetName()] = true
			}
		}
	}
	return nil
}
