package checkup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/workload-operator/controllers/migration"
)

// askQPS is how fast everybody is asked who would refuse a migration: with dry runs, and only if a run has met a refusal.
const askQPS = 500

// listedRefusals bounds the refusals of a kind that are looked at.
const listedRefusals = 100

// Options say what to look at.
type Options struct {
	Config *rest.Config
	// Namespace of the operator; empty means that of the Service which the cluster calls.
	Namespace string
	// Release is the version of this command line.
	Release  string
	Commands Commands
}

// Checkup looks at a cluster.
type Checkup struct {
	options Options
	client  client.Client
	engine  *migration.Engine
}

// New returns a Checkup. It makes no request.
func New(o Options) (*Checkup, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	c, err := client.New(o.Config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	engine, err := migration.New(o.Config, migration.Options{QPS: askQPS, Listed: listedRefusals, Actor: o.Config.UserAgent})
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	return &Checkup{options: o, client: c, engine: engine}, nil
}

// judge says what is wrong with what was seen.
type judge func(*seen, Commands) []Finding

// judges in the order in which their fixes should be tried: what others need comes first.
var judges = []judge{
	judgeRoles, judgeManager, judgeCertificate, judgeDefinitions, judgeWebhooks, judgeBundles, judgeGuard, judgeMigrations,
}

// Look reports on the installation. The error says that the definitions could not be read, so that nothing is known.
func (c *Checkup) Look(ctx context.Context) (*Report, error) {
	s, unseen, err := c.observe(ctx)
	if err != nil {
		return nil, err
	}
	report := &Report{Definitions: s.summary(), Findings: []Finding{}, Unseen: unseen}
	for _, judge := range judges {
		report.Findings = append(report.Findings, judge(s, c.options.Commands)...)
	}
	report.Findings = append(report.Findings, judgeReach(s, c.options.Commands, report.Findings)...)
	report.Notes = notes(s, report.Findings)
	slices.SortStableFunc(report.Findings, func(a, b Finding) int { return rank(a) - rank(b) })
	return report, nil
}

// notes are about a manager outside of the cluster.
func notes(s *seen, findings []Finding) []string {
	if s.outside == "" {
		return nil
	}
	all := []string{"the manager runs outside of the cluster: " + s.outside}
	if slices.ContainsFunc(findings, func(f Finding) bool { return f.Fix == runAgain }) {
		all = append(all, runAgain+" installs when it starts: where it is the fix, end the one that runs, and start it again; its cluster is a new one")
	}
	return all
}

func rank(f Finding) int { return map[Severity]int{Error: 0, Warning: 1}[f.Severity] }

func (s *seen) summary() []Definition {
	var all []Definition
	for _, d := range s.definitions {
		summary := Definition{Name: d.want.Name, Step: string(d.step)}
		if d.live != nil {
			_, summary.Storage = d.served()
			summary.StoredVersions = d.live.Status.StoredVersions
		}
		all = append(all, summary)
	}
	return all
}

// observe reads everything. What cannot be read, except for the definitions, is named instead.
func (c *Checkup) observe(ctx context.Context) (*seen, []string, error) {
	s := &seen{now: time.Now(), release: c.options.Release}
	if err := c.readDefinitions(ctx, s); err != nil {
		return nil, nil, err
	}
	var unseen []string
	for _, read := range []func(context.Context, *seen) error{
		c.readWebhooks, c.readService, c.readDeployment, c.readOutside, c.readSecret, c.readGuard, c.readRoles, c.readMigrations, c.probe,
	} {
		if err := read(ctx, s); err != nil {
			if ctx.Err() != nil {
				return nil, nil, ctx.Err()
			}
			unseen = append(unseen, oneLine(err))
		}
	}
	if s.elsewhere.Name != "" && s.live == nil && s.deployment == nil && !s.deploymentHidden {
		return nil, nil, fmt.Errorf("there is no operator in namespace %s: the webhooks that the cluster calls are those of Service %s; leave -n out, or give its namespace",
			c.options.Namespace, s.elsewhere)
	}
	return s, unseen, nil
}
