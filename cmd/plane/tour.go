package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// step is one command of the tour, with what must come of it.
type step struct {
	title  string
	args   string   // of kubectl, separated by spaces
	wants  []string // must be in the output
	refuse bool     // the command must fail
}

// tour shows in a minute what the operator does. Paths are relative to the root of the repository.
var tour = []step{
	{
		title: "Apply a WebApp and a PodSet in v1, and one of each in v1alpha1",
		args:  "apply -f config/samples",
		wants: []string{"webapp.app.example.com/my-app", "webapp.app.example.com/my-older-app",
			"podset.batch.example.com/podset-sample", "podset.batch.example.com/older-podset-sample"},
	},
	{
		title: "Wait until they are ready",
		args:  "wait --for=condition=Ready --timeout=60s webapps/my-app webapps/my-older-app podsets/podset-sample podsets/older-podset-sample",
		wants: []string{"my-app condition met", "older-podset-sample condition met"},
	},
	{
		title: "What was applied",
		args:  "get webapps,podsets",
		wants: []string{"my-app", "Running", "podset-sample", "Ready"},
	},
	{
		title: "What it became",
		args:  "get deployments,services,pods -l app.kubernetes.io/managed-by=workload-operator",
		wants: []string{"deployment.apps/my-app-deploy", "3/3", "service/my-app-svc", "pod/podset-sample-pod-", "1/1"},
	},
	{
		title: "One object in v1, as it is stored",
		args:  "get webapps.v1.app.example.com my-older-app -o jsonpath={.spec}",
		wants: []string{`"image":"nginx:1.25"`, `"replicas":2`},
	},
	{
		title: "The same object in v1alpha1, as it was written",
		args:  "get webapps.v1alpha1.app.example.com my-older-app -o jsonpath={.spec}",
		wants: []string{`"repository":"nginx"`, `"tag":"1.25"`, `"instances":2`},
	},
	{
		title:  "A bad spec is refused, field by field",
		args:   "apply -f config/samples/bad",
		wants:  []string{"spec.replicas", "spec.port"},
		refuse: true,
	},
}

// kubectlFunc makes a kubectl command for the cluster of the tour.
type kubectlFunc func(ctx context.Context, args ...string) *exec.Cmd

// show runs the tour. It goes on after a step with another result than expected, and returns all of them as errors.
func show(ctx context.Context, kubectl kubectlFunc, root string, out io.Writer) error {
	var errs []error
	for i, s := range tour {
		fmt.Fprintf(out, "\n%d. %s\n$ kubectl %s\n", i+1, s.title, s.args)
		command := kubectl(ctx, strings.Fields(s.args)...)
		command.Dir = root
		output, err := command.CombinedOutput()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		fmt.Fprintln(out, strings.TrimSpace(string(output)))
		if err := s.judge(output, err); err != nil {
			errs = append(errs, fmt.Errorf("step %d of the tour (%s): %w", i+1, s.title, err))
		}
	}
	return errors.Join(errs...)
}

// judge compares what came of a step with what it must come to.
func (s step) judge(output []byte, err error) error {
	exit := &exec.ExitError{}
	switch {
	case err != nil && !errors.As(err, &exit):
		return err
	case s.refuse && err == nil:
		return errors.New("was accepted")
	case !s.refuse && err != nil:
		return fmt.Errorf("kubectl failed: %w", err)
	}
	for _, want := range s.wants {
		if !bytes.Contains(output, []byte(want)) {
			return fmt.Errorf("the output lacks %q", want)
		}
	}
	return nil
}
