package webapp

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// settled is what is there once everything that w asks for was applied.
func settled(t testing.TB, w *appv1.WebApp) observed {
	t.Helper()
	o := observed{deployment: liveDeployment(t, w), service: asLive[corev1.Service](t, serviceFor(w))}
	if c := autoscalerFor(w); c != nil {
		o.autoscaler = asLive[autoscalingv2.HorizontalPodAutoscaler](t, c)
	}
	if c := budgetFor(w); c != nil {
		o.budget = asLive[policyv1.PodDisruptionBudget](t, c)
	}
	if c := ingressFor(w); c != nil {
		o.ingress = asLive[networkingv1.Ingress](t, c)
	}
	return o
}

func TestPlan(t *testing.T) {
	nobodys := func(object client.Object) { object.SetOwnerReferences(nil); object.SetLabels(nil) }
	now := metav1.NewTime(noon)
	tests := map[string]struct {
		reason string
		webapp []func(*appv1.WebApp)
		mutate func(*testing.T, *appv1.WebApp, *observed) // after everything was applied
		want   []string
	}{
		"W-01 nothing there": {
			reason: "both children are created, in this order",
			mutate: func(_ *testing.T, _ *appv1.WebApp, o *observed) { *o = observed{} },
			want:   []string{"Create Deployment my-app-deploy", "Create Service my-app-svc"},
		},
		"W-02 everything there": {
			reason: "nothing is sent",
			webapp: []func(*appv1.WebApp){everything},
			mutate: func(*testing.T, *appv1.WebApp, *observed) {},
		},
		"W-02 quantity in another spelling": {
			reason: "the API server keeps its own spelling",
			webapp: []func(*appv1.WebApp){everything},
			mutate: func(_ *testing.T, _ *appv1.WebApp, o *observed) {
				limits := o.deployment.Spec.Template.Spec.Containers[0].Resources.Limits
				limits[corev1.ResourceCPU] = *resource.NewMilliQuantity(2000, resource.DecimalSI)
			},
		},
		"W-02 defaults": {
			reason: "what the API server fills in is not ours",
			mutate: func(_ *testing.T, _ *appv1.WebApp, o *observed) {
				o.service.Spec.ClusterIP, o.service.Spec.SessionAffinity = "10.0.0.1", corev1.ServiceAffinityNone
				o.service.Spec.Ports[0].NodePort = 31000
				o.deployment.Spec.Template.Spec.DNSPolicy = corev1.DNSClusterFirst
			},
		},
		"W-03 other value": {
			reason: "the spec changed",
			mutate: func(_ *testing.T, w *appv1.WebApp, _ *observed) { w.Spec.Image = "web:2" },
			want:   []string{"Update Deployment my-app-deploy"},
		},
		"W-03 zero value taken": {
			reason: "paused: false is absent from the object, and so is its loss",
			mutate: func(t *testing.T, w *appv1.WebApp, o *observed) {
				config, err := deploymentFor(w, observed{})
				if err != nil {
					t.Fatal(err)
				}
				config.Spec.Paused = nil
				o.deployment.ManagedFields[0].FieldsV1 = fieldsOf(t, config)
				o.deployment.Spec.Paused = true
			},
			want: []string{"Update Deployment my-app-deploy"},
		},
		"W-11 foreign fields": {
			reason: "a sidecar and annotations are somebody else's",
			mutate: func(_ *testing.T, _ *appv1.WebApp, o *observed) {
				spec := &o.deployment.Spec.Template.Spec
				spec.Containers = append(spec.Containers, corev1.Container{Name: "proxy", Image: "proxy:1"})
				o.service.Annotations = map[string]string{"lb.example.com/id": "1"}
			},
		},
		"W-10 port": {
			reason: "the number of the port is part of the container too",
			mutate: func(_ *testing.T, w *appv1.WebApp, _ *observed) { w.Spec.Port = 8080 },
			want:   []string{"Update Deployment my-app-deploy", "Update Service my-app-svc"},
		},
		"W-07 nobody's": {
			reason: "an object without a controller and without our labels is a user's",
			mutate: func(_ *testing.T, _ *appv1.WebApp, o *observed) { nobodys(o.deployment); nobodys(o.service) },
			want:   []string{"NotOwned", "NotOwned"},
		},
		"W-09 same name, other UID": {
			reason: "ownership is by UID",
			mutate: func(_ *testing.T, _ *appv1.WebApp, o *observed) { o.deployment.OwnerReferences[0].UID = "older" },
			want:   []string{"NotOwned"},
		},
		"other UID, already leaving": {
			reason: "the garbage collector is at work after a delete and create",
			mutate: func(_ *testing.T, _ *appv1.WebApp, o *observed) {
				o.deployment.OwnerReferences[0].UID, o.deployment.DeletionTimestamp = "older", &now
			},
			want: []string{"NameTaken"},
		},
		"orphan": {
			reason: "a child without an owner that carries both labels is taken back",
			mutate: func(_ *testing.T, _ *appv1.WebApp, o *observed) { o.deployment.OwnerReferences = nil },
			want:   []string{"Adopt Deployment my-app-deploy"},
		},
		"orphan of another": {
			reason: "the label names another WebApp",
			mutate: func(_ *testing.T, _ *appv1.WebApp, o *observed) {
				o.deployment.OwnerReferences = nil
				o.deployment.Labels[appv1.LabelWebApp] = "other"
			},
			want: []string{"NotOwned"},
		},
		"own child leaving": {
			reason: "it cannot be repaired; it is created anew when it is gone",
			mutate: func(_ *testing.T, w *appv1.WebApp, o *observed) {
				o.deployment.DeletionTimestamp, w.Spec.Image = &now, "web:2"
			},
		},
		"W-08 no longer asked for": {
			reason: "our own are deleted",
			webapp: []func(*appv1.WebApp){ask},
			mutate: func(_ *testing.T, w *appv1.WebApp, _ *observed) { unask(w) },
			want:   []string{"Delete HorizontalPodAutoscaler my-app-hpa", "Delete PodDisruptionBudget my-app-pdb", "Delete Ingress my-app-ing"},
		},
		"W-08 not asked for, somebody else's": {
			reason: "theirs stay, and are no problem either",
			webapp: []func(*appv1.WebApp){ask},
			mutate: func(_ *testing.T, w *appv1.WebApp, o *observed) {
				unask(w)
				nobodys(o.autoscaler)
				nobodys(o.budget)
				nobodys(o.ingress)
			},
		},
		"W-15 suspend": {
			reason: "the autoscaler would wake it up",
			webapp: []func(*appv1.WebApp){ask},
			mutate: func(_ *testing.T, w *appv1.WebApp, _ *observed) { w.Spec.Suspend = true },
			want:   []string{"Update Deployment my-app-deploy", "Delete HorizontalPodAutoscaler my-app-hpa"},
		},
		"W-16 one replica": {
			reason: "a budget would block every drain",
			webapp: []func(*appv1.WebApp){ask},
			mutate: func(_ *testing.T, w *appv1.WebApp, _ *observed) { w.Spec.Replicas = new(int32(1)) },
			want:   []string{"Update Deployment my-app-deploy", "Delete PodDisruptionBudget my-app-pdb"},
		},
		"no image": {
			reason: "only an admission webhook could have stopped it; the Deployment is left as it is",
			mutate: func(_ *testing.T, w *appv1.WebApp, _ *observed) { w.Spec.Image, w.Spec.Port = "Web App:1", 81 },
			want:   []string{"InvalidSpec", "Update Service my-app-svc"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := stored(test.webapp...)
			o := settled(t, w)
			test.mutate(t, w, &o)
			p, err := planFor(w, o)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, problem := range p.problems {
				got = append(got, problem.reason)
			}
			for _, s := range p.steps {
				got = append(got, string(s.verb)+" "+s.kind+" "+s.name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", test.reason, diff)
			}
		})
	}
}

func TestReplicas(t *testing.T) {
	lost := func(t *testing.T, w *appv1.WebApp, d *appsv1.Deployment) {
		config, err := deploymentFor(w, observed{})
		if err != nil {
			t.Fatal(err)
		}
		config.Spec.Replicas = nil
		d.ManagedFields[0].FieldsV1 = fieldsOf(t, config)
		d.Spec.Replicas = new(int32(7))
	}
	tests := map[string]struct {
		reason  string
		webapp  func(*appv1.WebApp)
		mutate  func(*testing.T, *appv1.WebApp, *appsv1.Deployment)
		scalers []string
		want    *int32
	}{
		"spec":    {reason: "nobody else scales", want: new(int32(3))},
		"default": {reason: "unset is one", webapp: func(w *appv1.WebApp) { w.Spec.Replicas = nil }, want: new(int32(1))},
		"drift":   {reason: "a number set by hand is drift", mutate: lost, want: new(int32(3))},
		"W-05":    {reason: "an autoscaler scaled", mutate: lost, scalers: []string{"a"}, want: nil},
		"W-05 not yet": {reason: "an autoscaler is there and has not scaled: our number must not fall to the default",
			scalers: []string{"a"}, want: new(int32(3))},
		"W-05 suspended": {reason: "suspend is stronger", webapp: func(w *appv1.WebApp) { w.Spec.Suspend = true }, mutate: lost,
			scalers: []string{"a"}, want: new(int32(0))},
		"W-05 resumed": {reason: "an autoscaler does not scale up from our zero",
			mutate: func(_ *testing.T, _ *appv1.WebApp, d *appsv1.Deployment) { d.Spec.Replicas = new(int32(0)) }, scalers: []string{"a"}, want: new(int32(3))},
		"W-05 scaled to zero": {reason: "a zero of theirs is theirs",
			mutate: func(t *testing.T, w *appv1.WebApp, d *appsv1.Deployment) {
				lost(t, w, d)
				d.Spec.Replicas = new(int32(0))
			}, scalers: []string{"a"}, want: nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := stored()
			d := liveDeployment(t, w)
			if test.webapp != nil {
				test.webapp(w)
			}
			if test.mutate != nil {
				test.mutate(t, w, d)
			}
			got, err := replicasFor(w, observed{deployment: d, scalers: test.scalers})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", test.reason, diff)
			}
		})
	}
}

func TestNotOwnedNamesTheOwner(t *testing.T) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "x"}}
	want := problem{workloadv1.ReasonNotOwned, "The Deployment x exists and is not controlled by this WebApp. It is left alone."}
	if got := notOwned("Deployment", d); got != want {
		t.Errorf("got %+v", got)
	}
	d.OwnerReferences = []metav1.OwnerReference{{Kind: "WebApp", Name: "my-app", UID: "older", Controller: new(true)}}
	want.message = "The Deployment x exists and is controlled by WebApp my-app with the UID older, not by this WebApp. It is left alone."
	if got := notOwned("Deployment", d); got != want {
		t.Errorf("got %+v", got)
	}
}
