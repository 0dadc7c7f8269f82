package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// crdNames are the CustomResourceDefinitions that the operator lives from.
var crdNames = []string{"webapps.app.example.com", "podsets.batch.example.com"}

// crdPoll is how often absent CustomResourceDefinitions are looked for.
const crdPoll = 2 * time.Second

// awaitCRDs blocks until every CustomResourceDefinition passes, and tells report what it waits for. Waiting, rather than
// failing, lets definitions and operator be installed in any order.
func awaitCRDs(ctx context.Context, c client.Reader, judge judgeCRD, report func(error)) error {
	said := ""
	return wait.PollUntilContextCancel(ctx, crdPoll, true, func(ctx context.Context) (bool, error) {
		problem, err := findProblem(ctx, c, judge)
		if err != nil {
			return false, err
		}
		if problem == nil {
			return true, nil
		}
		report(problem)
		if said != problem.Error() {
			said = problem.Error()
			log.FromContext(ctx).Info("Waiting for the CustomResourceDefinitions", "problem", said)
		}
		return false, nil
	})
}

// findProblem is the first thing that is wrong with a CustomResourceDefinition. The error says that it could not be found out.
func findProblem(ctx context.Context, c client.Reader, judge judgeCRD) (problem, err error) {
	for _, name := range crdNames {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		err := c.Get(ctx, client.ObjectKey{Name: name}, crd)
		if apierrors.IsNotFound(err) {
			return fmt.Errorf("CustomResourceDefinition %s is not installed: install it with make install or with the Helm chart", name), nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading CustomResourceDefinition %s: %w", name, err)
		}
		if err := judge(crd); err != nil {
			return fmt.Errorf("CustomResourceDefinition %s %w", name, err), nil
		}
	}
	return nil, nil
}

// judgeCRD says why a CustomResourceDefinition cannot be used yet, nil when it can.
type judgeCRD func(*apiextensionsv1.CustomResourceDefinition) error

// ofThisRelease passes definitions that have what this release needs.
func ofThisRelease(crd *apiextensionsv1.CustomResourceDefinition) error {
	served, v1 := 0, false
	for _, version := range crd.Spec.Versions {
		if version.Served {
			served++
			v1 = v1 || version.Name == "v1"
		}
	}
	if !v1 {
		return errors.New("does not serve version v1: install the definitions of this release, or take step R2 (workloadctl crds --step R2 --apply)")
	}
	if c := crd.Spec.Conversion; served > 1 && (c == nil || c.Strategy != apiextensionsv1.WebhookConverter) {
		return errors.New("serves several versions but has no conversion webhook: install the definitions of this release")
	}
	return nil
}

// established passes definitions that the API server serves. One that was created with a caBundle which is not PEM is not served
// until that is repaired, so this can come only after the bundle was published.
func established(crd *apiextensionsv1.CustomResourceDefinition) error {
	for _, condition := range crd.Status.Conditions {
		if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
			return nil
		}
	}
	return errors.New("is not established: its status conditions say why")
}
