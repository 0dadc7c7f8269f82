package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// tokenLifetime of the kubeconfigs made by KubeconfigFor: longer than any plane is meant to live.
const tokenLifetime = 30 * 24 * time.Hour

// systemMasters may do everything, RBAC or not.
const systemMasters = "system:masters"

// writeKubeconfigs makes the client certificates of the administrator and of the parts.
func (p *Plane) writeKubeconfigs(ca *authority) error {
	identities := []struct {
		file, user string
		groups     []string
	}{
		{adminKubeconfig, "plane-admin", []string{systemMasters}},
		{kubeconfigOf(ControllerManager), "system:kube-controller-manager", nil},
		{kubeconfigOf(Scheduler), "system:kube-scheduler", nil},
		{kubeconfigOf(Kwok), "kwok", []string{systemMasters}},
	}
	cluster := &clientcmdapi.Cluster{
		Server:                   "https://" + loopback(p.ports.apiServer),
		CertificateAuthorityData: ca.pem,
	}
	for _, id := range identities {
		pair, err := ca.client(id.user, id.groups...)
		if err != nil {
			return err
		}
		auth := &clientcmdapi.AuthInfo{ClientCertificateData: pair.cert, ClientKeyData: pair.key}
		if err := writeKubeconfig(p.path(id.file), cluster, auth); err != nil {
			return err
		}
	}
	return nil
}

func writeKubeconfig(path string, cluster *clientcmdapi.Cluster, auth *clientcmdapi.AuthInfo) error {
	const name = "plane"
	content, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: cluster},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: auth},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	})
	if err != nil {
		return fmt.Errorf("encoding kubeconfig %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("creating the directory of kubeconfig %s: %w", path, err)
	}
	return writeFileAtomically(path, content)
}

// loadRESTConfig reads a kubeconfig for clients without a rate limit.
func loadRESTConfig(kubeconfig string) (*rest.Config, error) {
	if _, err := os.Stat(kubeconfig); err != nil {
		return nil, fmt.Errorf("no kubeconfig at %s: check the path", kubeconfig)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig %s: %w", kubeconfig, err)
	}
	config.QPS = -1
	return config, nil
}

// KubeconfigFor writes a kubeconfig that authenticates as a service account, which must exist, with a token of the
// TokenRequest API. It returns the path. Use it to run a program under the permissions it has in a cluster.
func (p *Plane) KubeconfigFor(ctx context.Context, namespace, serviceAccount string) (string, error) {
	client, err := kubernetes.NewForConfig(p.RESTConfig())
	if err != nil {
		return "", fmt.Errorf("creating a client: %w", err)
	}
	seconds := int64(tokenLifetime.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	answer, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, serviceAccount, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("requesting a token for service account %s/%s: %w", namespace, serviceAccount, err)
	}
	config := rest.CopyConfig(p.config)
	if err := rest.LoadTLSFiles(config); err != nil {
		return "", fmt.Errorf("reading the certificate authority: %w", err)
	}
	cluster := &clientcmdapi.Cluster{
		Server:                   config.Host,
		CertificateAuthorityData: config.CAData,
		InsecureSkipTLSVerify:    config.Insecure,
		TLSServerName:            config.ServerName,
	}
	path := filepath.Join(p.scratch, "service-accounts", namespace+"_"+serviceAccount+".kubeconfig")
	return path, writeKubeconfig(path, cluster, &clientcmdapi.AuthInfo{Token: answer.Status.Token})
}
