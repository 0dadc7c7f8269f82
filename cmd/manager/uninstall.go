package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/example/workload-operator/controllers/migration"
	"github.com/example/workload-operator/controllers/migration/uninstall"
)

// uninstallCommand is the first argument that makes this binary prepare the removal of the operator instead of running it. The Helm
// chart calls it before a release is removed: the image has no other binary.
const uninstallCommand = "uninstall"

// progressInterval is the least time between two lines about the same phase.
const progressInterval = 10 * time.Second

// uninstallOptions are the flags of the command.
type uninstallOptions struct {
	release client.ObjectKey // empty: whoever installed the operator
	qps     float64
	settle  time.Duration
}

func newUninstallFlags(o *uninstallOptions) *flag.FlagSet {
	flags := flag.NewFlagSet("manager "+uninstallCommand, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Func("helm-release", "`namespace/name` of the Helm release that is being removed; nothing is done if the operator is not a part of it", o.setRelease)
	flags.Float64Var(&o.qps, "qps", migration.DefaultQPS, "`requests` per second of the migration")
	flags.DurationVar(&o.settle, "settle", migration.DefaultSettleDelay, "how long to wait after each change of a definition")
	config.RegisterFlags(flags)
	return flags
}

func (o *uninstallOptions) setRelease(text string) error {
	namespace, name, ok := strings.Cut(text, "/")
	if !ok || namespace == "" || name == "" {
		return errors.New("not namespace/name")
	}
	o.release = client.ObjectKey{Namespace: namespace, Name: name}
	return nil
}

func parseUninstall(args []string) (*uninstallOptions, error) {
	o := &uninstallOptions{}
	flags := newUninstallFlags(o)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.qps <= 0 {
		return nil, fmt.Errorf("--qps %g is not positive", o.qps)
	}
	return o, nil
}

// prepareRemoval runs the command uninstall and returns the exit code.
func prepareRemoval(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseUninstall(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		flags := newUninstallFlags(&uninstallOptions{})
		flags.SetOutput(stdout)
		fmt.Fprintln(stdout, "manager uninstall makes the cluster independent of the operator, as workloadctl uninstall does; objects stay.\n\nFlags:")
		flags.PrintDefaults()
		return exitOK
	case err != nil:
		fmt.Fprintf(stderr, "manager: %[1]s: %[2]s; manager %[1]s --help lists the flags\n", uninstallCommand, oneLine(err))
		return exitUsage
	}
	ctrl.SetLogger(logr.Discard()) // what is done is said on stdout
	if err := o.run(ctx, stdout); err != nil {
		fmt.Fprintf(stderr, "manager: %s: %s\n", uninstallCommand, oneLine(err))
		return exitFailure
	}
	return exitOK
}

func (o *uninstallOptions) run(ctx context.Context, out io.Writer) error {
	restConfig, err := configured()
	if err != nil {
		return err
	}
	u, err := o.uninstaller(restConfig, out)
	if err != nil {
		return err
	}
	if o.release.Name != "" {
		switch foreign, err := u.Foreign(ctx, o.release); {
		case err != nil:
			return err
		case foreign != "":
			_, err := fmt.Fprintf(out, "Nothing is done: %s is not part of the Helm release %s. Helm calls this before it removes a release.\n", foreign, o.release)
			return err
		}
	}
	steps, err := u.Steps(ctx)
	if err != nil {
		return err
	}
	for _, step := range steps {
		if err := step.Do(ctx); err != nil {
			return fmt.Errorf("%s: %w; called again, it goes on", step.Says, err)
		}
		fmt.Fprintln(out, "done:", step.Says)
	}
	_, err = fmt.Fprintln(out, "The operator can be removed now.")
	return err
}

func (o *uninstallOptions) uninstaller(restConfig *rest.Config, out io.Writer) (*uninstall.Uninstaller, error) {
	actor, _ := os.Hostname() // the name of the Pod
	engine, err := migration.New(restConfig, migration.Options{QPS: float32(o.qps), SettleDelay: o.settle, Actor: actor, Observe: progressLines(out)})
	if err != nil {
		return nil, err
	}
	return uninstall.New(restConfig, uninstall.Options{Migrate: func(ctx context.Context, crds []string) error {
		for _, crd := range crds {
			report, err := engine.Run(ctx, crd)
			if err != nil {
				return err
			}
			if !report.Complete() {
				return incomplete(report)
			}
		}
		return nil
	}})
}

// incomplete names the objects that stand in the way.
func incomplete(report *migration.Report) error {
	lines := []string{fmt.Sprintf("%d objects of %s could not be migrated", report.Refused+report.Stale, report.CRD)}
	for _, p := range append(report.Refusals, report.StaleObjects...) {
		lines = append(lines, fmt.Sprintf("%s/%s: %s", p.Namespace, p.Name, p.Reason))
	}
	return errors.New(strings.Join(lines, "; "))
}

// progressLines prints a line for each new phase, and now and then one about the same.
func progressLines(out io.Writer) func(migration.Progress) {
	var last migration.Progress
	var at time.Time
	return func(p migration.Progress) {
		if p.CRD == last.CRD && p.Phase == last.Phase && time.Since(at) < progressInterval {
			return
		}
		last, at = p, time.Now()
		switch {
		case p.Waiting != "":
			fmt.Fprintf(out, "%s: waiting for %s\n", p.CRD, p.Waiting)
		case p.Total > 0:
			fmt.Fprintf(out, "%s: %s, %d of %d objects\n", p.CRD, p.Phase, p.Done, p.Total)
		default:
			fmt.Fprintf(out, "%s: %s\n", p.CRD, p.Phase)
		}
	}
}
