package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/cmd/manager/internal/claims"
	"github.com/example/workload-operator/controllers"
)

// claimHold is how long a claim stands after it was last renewed: twice what the other replicas of the same operator need to take
// over, so that they come first.
const claimHold = 2 * leaseDuration

const webhooksFlag = "webhooks"

func bindShard(flags *flag.FlagSet, o *options) {
	list := func(to *[]string) func(string) error {
		return func(value string) error {
			*to = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
			if len(*to) == 0 {
				return errors.New("names no namespace")
			}
			slices.Sort(*to)
			*to = slices.Compact(*to)
			return nil
		}
	}
	flags.StringVar(&o.shard, "shard", "", "`name` of this operator among several that share the cluster; needs --namespaces and --leader-elect")
	flags.Func("namespaces", "`list` of the namespaces to reconcile, separated by commas (default: all)", list(&o.claim.Namespaces))
	flags.Func("except-namespaces", "`list` of the namespaces that shards reconcile; for the operator without --shard", list(&o.claim.Except))
	flags.BoolVar(&o.claim.Webhooks, webhooksFlag, true,
		"serve the webhooks, keep their certificates and migrate stored objects; one operator of a cluster does (default with --shard: false)")
}

// completeShard leaves the webhooks to the operator that is not a shard, unless told otherwise.
func (o *options) completeShard(flags *flag.FlagSet) {
	told := false
	flags.Visit(func(f *flag.Flag) { told = told || f.Name == webhooksFlag })
	if o.shard != "" && !told {
		o.claim.Webhooks = false
	}
}

func (o *options) validateShard() error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	c := o.claim
	refuse(o.shard != "" && len(validation.IsDNS1123Label(o.shard)) > 0, "--shard %q is not lowercase letters, digits and dashes, at most 63", o.shard)
	for _, namespace := range slices.Concat(c.Namespaces, c.Except) {
		refuse(len(validation.IsDNS1123Label(namespace)) > 0, "%q is not the name of a namespace", namespace)
	}
	refuse(o.shard != "" && len(c.Namespaces) == 0, "--shard needs --namespaces")
	refuse(o.shard == "" && len(c.Namespaces) > 0, "--namespaces needs --shard, by which others know whose they are")
	refuse(len(c.Namespaces) > 0 && len(c.Except) > 0, "--namespaces and --except-namespaces exclude each other")
	refuse(o.shard == "" && !c.Webhooks, "--webhooks=false is for shards")
	refuse((o.shard != "" || len(c.Except) > 0) && !o.leaderElect, "operators that share a cluster need --leader-elect: without a Lease, nobody knows what they claim")
	return errors.Join(errs...)
}

// userAgent names the shard, so that the audit log of the API server tells them apart.
func (o *options) userAgent() string {
	if o.shard == "" {
		return "workload-operator/" + version()
	}
	return "workload-operator/" + version() + " shard/" + o.shard
}

// leaderName is the label of the metric about leadership: of each shard one is looked for.
func (o *options) leaderName() string {
	if o.shard == "" {
		return o.leaderElectionID
	}
	return o.leaderElectionID + "/" + o.shard
}

// cacheOptions limit the caches to the namespaces of the claim. Objects outside of namespaces are in every cache.
func cacheOptions(claim claims.Claim) cache.Options {
	o := controllers.CacheOptions()
	switch {
	case len(claim.Namespaces) > 0:
		o.DefaultNamespaces = map[string]cache.Config{}
		for _, namespace := range claim.Namespaces {
			o.DefaultNamespaces[namespace] = cache.Config{}
		}
	case len(claim.Except) > 0:
		var others []fields.Selector
		for _, namespace := range claim.Except {
			others = append(others, fields.OneTermNotEqualSelector("metadata.namespace", namespace))
		}
		o.DefaultNamespaces = map[string]cache.Config{cache.AllNamespaces: {FieldSelector: fields.AndSelectors(others...)}}
	}
	return o
}

// newLock makes what leader election works with, nil if there is none. The manager is asked for only when leadership changes.
func newLock(config *rest.Config, o *options, logger logr.Logger, mgr func() ctrl.Manager) (*claims.Lock, error) {
	if !o.leaderElect {
		return nil, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.UserAgent += "/leader-election"
	// One request that hangs must not cost the leadership.
	config.Timeout = leaseRenewal / 2
	leases, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return claims.NewLock(leases, claims.Options{
		Namespace: o.namespace,
		Name:      o.leaderElectionID,
		Shard:     o.shard,
		Identity:  host + "_" + string(uuid.NewUUID()),
		Claim:     o.claim,
		Hold:      claimHold,
		Log:       logger,
		Event: func(lease *coordinationv1.Lease, message string) {
			lease = lease.DeepCopy()
			lease.APIVersion, lease.Kind = coordinationv1.SchemeGroupVersion.String(), "Lease"
			mgr().GetEventRecorder(workloadv1.FieldManager).Eventf(lease, nil, corev1.EventTypeNormal, "LeaderElection", "Lead", "%s", message)
		},
	}), nil
}
