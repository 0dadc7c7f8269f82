package uninstall

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/workload-operator/config"
)

// Step is one thing to do. It may be done again.
type Step struct {
	Says string
	Do   func(context.Context) error
}

// Options are what an Uninstaller leaves to its caller.
type Options struct {
	// Migrate brings every object of the named definitions to their storage version, and translates what other versions left in
	// managedFields. It fails unless all is done.
	Migrate func(ctx context.Context, crds []string) error
	// Judge returns why a definition must not be changed into next, nil if it may; nil leaves that to the guard in the cluster.
	Judge func(ctx context.Context, live, next *apiextensionsv1.CustomResourceDefinition) error
}

// Uninstaller knows the cluster.
type Uninstaller struct {
	client  client.Client
	options Options
}

// New connects to a cluster, without asking it anything.
func New(config *rest.Config, o Options) (*Uninstaller, error) {
	scheme := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(apiextensionsv1.AddToScheme, admissionv1.AddToScheme)
	if err := builder.AddToScheme(scheme); err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	if o.Judge == nil {
		o.Judge = func(context.Context, *apiextensionsv1.CustomResourceDefinition, *apiextensionsv1.CustomResourceDefinition) error {
			return nil
		}
	}
	return &Uninstaller{client: c, options: o}, nil
}

// Steps are those that are left, by where the definitions stand.
func (u *Uninstaller) Steps(ctx context.Context) ([]Step, error) {
	live, err := u.definitions(ctx)
	if err != nil {
		return nil, err
	}
	configurations, err := u.webhooks(ctx)
	if err != nil {
		return nil, err
	}
	steps := u.definitionSteps(live)
	for _, configuration := range configurations {
		says := strings.Replace(fmt.Sprintf("delete %T %s", configuration, configuration.GetName()), "*v1.", "", 1)
		steps = append(steps, Step{says, func(ctx context.Context) error {
			return client.IgnoreNotFound(u.client.Delete(ctx, configuration))
		}})
	}
	return steps, nil
}

// definitionSteps lead the installed definitions from the earliest step that one of them is at to the last.
func (u *Uninstaller) definitionSteps(live []*apiextensionsv1.CustomResourceDefinition) []Step {
	first, disowned := config.StepR5, true
	var names []string
	for _, crd := range live {
		names = append(names, crd.Name)
		first = min(first, config.StepOf(crd))
		disowned = disowned && !slices.ContainsFunc(crd.ManagedFields, isOwn)
	}
	take := func(step config.Step) func(context.Context) error {
		return func(ctx context.Context) error { return u.take(ctx, step, names) }
	}
	migrate := func(ctx context.Context) error {
		used, err := u.used(ctx, names)
		if err != nil || len(used) == 0 {
			return err
		}
		return u.options.Migrate(ctx, used)
	}
	var steps []Step
	if first < config.StepR3 {
		steps = append(steps, Step{"store v1 (step R3)", take(config.StepR3)})
	}
	if first < config.StepR4 {
		steps = append(steps, Step{"migrate every object to v1", migrate}, Step{"serve v1 alone (step R4)", take(config.StepR4)})
	}
	if first < config.StepR5 {
		steps = append(steps, Step{"translate what v1alpha1 left in managedFields", migrate})
	}
	if first < config.StepR5 || !disowned {
		steps = append(steps, Step{"remove v1alpha1 and the conversion from the definitions (step R5)", func(ctx context.Context) error {
			if err := u.take(ctx, config.StepR5, names); err != nil {
				return err
			}
			return u.disown(ctx, names)
		}})
	}
	return steps
}
