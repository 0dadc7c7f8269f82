package reliability

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/workload-operator/test/operator"
)

// hurried are the arguments for rotations that follow each other closely, with connections that last a second, so that the
// API server meets each new certificate at once.
func hurried() []string {
	return []string{"--certificate-mode=self-managed", "--authority-overlap=" + overlap.String(), "--webhook-connection-age=1s"}
}

// O-01: leaf and authority are replaced again and again while requests of every sort come in, and none fails.
func TestRotationUnderLoad(t *testing.T) {
	s := attach(t)
	s.reset(t, hurried()...)
	l := startLoad(t, s)
	connections := s.balancer.accepted.Load()
	for range *leaves {
		s.rotateLeaf(t)
		s.awaitConnections(t)
	}
	for range *authorities {
		s.rotateAuthority(t)
		s.awaitConnections(t)
	}
	connections = s.balancer.accepted.Load() - connections
	failures := l.end(t, fmt.Sprintf("%d leaf and %d authority rotations, %d connections", *leaves, *authorities, connections))
	if len(failures) > 0 {
		t.Errorf("%d requests failed, the first:\n%s", len(failures), first(failures))
	}
	if connections < int64(*leaves+*authorities) {
		t.Errorf("only %d new connections: the new certificates were not met", connections)
	}
}

// The negative control of TestRotationUnderLoad: leaf, authority and bundle change in one step, as they do without an overlap.
func TestRotationWithoutOverlapFails(t *testing.T) {
	if !*controls {
		t.Log("a negative control: run with -controls")
		return
	}
	s := attach(t)
	s.reset(t, hurried()...)
	l := startLoad(t, s)
	for range 5 {
		old := s.secret(t).Data["tls.crt"]
		secret := s.secret(t)
		secret.Data = newSecretData(t)
		if err := s.client.Update(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		s.awaitServed(t, old)
		s.awaitConnections(t)
	}
	if failures := l.end(t, "5 rotations of everything at once"); len(failures) == 0 {
		t.Error("no request failed: the load would not notice a missing overlap")
	} else {
		t.Logf("the first failures:\n%s", first(failures))
	}
}

// rotateLeaf takes the certificate away, so that the leader signs a new one, and waits until every replica serves that.
func (s *site) rotateLeaf(t *testing.T) {
	t.Helper()
	old := s.secret(t).Data["tls.crt"]
	s.drop(t, "tls.crt")
	s.awaitServed(t, old)
}

// rotateAuthority takes the key of the authority away, so that the leader makes a new one, and waits for the end of the last phase.
func (s *site) rotateAuthority(t *testing.T) {
	t.Helper()
	before := s.secret(t)
	s.drop(t, "ca.key")
	s.awaitServed(t, before.Data["tls.crt"])
	eventually(t, "the old authority is dropped", func() error {
		bundle := s.secret(t).Data["ca.crt"]
		if string(bundle) == string(before.Data["ca.crt"]) || certificatesIn(bundle) != 1 {
			return fmt.Errorf("%d authorities in the bundle", certificatesIn(bundle))
		}
		return nil
	})
}

// awaitConnections waits until the API server has met what is served now, on several connections.
func (s *site) awaitConnections(t *testing.T) {
	t.Helper()
	before := s.balancer.accepted.Load()
	eventually(t, "new connections are made", func() error {
		if made := s.balancer.accepted.Load() - before; made < 5 {
			return fmt.Errorf("%d connections", made)
		}
		return nil
	})
}

func (s *site) drop(t *testing.T, key string) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"data":{%q:null}}`, key))
	if err := s.client.Patch(t.Context(), s.secret(t), patch); err != nil {
		t.Fatal(err)
	}
}

func (s *site) secret(t *testing.T) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: operator.Namespace, Name: "workload-operator-webhook-certs"}
	eventually(t, "the Secret is read", func() error { return s.client.Get(context.WithoutCancel(t.Context()), key, secret) })
	return secret
}

// awaitServed waits until the Secret has another certificate than the old one, and every replica serves it.
func (s *site) awaitServed(t *testing.T, old []byte) {
	t.Helper()
	eventually(t, "every replica serves the new certificate", func() error {
		s.revive(t)
		current := s.secret(t).Data["tls.crt"]
		block, _ := pem.Decode(current)
		if block == nil || string(current) == string(old) {
			return errors.New("no new certificate in the Secret")
		}
		want, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return err
		}
		for i, r := range s.replicas {
			got, err := r.leaf()
			if err != nil {
				return fmt.Errorf("replica %d: %w", i, err)
			}
			if !got.Equal(want) {
				return fmt.Errorf("replica %d serves another certificate", i)
			}
		}
		return nil
	})
}

func certificatesIn(bundle []byte) int {
	count := 0
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		count++
	}
	return count
}
