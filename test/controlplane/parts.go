package controlplane

import (
	"fmt"
	"strconv"
)

// Files of a plane, relative to its directory.
const (
	caFile          = "pki/ca.crt"
	servingCertFile = "pki/serving.crt"
	servingKeyFile  = "pki/serving.key"
	tokenKeyFile    = "pki/service-account.key"
	adminKubeconfig = "kubeconfig"
	auditPolicyFile = "audit-policy.yaml"
	auditLogFile    = "audit.log"
	kwokConfigFile  = "kwok.yaml"
	etcdDataDir     = "etcd"
	logDir          = "logs"
)

const (
	serviceRange       = "10.96.0.0/16"
	apiServerServiceIP = "10.96.0.1"
	podRange           = "10.64.0.0/12"
)

// auditPolicy records every request once it is answered. Watches are recorded when they start, too.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// arguments returns the command line of a part.
func (p *Plane) arguments(part Part) []string {
	arguments := map[Part]func() []string{
		Etcd:              p.etcdArguments,
		APIServer:         p.apiServerArguments,
		ControllerManager: p.controllerManagerArguments,
		Scheduler:         p.schedulerArguments,
		Kwok:              p.kwokArguments,
	}
	return append(arguments[part](), p.options.ExtraArgs[part]...)
}

func (p *Plane) etcdArguments() []string {
	client := "https://" + loopback(p.ports.etcdClient)
	peer := "https://" + loopback(p.ports.etcdPeer)
	return []string{
		"--name=plane",
		"--data-dir=" + p.path(etcdDataDir),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--cert-file=" + p.path(servingCertFile),
		"--key-file=" + p.path(servingKeyFile),
		"--trusted-ca-file=" + p.path(caFile),
		"--client-cert-auth",
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=plane=" + peer,
		"--peer-cert-file=" + p.path(servingCertFile),
		"--peer-key-file=" + p.path(servingKeyFile),
		"--peer-trusted-ca-file=" + p.path(caFile),
		"--peer-client-cert-auth",
		// The data must outlive the process, not the machine: without fsync a slow disk cannot slow the tests down.
		"--unsafe-no-fsync",
		"--log-level=warn",
	}
}

func (p *Plane) apiServerArguments() []string {
	return []string{
		"--etcd-servers=https://" + loopback(p.ports.etcdClient),
		"--etcd-cafile=" + p.path(caFile),
		"--etcd-certfile=" + p.path(servingCertFile),
		"--etcd-keyfile=" + p.path(servingKeyFile),
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(p.ports.apiServer),
		// Unset, the address is looked up on the default route, which a sandbox may not have; and a loopback address is
		// no valid endpoint of the kubernetes Service, so nothing may reconcile it.
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		"--tls-cert-file=" + p.path(servingCertFile),
		"--tls-private-key-file=" + p.path(servingKeyFile),
		"--client-ca-file=" + p.path(caFile),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + p.path(tokenKeyFile),
		"--service-account-signing-key-file=" + p.path(tokenKeyFile),
		"--service-cluster-ip-range=" + serviceRange,
		"--allow-privileged",
		"--audit-policy-file=" + p.path(auditPolicyFile),
		"--audit-log-path=" + p.path(auditLogFile),
		// A request is in the log before its answer is complete, so that counting needs no guesses.
		"--audit-log-mode=blocking-strict",
		"--audit-log-maxsize=0",
		"--profiling=false",
	}
}

// controllerManagerArguments gives each controller its own service account, as real clusters do.
func (p *Plane) controllerManagerArguments() []string {
	return append(p.servingArguments(ControllerManager, p.ports.controllerManager),
		"--use-service-account-credentials",
		"--service-account-private-key-file="+p.path(tokenKeyFile),
		"--root-ca-file="+p.path(caFile),
		"--kube-api-qps=200",
		"--kube-api-burst=400",
	)
}

func (p *Plane) schedulerArguments() []string {
	return append(p.servingArguments(Scheduler, p.ports.scheduler),
		"--kube-api-qps=200",
		"--kube-api-burst=400",
	)
}

// servingArguments are what controller manager and scheduler share. Leader election would make them exit, instead of
// wait, while the API server restarts.
func (p *Plane) servingArguments(part Part, port int) []string {
	kubeconfig := p.path(kubeconfigOf(part))
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--tls-cert-file=" + p.path(servingCertFile),
		"--tls-private-key-file=" + p.path(servingKeyFile),
		"--leader-elect=false",
		"--profiling=false",
	}
}

func (p *Plane) kwokArguments() []string {
	return []string{
		"--kubeconfig=" + p.path(kubeconfigOf(Kwok)),
		"--config=" + p.path(kwokConfigFile),
		"--manage-all-nodes",
		"--cidr=" + podRange,
		"--node-lease-duration-seconds=40",
		"--server-address=" + loopback(p.ports.kwok),
	}
}

// healthURL is where a part that listens on port says that it works.
func healthURL(part Part, port int) string {
	switch part {
	case Etcd:
		return "https://" + loopback(port) + "/health"
	case APIServer:
		return "https://" + loopback(port) + "/readyz"
	case Kwok:
		return "http://" + loopback(port) + "/healthz"
	default:
		return "https://" + loopback(port) + "/healthz"
	}
}

func (p *Plane) portOf(part Part) int {
	return map[Part]int{
		Etcd: p.ports.etcdClient, APIServer: p.ports.apiServer, ControllerManager: p.ports.controllerManager,
		Scheduler: p.ports.scheduler, Kwok: p.ports.kwok,
	}[part]
}

func kubeconfigOf(part Part) string { return fmt.Sprintf("pki/%s.kubeconfig", part) }
