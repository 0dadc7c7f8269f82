package controlplane

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Part is one process of the control plane, named like its binary.
type Part string

// The parts, in the order they start.
const (
	Etcd              Part = "etcd"
	APIServer         Part = "kube-apiserver"
	ControllerManager Part = "kube-controller-manager"
	Scheduler         Part = "kube-scheduler"
	Kwok              Part = "kwok"
)

// kubectl is built with the parts, but is not one of them.
const kubectl = "kubectl"

const (
	defaultNodes        = 6
	defaultReadyTimeout = time.Minute
)

// AllParts returns every part, in the order they start.
func AllParts() []Part {
	return []Part{Etcd, APIServer, ControllerManager, Scheduler, Kwok}
}

// APIOnly returns the parts that make an API without controllers, nodes or Pods. It is ready in about three seconds.
func APIOnly() []Part {
	return []Part{Etcd, APIServer}
}

// ParseParts reads a comma separated list of parts. The short names api, controllers and scheduler are understood too.
func ParseParts(list string) ([]Part, error) {
	short := map[string]Part{"api": APIServer, "controllers": ControllerManager, "scheduler": Scheduler}
	var parts []Part
	for name := range strings.SplitSeq(list, ",") {
		part := Part(strings.TrimSpace(name))
		if long, ok := short[string(part)]; ok {
			part = long
		}
		if !slices.Contains(AllParts(), part) {
			return nil, fmt.Errorf("unknown part %q: choose from %s", part, joinParts(AllParts()))
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// Options says what [Start] starts. The zero value is a complete plane with six nodes in three zones.
type Options struct {
	// Parts to start; nil means all. Etcd and the API server always run.
	Parts []Part
	// Nodes is how many fake nodes to create, spread evenly over three zones; 0 means 6. Ignored without kwok.
	Nodes int
	// Dir holds keys, data and logs, and goes when the plane stops. It must be absent, empty, or left by an earlier
	// plane. Empty means a fresh directory under .plane/run.
	Dir string
	// APIServerPort on 127.0.0.1; 0 picks a free one.
	APIServerPort int
	// Kubeconfig of an existing cluster. When set, nothing is started and that cluster is used.
	Kubeconfig string
	// ExtraArgs are appended to the arguments of a part, and so override them.
	ExtraArgs map[Part][]string
	// ReadyTimeout bounds the wait for readiness, building excluded; 0 means one minute.
	ReadyTimeout time.Duration
	// Root is the root of the repository; empty finds it from the working directory.
	Root string
	// Log receives progress lines; nil discards them.
	Log io.Writer
}

func (o *Options) setDefaults() error {
	if o.Log == nil {
		o.Log = io.Discard
	}
	if o.ReadyTimeout == 0 {
		o.ReadyTimeout = defaultReadyTimeout
	}
	if o.Nodes == 0 {
		o.Nodes = defaultNodes
	}
	if o.Nodes < 0 {
		return fmt.Errorf("number of nodes %d is negative", o.Nodes)
	}
	if o.APIServerPort < 0 || o.APIServerPort > 65535 {
		return fmt.Errorf("port %d is not between 0 and 65535", o.APIServerPort)
	}
	if o.APIServerPort != 0 && !free(o.APIServerPort) {
		return fmt.Errorf("port %d is in use: stop what listens there, or choose another port (0 picks a free one)", o.APIServerPort)
	}
	if o.Root == "" {
		root, err := FindRoot()
		if err != nil {
			return err
		}
		o.Root = root
	}
	return o.setParts()
}

// setParts puts the parts in the order they start, etcd and the API server always among them.
func (o *Options) setParts() error {
	wanted := o.Parts
	if wanted == nil {
		wanted = AllParts()
	}
	wanted = append(APIOnly(), wanted...)
	o.Parts = nil
	for _, part := range AllParts() {
		if slices.Contains(wanted, part) {
			o.Parts = append(o.Parts, part)
		}
	}
	for _, part := range wanted {
		if !slices.Contains(o.Parts, part) {
			return fmt.Errorf("unknown part %q: choose from %s", part, joinParts(AllParts()))
		}
	}
	return nil
}

func joinParts(parts []Part) string {
	names := make([]string, len(parts))
	for i, part := range parts {
		names[i] = string(part)
	}
	return strings.Join(names, ", ")
}
