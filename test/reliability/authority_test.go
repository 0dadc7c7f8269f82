package reliability

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/example/workload-operator/test/operator"
)

// newSecretData is a certificate Secret of a new authority, complete with its key.
func newSecretData(t *testing.T) map[string][]byte {
	t.Helper()
	host := "workload-operator-webhook-service." + operator.Namespace + ".svc"
	template := func(name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
			NotBefore: time.Now().Add(-5 * time.Minute), NotAfter: time.Now().Add(24 * time.Hour), BasicConstraintsValid: true,
		}
	}
	authority, leaf := template("control "+time.Now().String()), template("leaf")
	authority.IsCA, authority.KeyUsage = true, x509.KeyUsageCertSign
	leaf.DNSNames, leaf.ExtKeyUsage = []string{host, host + ".cluster.local"}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	authorityKey, leafKey := newKey(t), newKey(t)
	return map[string][]byte{
		"ca.crt":  sign(t, authority, authority, authorityKey.Public(), authorityKey),
		"ca.key":  encodeKey(t, authorityKey),
		"tls.crt": sign(t, leaf, authority, leafKey.Public(), authorityKey),
		"tls.key": encodeKey(t, leafKey),
	}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t *testing.T, template, parent *x509.Certificate, public crypto.PublicKey, key crypto.Signer) []byte {
	t.Helper()
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
}

func encodeKey(t *testing.T, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}
