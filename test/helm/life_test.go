package helm

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/workload-operator/test/controlplane"
)

// O-08, O-09, O-10: the life of a release by server-side apply, which is helm's way, under another name in another namespace. It
// begins at a step that stores v1alpha1 and ends there, so that the hook has something to migrate. Its first chart has fewer values.
// Then the operator comes again.
func TestLife(t *testing.T) {
	s := attach(t)
	const release, namespace, service = "team", "elsewhere", "team-workload-operator-webhook-service"
	s.namespace(t, namespace)
	with := func(args ...string) []string { return append(args, "-n", namespace, "--set", "replicas=1", "--wait") }

	s.helm(t, with("install", release, s.first(t), "--set", "crds.step=R2")...)
	s.works(t, service, namespace)
	s.stores(t, older)
	s.objects(t, "shop")
	before := s.identities(t, "shop")

	// The first upgrade is to another release of the operator, with the values of the chart before and nothing else.
	next := s.released(t, "0.2.0")
	s.helm(t, with("upgrade", release, next, "--reuse-values", "--set", "crds.step=R3")...)
	s.works(t, service, namespace)
	s.stores(t, newer)
	s.steady(t, with("upgrade", release, next, "--set", "crds.step=R3"))
	s.works(t, service, namespace)

	s.helm(t, "rollback", release, "1", "-n", namespace, "--wait")
	s.works(t, service, namespace)
	s.stores(t, older)
	s.unmoved(t, "shop", before)

	s.refusesStrangers(t, namespace)
	s.staysWhenRefused(t, release, namespace)
	s.works(t, service, namespace)
	s.helm(t, "uninstall", release, "-n", namespace)
	s.gone(t)
	s.independent(t)
	s.unmoved(t, "shop", before)

	s.again(t)
}

// again installs by client-side apply, under the default name. It goes on with a certificate from somebody else, which the operator may
// not write, and ends without the hook.
func (s *site) again(t *testing.T) {
	const release, namespace, service = "workload-operator", "workload-operator-system", "workload-operator-webhook-service"
	s.namespace(t, namespace)
	with := func(args ...string) []string { return append(args, "-n", namespace, "--set", "replicas=1", "--wait") }
	before := s.identities(t, "shop")

	// The definitions that the release of another name has left behind are taken over. Nothing restarts.
	s.helm(t, with("install", release, s.chart, "--server-side=false", "--take-ownership")...)
	s.works(t, service, namespace)
	s.unmoved(t, "shop", before)

	s.provide(t, namespace, service, "my-certificate")
	provided := with("upgrade", release, s.chart, "--set", "certificates.mode=provided", "--set", "certificates.secretName=my-certificate")
	s.helm(t, provided...)
	s.works(t, service, namespace)
	s.steady(t, provided)
	s.helm(t, "rollback", release, "1", "-n", namespace, "--wait")
	s.works(t, service, namespace)
	s.unmoved(t, "shop", before)

	s.migrated(t)
	s.step(t, release, namespace)
	s.shard(t, release, namespace)
	s.works(t, service, namespace)

	// cert-manager is not here, so the new replica waits for its certificate, and the one before goes on to serve.
	s.foreignKinds(t)
	s.helm(t, "upgrade", release, s.chart, "-n", namespace, "--set", "certificates.mode=cert-manager", "--set", "replicas=1", "--wait=false")
	s.works(t, service, namespace)

	// What is stored as v1 needs nobody. v1alpha1 does.
	s.helm(t, "uninstall", release, "-n", namespace, "--no-hooks")
	s.gone(t)
	eventually(t, "v1 can be read", func() error { return s.read(t, newer) })
	if err := s.create(t, "shop", "late", older); err == nil {
		t.Error("v1alpha1 can be written without the operator")
	}
	s.unmoved(t, "shop", before)
	for _, name := range []string{"shop", "team-a", namespace, "elsewhere"} {
		s.deleted(t, name)
	}
	if failures := s.kubelet.failures; len(failures) > 0 {
		t.Errorf("the kubelet met errors: %v", failures)
	}
}

// step takes the definitions a step further, and back, by workloadctl: the chart that is told of it finds them as it wants them.
func (s *site) step(t *testing.T, release, namespace string) {
	t.Helper()
	for _, step := range []string{"R4", "R3"} {
		s.must(t, "workloadctl", "crds", "--step", step, "--apply")
		before := s.definitions(t)
		s.helm(t, "upgrade", release, s.chart, "-n", namespace, "--set", "crds.step="+step, "--set", "replicas=1")
		for i, crd := range s.definitions(t) {
			if crd.Generation != before[i].Generation {
				t.Errorf("helm has changed %s, which was at step %s", crd.Name, step)
			}
		}
	}
}

