package migration

import (
	"context"
	"fmt"
	"time"

	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

const (
	// fieldManager writes objects, which changes no field, and the record on a definition. It changes no spec.
	fieldManager = "workload-operator-migration"
	// specManager changes the spec of a definition. It is another one, so that the time of the latest change of the spec can be
	// told from that of a record.
	specManager = "workload-operator-storage"
	// requestTimeout is how long an API server takes for a request, by default.
	requestTimeout = time.Minute
)

// Engine migrates the objects of CustomResourceDefinitions. Its methods may be called concurrently, and two engines may work on
// the same definition: every write is conditional, and one that is not needed changes nothing.
type Engine struct {
	options     Options
	definitions apiextensionsclient.CustomResourceDefinitionInterface
	objects     dynamic.Interface
	metadata    metadata.Interface
	native      nativeClient
}

// New returns an engine that talks to the cluster of a configuration, with a rate limit of its own.
func New(config *rest.Config, o Options) (*Engine, error) {
	o.setDefaults()
	config = rest.CopyConfig(config)
	config.QPS, config.Burst, config.RateLimiter = o.QPS, int(2*o.QPS), nil
	config.Timeout = requestTimeout
	// Deprecation warnings of the version that is left behind would come with every request.
	config.WarningHandler, config.WarningHandlerWithContext = rest.NoWarnings{}, nil
	// One client, and so one rate limit, for all of them.
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connecting the migration: %w", err)
	}
	config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(o.QPS, int(2*o.QPS))
	definitions, err := apiextensionsclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("connecting the migration: %w", err)
	}
	objects, err := dynamic.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("connecting the migration: %w", err)
	}
	pages, err := metadata.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("connecting the migration: %w", err)
	}
	native, err := newNativeClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("connecting the migration: %w", err)
	}
	return &Engine{options: o, definitions: definitions.CustomResourceDefinitions(), objects: objects, metadata: pages, native: native}, nil
}

// Status says how a definition stands. It looks at no object.
func (e *Engine) Status(ctx context.Context, crd string) (*Status, error) {
	d, err := e.read(ctx, crd)
	if err != nil {
		return nil, err
	}
	return d.status(), nil
}

// Plan asks, for every object, whether anybody would refuse what a run would do: a server-side dry run of the write, with all of
// admission, and a read in every other served version. It writes nothing.
func (e *Engine) Plan(ctx context.Context, crd string) (*Report, error) {
	d, err := e.read(ctx, crd)
	if err != nil {
		return nil, err
	}
	return e.planFor(ctx, d, d.target())
}

// Run migrates every object to the storage version and trims status.storedVersions. It waits, as long as the context lets it,
// until the conversion webhook answers and the definition has settled. Objects that cannot be written are in the report, not in
// the error, and leave status.storedVersions as it is. Called again, it goes on where it was stopped.
func (e *Engine) Run(ctx context.Context, crd string) (*Report, error) {
	r := e.newRun(crd)
	if err := r.await(ctx); err != nil {
		return nil, err
	}
	if err := r.rewrite(ctx); err != nil {
		return nil, err
	}
	if r.report.Refused == 0 {
		if err := r.prove(ctx); err != nil {
			return nil, err
		}
	}
	return r.finish(ctx)
}

// Verify proves that every object is stored in the storage version. An object that is not is named; the proof, which is a
// write, puts it right. status.storedVersions stays as it is: Run trims it.
func (e *Engine) Verify(ctx context.Context, crd string) (*Report, error) {
	r := e.newRun(crd)
	if err := r.await(ctx); err != nil {
		return nil, err
	}
	if err := r.verify(ctx); err != nil {
		return nil, err
	}
	return r.close(), nil
}

// Rollback makes another served version the storage version and migrates to it, provided that nobody would refuse; otherwise it
// changes nothing and the report says who refuses. Called again after it was stopped, it goes on.
func (e *Engine) Rollback(ctx context.Context, crd, to string) (*Report, error) {
	d, err := e.read(ctx, crd)
	if err != nil {
		return nil, err
	}
	if d.target() != to {
		if err := d.mayStore(to); err != nil {
			return nil, err
		}
		plan, err := e.planFor(ctx, d, to)
		if err != nil || !plan.Complete() {
			return plan, err
		}
		if err := e.store(ctx, crd, to); err != nil {
			return nil, err
		}
	}
	return e.Run(ctx, crd)
}
