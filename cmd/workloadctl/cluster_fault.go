package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// explainFaults has every command that works on a cluster say in one line, with what to type next, why it could not.
func explainFaults(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		explainFaults(sub)
	}
	if cmd.Flags().Lookup("kubeconfig") == nil || cmd.RunE == nil {
		return
	}
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return clusterOf(cmd).explain(run(cmd, args), toolOf(cmd))
	}
}

// clusterOf are the options that a command was given.
func clusterOf(cmd *cobra.Command) *clusterOptions {
	o := &clusterOptions{}
	for _, flag := range o.flags() {
		*flag.value = cmd.Flags().Lookup(flag.name).Value.String()
	}
	return o
}

// explain replaces the faults among errors, each by one line however often it came. Without a fault the error stays as it is.
func (o *clusterOptions) explain(err error, tool string) error {
	var lines []string
	var errs []error
	for _, one := range parts(err) {
		line := o.fault(one, tool)
		switch {
		case line == "":
			errs = append(errs, one)
		case !slices.Contains(lines, line):
			lines = append(lines, line)
			errs = append(errs, unreachable(errors.New(line)))
		}
	}
	if len(lines) == 0 {
		return err
	}
	return errors.Join(errs...)
}

// parts are the errors that were joined into one, also below a mark for the exit code.
func parts(err error) []error {
	if marked, ok := errors.AsType[usageError](err); ok && marked.Error() == err.Error() {
		err = marked.error
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, one := range joined.Unwrap() {
		all = append(all, parts(one)...)
	}
	return all
}

// fault says why the cluster could not be worked with, and what to type next; empty for errors that are about something else.
func (o *clusterOptions) fault(err error, tool string) string {
	if err == nil {
		return ""
	}
	if misled, ok := errors.AsType[connectionError](err); ok {
		return o.misled(misled.error)
	}
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	answer := apierrors.APIStatus(nil)
	if errors.As(err, &answer) || meta.IsNoMatchError(err) {
		return o.refused(err, tool)
	}
	if reason := unanswered(err); reason != "" {
		return fmt.Sprintf("the API server at %s does not answer: %s; check that the cluster is up, or choose another with --kubeconfig or --context",
			o.place(), reason)
	}
	return ""
}

// noDefinitions says that the kinds are not there. What brings them is the same before the first installation and at step R1.
const noDefinitions = "there are no WebApps and PodSets of version v1 in the cluster at %s: their CustomResourceDefinitions are missing or at step R1; " +
	"run %s, or install the operator (docs/install.md)"

var (
	// whoMayNot is in the answers of authorization, which alone name the user.
	whoMayNot = regexp.MustCompile(`User "[^"]*" cannot .*`)
	// ourWebhooks are in the answers of an API server that cannot call the operator.
	ourWebhooks = regexp.MustCompile(`conversion webhook for \S+, Kind=\w+ failed: |failed calling webhook "[^"]*\.(webapps\.app|podsets\.batch)\.example\.com": `)
)

// refused explains an answer of the API server that is about who asks, or about the cluster, and not about an object.
func (o *clusterOptions) refused(err error, tool string) string {
	said := oneLine(err.Error())
	switch {
	case apierrors.IsUnauthorized(err):
		return "the API server at " + o.place() + " does not accept the credentials: log in again, or choose others with --context or --user"
	case meta.IsNoMatchError(err), unserved(err):
		return fmt.Sprintf(noDefinitions, o.place(), o.commands(tool).Call("crds", "--step", "R3", "--apply"))
	case apierrors.IsForbidden(err) && whoMayNot.MatchString(said):
		return "not permitted: " + whoMayNot.FindString(said) + "; an administrator has to allow it"
	case apierrors.IsForbidden(err) && unspoken(err):
		return "not permitted: the API server at " + o.place() + " tells this user not even which APIs it has, as it does for everybody whom it knows; " +
			"log in, or choose others with --context or --user"
	case ourWebhooks.MatchString(said):
		return "the operator does not answer the API server: " + said[strings.LastIndex(said, ": ")+2:] + "; " + o.commands(tool).Call("check") + " says what mends that"
	case apierrors.IsServiceUnavailable(err), apierrors.IsTooManyRequests(err), apierrors.IsServerTimeout(err), apierrors.IsTimeout(err):
		return "the API server at " + o.place() + " cannot do it now: " + said + "; try again"
	}
	return ""
}

// unserved says that a path of the API is not there: a definition of ours, or a version of a kind.
func unserved(err error) bool {
	answer := apierrors.APIStatus(nil)
	if !apierrors.IsNotFound(err) || !errors.As(err, &answer) || answer.Status().Details == nil {
		return false
	}
	return answer.Status().Details.Kind == "customresourcedefinitions" || unspoken(err)
}

// unspoken says that an answer has no words of the API server about what was asked for.
func unspoken(err error) bool {
	answer := apierrors.APIStatus(nil)
	if !errors.As(err, &answer) || answer.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(answer.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Type == metav1.CauseTypeUnexpectedServerResponse })
}

// unanswered says why a request got no answer, empty for an error of another kind.
func unanswered(err error) string {
	var (
		invalid   x509.CertificateInvalidError
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		name      *net.DNSError
		timeout   net.Error
		request   *url.Error
	)
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Sprintf("its certificate is valid from %s to %s only", day(invalid.Cert.NotBefore), day(invalid.Cert.NotAfter))
	case errors.As(err, &authority):
		return "its certificate is by an authority that the kubeconfig does not trust"
	case errors.As(err, &host):
		return "its certificate is not for " + host.Host
	case errors.As(err, &name):
		return "no host of the name " + name.Name + " is known"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection is refused"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	case errors.As(err, &request):
		return oneLine(request.Err.Error())
	}
	return ""
}

func day(t time.Time) string { return t.UTC().Format(time.RFC3339) }