// shard lets one come and go beside a release, which must not notice more than that it is to leave some namespaces alone.
func (s *site) shard(t *testing.T, release, namespace string) {
	t.Helper()
	s.helm(t, "upgrade", release, s.chart, "-n", namespace, "--reset-then-reuse-values", "--set", "exceptNamespaces={team-a,team-b,team-c}")
	s.helm(t, "install", "shard-a", s.chart, "-n", namespace, "--set", "shard.name=a", "--set", "shard.namespaces={team-a,team-b}", "--set", "replicas=1")
	since, err := s.plane.AuditLog.End()
	if err != nil {
		t.Fatal(err)
	}
	s.objects(t, "team-a")
	writers, prefix := map[string]bool{}, "system:serviceaccount:"+namespace+":"
	if _, err := s.plane.AuditLog.Read(since, func(r *controlplane.Request) {
		if user, ours := strings.CutPrefix(r.User, prefix); ours && r.Namespace == "team-a" {
			writers[user] = true
		}
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]bool{"shard-a-workload-operator-controller-manager": true}, writers); diff != "" {
		t.Errorf("who works in the namespace of the shard (-want +got):\n%s", diff)
	}
	s.must(t, "workloadctl", "check")

	before := s.identities(t, "team-a")
	s.movesNamespace(t, release, namespace)
	s.helm(t, "uninstall", "shard-a", "-n", namespace)
	s.helm(t, "uninstall", "shard-b", "-n", namespace)
	eventually(t, "the shard has ended", func() error {
		if left := s.kubelet.managers(); len(left) != 1 {
			return fmt.Errorf("%d managers, want 1", len(left))
		}
		return nil
	})
	s.unmoved(t, "team-a", before)
}

// movesNamespace gives team-b to another shard, as docs/sharding.md says. The release without a name is not touched.
func (s *site) movesNamespace(t *testing.T, release, namespace string) {
	t.Helper()
	s.helm(t, "install", "shard-b", s.chart, "-n", namespace, "--set", "shard.name=b", "--set", "shard.namespaces={team-c}", "--set", "replicas=1")
	manifest := s.helm(t, "get", "manifest", release, "-n", namespace)
	versions := s.versions(t, manifest)
	s.helm(t, "upgrade", "shard-a", s.chart, "-n", namespace, "--reset-then-reuse-values", "--set", "shard.namespaces={team-a}")
	s.helm(t, "upgrade", "shard-b", s.chart, "-n", namespace, "--reset-then-reuse-values", "--set", "shard.namespaces={team-b,team-c}")
	eventually(t, "team-b is b's", func() error {
		lease := s.must(t, "kubectl", "-n", namespace, "describe", "lease", "workload-operator.example.com")
		if !strings.Contains(lease, `"namespaces":["team-a"]`) || !strings.Contains(lease, `"namespaces":["team-b","team-c"]`) {
			return errors.New(lease)
		}
		return nil
	})
	if diff := cmp.Diff(versions, s.versions(t, manifest)); diff != "" {
		t.Errorf("the other release has been written (-before +after):\n%s", diff)
	}
}

// steady repeats an upgrade. It must render the same, write nothing, and leave behind what the template says.
func (s *site) steady(t *testing.T, upgrade []string) {
	t.Helper()
	release, namespace := upgrade[1], upgrade[slices.Index(upgrade, "-n")+1]
	manifest := s.helm(t, "get", "manifest", release, "-n", namespace)
	versions := s.versions(t, manifest)
	s.helm(t, upgrade...)
	if diff := cmp.Diff(manifest, s.helm(t, "get", "manifest", release, "-n", namespace)); diff != "" {
		t.Errorf("rendered again (-first +second):\n%s", diff)
	}
	if diff := cmp.Diff(versions, s.versions(t, manifest)); diff != "" {
		t.Errorf("the second upgrade wrote objects (-before +after):\n%s", diff)
	}
	template := append([]string{"template", "--no-hooks"}, upgrade[1:len(upgrade)-1]...)
	if diff := cmp.Diff(strings.TrimSpace(manifest), strings.TrimSpace(s.helm(t, template...))); diff != "" {
		t.Errorf("the template afterwards (-release +template):\n%s", diff)
	}
}

