package checkup

import (
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/controllers/migration"
)

// seen is all that the judges know.
type seen struct {
	now     time.Time
	release string

	definitions []*definition
	// service is the Service of the webhooks. live is nil if there is none of that name.
	service types.NamespacedName
	live    *corev1.Service
	// elsewhere is the Service of webhooks in another namespace than was asked for, where that has none.
	elsewhere types.NamespacedName

	validating *admissionv1.ValidatingWebhookConfiguration
	mutating   *admissionv1.MutatingWebhookConfiguration

	secretName string
	secret     *corev1.Secret
	// secretHidden says that it is unknown whether there is a Secret.
	secretHidden bool

	deployment *appsv1.Deployment
	// deploymentHidden says that it is unknown whether there is a Deployment.
	deploymentHidden bool
	pods             []*corev1.Pod

	// outside says why the manager is taken to run outside of the cluster, empty if it is not. url is where its webhooks are called then,
	// if that is not through the Service.
	outside, url string

	denied []deniedRole
	// guarded says that the guard is in force.
	guarded, guardHidden bool
}

// definition is a CustomResourceDefinition of ours.
type definition struct {
	// want is what this release ships for the step that live is at, or R3.
	want *apiextensionsv1.CustomResourceDefinition
	live *apiextensionsv1.CustomResourceDefinition // nil if there is none
	step config.Step

	migration *migration.Status
	// plan names who refuses; nil if nobody was asked.
	plan *migration.Report
	// bindings are those of policies, by name, if somebody refuses.
	bindings map[string]binding
	// unreachable is why the webhooks could not be called for this kind.
	unreachable error
}

func (d *definition) object() string { return "CustomResourceDefinition " + d.want.Name }

func (d *definition) stanza() *apiextensionsv1.WebhookClientConfig {
	if d.live == nil || d.live.Spec.Conversion == nil || d.live.Spec.Conversion.Webhook == nil {
		return nil
	}
	return d.live.Spec.Conversion.Webhook.ClientConfig
}

// served are the names of the versions that live serves, and storage the one that it stores.
func (d *definition) served() (names []string, storage string) {
	if d.live == nil {
		return nil, ""
	}
	for _, version := range d.live.Spec.Versions {
		if version.Served {
			names = append(names, version.Name)
		}
		if version.Storage {
			storage = version.Name
		}
	}
	return names, storage
}

// certificateMode is who makes the certificate, as far as Secret and Deployment show: see webhooks/certs.
func (s *seen) certificateMode() string {
	mode := s.argument("certificate-mode")
	switch {
	case mode != "" && mode != "auto":
		return mode
	case s.secret == nil:
		return "self-managed"
	case s.secret.Annotations["cert-manager.io/certificate-name"] != "":
		return "cert-manager"
	case s.secret.Labels["app.kubernetes.io/managed-by"] == "workload-operator", len(s.secret.Data["ca.key"]) > 0:
		return "self-managed"
	}
	return "provided"
}

// argument is the value of a flag of the manager, empty if it is not given.
func (s *seen) argument(flag string) string {
	for _, arg := range managerOf(s.deployment).Args {
		if value, found := strings.CutPrefix(arg, "--"+flag+"="); found {
			return value
		}
	}
	return ""
}

// managerOf is the container of the manager, empty if it cannot be told.
func managerOf(deployment *appsv1.Deployment) corev1.Container {
	if deployment == nil {
		return corev1.Container{}
	}
	for _, container := range deployment.Spec.Template.Spec.Containers {
		if container.Name == "manager" {
			return container
		}
	}
	return corev1.Container{}
}

func nameOf(kind string, object client.Object) string {
	return kind + " " + client.ObjectKeyFromObject(object).String()
}

// bundle is one caBundle of an object.
type bundle struct {
	webhook string // empty for the conversion stanza
	index   int
	pem     []byte
}

// trusting is an object that holds caBundles.
type trusting struct {
	kind    string // as kubectl takes it
	object  client.Object
	bundles []bundle
}

func (s *seen) trusting() []trusting {
	var all []trusting
	for _, d := range s.definitions {
		if stanza := d.stanza(); stanza != nil && d.live.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter {
			all = append(all, trusting{"CustomResourceDefinition", d.live, []bundle{{pem: stanza.CABundle}}})
		}
	}
	if s.validating != nil {
		t := trusting{kind: "ValidatingWebhookConfiguration", object: s.validating}
		for i, w := range s.validating.Webhooks {
			t.bundles = append(t.bundles, bundle{w.Name, i, w.ClientConfig.CABundle})
		}
		all = append(all, t)
	}
	if s.mutating != nil {
		t := trusting{kind: "MutatingWebhookConfiguration", object: s.mutating}
		for i, w := range s.mutating.Webhooks {
			t.bundles = append(t.bundles, bundle{w.Name, i, w.ClientConfig.CABundle})
		}
		all = append(all, t)
	}
	return all
}
