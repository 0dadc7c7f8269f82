package checkup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// planTimeout bounds the question who refuses.
	planTimeout = 2 * time.Minute
	// probeTimeout is more than the API server gives a webhook.
	probeTimeout = 35 * time.Second
	// probeName is that of an object that is never stored.
	probeName = "workloadctl-check"
	// reviewers ask for permissions at the same time.
	reviewers = 8
)

// probeSpecs are valid in each version of each kind.
var probeSpecs = map[string]map[string]any{
	"webapps/v1":       {"image": "check:1"},
	"webapps/v1alpha1": {"image": map[string]any{"repository": "check", "tag": "1"}},
	"podsets/v1":       {"image": "check:1"},
	"podsets/v1alpha1": {"container": map[string]any{"image": "check:1"}},
}

// probe creates an object of each kind in a version that is not stored, as a dry run. That needs the conversion webhook and, for
// v1alpha1, the admission webhooks, as the API server calls them.
func (c *Checkup) probe(ctx context.Context, s *seen) error {
	var errs []error
	for _, d := range s.definitions {
		served, storage := d.served()
		for _, version := range served {
			if version == storage {
				continue
			}
			limited, cancel := context.WithTimeout(ctx, probeTimeout)
			err := c.create(limited, d, version)
			cancel()
			if unanswered(err) {
				d.unreachable = errors.New(oneLine(err))
			} else if mayNot(err) {
				errs = append(errs, wrap("asking the webhooks of "+d.want.Name, err))
			}
		}
	}
	return errors.Join(errs...)
}

func (c *Checkup) create(ctx context.Context, d *definition, version string) error {
	names := d.live.Spec.Names
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": d.live.Spec.Group + "/" + version, "kind": names.Kind,
		"metadata": map[string]any{"namespace": metav1.NamespaceDefault, "name": probeName},
		"spec":     probeSpecs[names.Plural+"/"+version],
	}}
	return c.client.Create(ctx, object, client.DryRunAll, client.FieldOwner("workloadctl"))
}

// unanswered says that a webhook was not reached, or did not speak. Every other answer comes from beyond the webhooks, or
// from one that has judged.
func unanswered(err error) bool {
	if err == nil {
		return false
	}
	said := err.Error()
	return strings.Contains(said, "conversion webhook for") || strings.Contains(said, "failed calling webhook") ||
		apierrors.IsInternalError(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || errors.Is(err, context.DeadlineExceeded)
}

// mayNot says that the user lacks the permission; a policy that forbids names itself instead of a user.
func mayNot(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), `User "`)
}

// readRoles asks the API server for each thing that the operator's roles allow.
func (c *Checkup) readRoles(ctx context.Context, s *seen) error {
	if s.deployment == nil {
		return nil // whoever runs the operator is not known
	}
	roles, err := operatorRoles()
	if err != nil {
		return err
	}
	account := types.NamespacedName{Namespace: s.deployment.Namespace, Name: s.deployment.Spec.Template.Spec.ServiceAccountName}
	for _, r := range roles {
		denied, err := c.deniedTo(ctx, account, r.accesses(s))
		if err != nil {
			return wrap("asking what ServiceAccount "+account.String()+" may do", err)
		}
		if len(denied) == 0 {
			continue
		}
		d := deniedRole{role: r, account: account.String(), denied: denied}
		prefix := strings.TrimSuffix(account.Name, "controller-manager")
		d.exists = c.exists(ctx, &d, prefix+r.name, "")
		d.bound = c.exists(ctx, &d, prefix+strings.TrimSuffix(r.name, "role")+"rolebinding", "Binding")
		s.denied = append(s.denied, d)
	}
	return nil
}

// exists says whether there is a role, or a binding of one. What cannot be seen counts as there.
func (c *Checkup) exists(ctx context.Context, d *deniedRole, name, suffix string) bool {
	namespace, _, _ := strings.Cut(d.account, "/")
	object, kind := &unstructured.Unstructured{}, "ClusterRole"
	if d.role.namespaced {
		kind = "Role"
	} else {
		namespace = ""
	}
	object.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind(kind + suffix))
	return !apierrors.IsNotFound(c.client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, object))
}

// deniedTo are those accesses that the account does not have.
func (c *Checkup) deniedTo(ctx context.Context, account types.NamespacedName, accesses []authorizationv1.ResourceAttributes) ([]authorizationv1.ResourceAttributes, error) {
	allowed, errs := make([]bool, len(accesses)), make([]error, len(accesses))
	var group sync.WaitGroup
	slots := make(chan struct{}, reviewers)
	for i := range accesses {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				ResourceAttributes: &accesses[i],
				User:               fmt.Sprintf("system:serviceaccount:%s:%s", account.Namespace, account.Name),
				Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + account.Namespace, "system:authenticated"},
			}}
			errs[i] = c.client.Create(ctx, review)
			allowed[i] = review.Status.Allowed
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, errors.New(oneLine(firstOf(errs)))
	}
	var denied []authorizationv1.ResourceAttributes
	for i := range accesses {
		if !allowed[i] {
			denied = append(denied, accesses[i])
		}
	}
	return denied, nil
}

func firstOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