// stores wants a version to be the storage version.
func (s *site) stores(t *testing.T, version string) {
	t.Helper()
	for _, crd := range s.definitions(t) {
		for _, v := range crd.Spec.Versions {
			if v.Storage != (v.Name == version) {
				t.Errorf("%s: %s is stored: %t", crd.Name, v.Name, v.Storage)
			}
		}
	}
}

// gone wants nothing of a release to be left but its definitions: no webhooks, no rights, no Pods.
func (s *site) gone(t *testing.T) {
	t.Helper()
	eventually(t, "the managers have ended", func() error {
		if left := s.kubelet.managers(); len(left) > 0 {
			return fmt.Errorf("%d run", len(left))
		}
		return nil
	})
	for _, configuration := range s.webhooks(t) {
		t.Errorf("%s is left", configuration.GetName())
	}
	eventually(t, "nothing of the release is left", func() error {
		var left []error
		for _, list := range []client.ObjectList{
			&corev1.ServiceAccountList{}, &batchv1.JobList{}, &corev1.PodList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{},
			&rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}, &corev1.ServiceList{},
		} {
			if err := s.client.List(t.Context(), list, client.MatchingLabels{"app.kubernetes.io/name": "workload-operator"}); err != nil {
				return err
			}
			if err := each(list, func(name string) { left = append(left, fmt.Errorf("%T %s is left", list, name)) }); err != nil {
				return err
			}
		}
		return errors.Join(left...)
	})
	for _, crd := range s.definitions(t) {
		if crd.Annotations["helm.sh/resource-policy"] != "keep" {
			t.Errorf("%s is not kept", crd.Name)
		}
	}
}

// independent wants the definitions to need nobody: v1 alone, not converted, and free for whoever installs them next.
func (s *site) independent(t *testing.T) {
	t.Helper()
	for _, crd := range s.definitions(t) {
		if len(crd.Spec.Versions) != 1 || crd.Spec.Versions[0].Name != newer || crd.Spec.Conversion.Strategy != apiextensionsv1.NoneConverter {
			t.Errorf("%s has versions %d, conversion %s", crd.Name, len(crd.Spec.Versions), crd.Spec.Conversion.Strategy)
		}
		for _, entry := range crd.ManagedFields {
			if entry.Manager == "workload-operator-uninstall" {
				t.Errorf("%s belongs to the hook", crd.Name)
			}
		}
	}
	eventually(t, "v1 can be read", func() error { return s.read(t, newer) })
}

// refusesStrangers calls the hook as somebody would who applied it with the other manifests, and not through helm.
func (s *site) refusesStrangers(t *testing.T, namespace string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), s.kubelet.manager, "uninstall", "--helm-release="+namespace+"/another", "--kubeconfig="+s.plane.Kubeconfig()).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Nothing is done") {
		t.Errorf("%v: %s", err, out)
	}
}

// staysWhenRefused lets a policy refuse to have an object written. helm must then remove nothing, and the Job name the object.
func (s *site) staysWhenRefused(t *testing.T, release, namespace string) {
	t.Helper()
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "frozen"}, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Update},
			Rule:       admissionv1.Rule{APIGroups: []string{"batch.example.com"}, APIVersions: []string{"*"}, Resources: []string{"podsets"}},
		}}}},
		Validations: []admissionv1.Validation{{Expression: "object.metadata.name != 'v1'", Message: "nobody touches this one"}},
	}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: policy.ObjectMeta, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: policy.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
	}}
	if err := errors.Join(s.client.Create(t.Context(), policy), s.client.Create(t.Context(), binding)); err != nil {
		t.Fatal(err)
	}
	if out, err := s.run(t, "helm", "uninstall", release, "-n", namespace); err == nil {
		t.Fatalf("uninstalled: %s", out)
	}
	if said := s.kubelet.said(); !strings.HasPrefix(said, "done: store v1 (step R3)") || !strings.Contains(said, "shop/v1: ") || !strings.Contains(said, "nobody touches this one") {
		t.Errorf("the hook does not begin at step R2, or does not name the object:\n%s", said)
	}
	if len(s.kubelet.managers()) != 1 || len(s.webhooks(t)) != 2 {
		t.Errorf("%d managers and %d webhook configurations are left", len(s.kubelet.managers()), len(s.webhooks(t)))
	}
	if err := errors.Join(s.client.Delete(t.Context(), policy), s.client.Delete(t.Context(), binding)); err != nil {
		t.Fatal(err)
	}
}
