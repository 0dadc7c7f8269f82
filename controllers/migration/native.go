package migration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	storagemigrationclient "k8s.io/client-go/kubernetes/typed/storagemigration/v1"
	"k8s.io/client-go/rest"
)

// askAgain is how often the cluster is reminded. Its migrator waits until the garbage collector has seen something newer than the
// request, which on a quiet cluster is the bookmark of each minute, and looks whether it has at intervals that grow to a quarter of an
// hour; a changed request makes it look at once.
const askAgain = 10 * time.Second

// annotationTouched is what is changed of a request.
const annotationTouched = "workload.example.com/touched"

// nativeClient asks the cluster to migrate.
type nativeClient = storagemigrationclient.StorageVersionMigrationInterface

func newNativeClient(config *rest.Config, client *http.Client) (nativeClient, error) {
	c, err := storagemigrationclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	return c.StorageVersionMigrations(), nil
}

// rewriteNatively has the cluster rewrite the objects. It gives up for good at the first object that is refused, without naming
// it; the passes that follow find out.
func (r *run) rewriteNatively(ctx context.Context) error {
	wanted := &storagemigrationv1.StorageVersionMigration{
		ObjectMeta: metav1.ObjectMeta{GenerateName: fieldManager + "-"},
		Spec: storagemigrationv1.StorageVersionMigrationSpec{
			Resource: metav1.GroupResource{Group: r.definition.Spec.Group, Resource: r.definition.Spec.Names.Plural},
		},
	}
	created, err := r.native.Create(ctx, wanted, metav1.CreateOptions{FieldManager: fieldManager})
	if apierrors.IsNotFound(err) {
		return errors.New("the cluster has no storagemigration.k8s.io/v1: run without the native migration")
	}
	if err != nil {
		return fmt.Errorf("asking the cluster to migrate: %w", err)
	}
	asked := time.Now()
	for {
		var now *storagemigrationv1.StorageVersionMigration
		err := r.gate.do(ctx, func(ctx context.Context) (err error) {
			now, err = r.native.Get(ctx, created.Name, metav1.GetOptions{})
			return err
		})
		if err != nil {
			return fmt.Errorf("following StorageVersionMigration %s: %w", created.Name, err)
		}
		conditions := now.Status.Conditions
		if failed := meta.FindStatusCondition(conditions, string(storagemigrationv1.MigrationFailed)); failed != nil && failed.Status == metav1.ConditionTrue {
			return nil // the pass that follows names the objects
		}
		if meta.IsStatusConditionTrue(conditions, string(storagemigrationv1.MigrationSucceeded)) {
			return nil
		}
		r.tell(Progress{Phase: PhaseRewriting, Waiting: "the cluster to carry out StorageVersionMigration " + created.Name})
		if time.Since(asked) > askAgain {
			asked = time.Now()
			if err := r.touch(ctx, created.Name); err != nil {
				return err
			}
		}
		if err := pause(ctx, r.options.Poll); err != nil {
			return err
		}
	}
}

// touch makes the cluster look at the request again.
func (r *run) touch(ctx context.Context, name string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, annotationTouched, time.Now().UTC().Format(time.RFC3339))
	err := r.gate.do(ctx, func(ctx context.Context) error {
		_, err := r.native.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
		return err
	})
	if err != nil {
		return fmt.Errorf("asking the cluster again to migrate: %w", err)
	}
	return nil
}
