package certs

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

// backdate is how far certificates start in the past, for API servers whose clock is behind ours.
const backdate = 5 * time.Minute

// issue carries out a step: it returns the new data of the Secret. The step must come from plan for the same observation.
func issue(step Step, o Observation, l Lifetimes) (map[string][]byte, error) {
	switch step {
	case StepReplace:
		return replaceAll(o, l)
	case StepRestore:
		return encode(o.serving.bundle, nil, o.serving.pair.Certificate, o.serving.pair.PrivateKey)
	case StepPublishAuthority:
		return publishAuthority(o, l)
	case StepSwitchLeaf, StepRenewLeaf:
		return signLeaf(o.secret.bundle, o.secret.signer, o.secret.signerKey, o, l)
	case StepDropAuthorities:
		return encode([]*x509.Certificate{o.secret.signer}, o.secret.signerKey, o.secret.pair.Certificate, o.secret.pair.PrivateKey)
	}
	return nil, fmt.Errorf("unknown step %q", step)
}

func replaceAll(o Observation, l Lifetimes) (map[string][]byte, error) {
	authority, key, err := newAuthority(o.now, l.Authority)
	if err != nil {
		return nil, err
	}
	return signLeaf([]*x509.Certificate{authority}, authority, key, o, l)
}

// publishAuthority keeps every authority that is still valid: replicas may serve certificates of more than one.
func publishAuthority(o Observation, l Lifetimes) (map[string][]byte, error) {
	authority, key, err := newAuthority(o.now, l.Authority)
	if err != nil {
		return nil, err
	}
	var bundle []*x509.Certificate
	for _, old := range o.secret.bundle {
		if o.now.Before(old.NotAfter) {
			bundle = append(bundle, old)
		}
	}
	return encode(append(bundle, authority), key, o.secret.pair.Certificate, o.secret.pair.PrivateKey)
}

func signLeaf(bundle []*x509.Certificate, signer *x509.Certificate, signerKey crypto.Signer, o Observation, l Lifetimes,
) (map[string][]byte, error) {
	leaf, key, err := newLeaf(o.names, signer, signerKey, o.now, l.Leaf)
	if err != nil {
		return nil, err
	}
	return encode(bundle, signerKey, [][]byte{leaf}, key)
}

// encode writes the data of the Secret. Without a key for the authority that entry is left out.
func encode(bundle []*x509.Certificate, signerKey crypto.Signer, chain [][]byte, key crypto.PrivateKey) (map[string][]byte, error) {
	data := map[string][]byte{KeyBundle: encodeCertificates(bundle...)}
	for _, raw := range chain {
		data[KeyCertificate] = append(data[KeyCertificate], pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})...)
	}
	var err error
	if data[KeyPrivateKey], err = encodeKey(key); err != nil {
		return nil, fmt.Errorf("encoding the serving key: %w", err)
	}
	if signerKey == nil {
		return data, nil
	}
	if data[KeyAuthorityKey], err = encodeKey(signerKey); err != nil {
		return nil, fmt.Errorf("encoding the authority's key: %w", err)
	}
	return data, nil
}

func encodeKey(key crypto.PrivateKey) ([]byte, error) {
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), nil
}

func newAuthority(now time.Time, life time.Duration) (*x509.Certificate, crypto.Signer, error) {
	template, key, err := newTemplate(now, now.Add(life))
	if err != nil {
		return nil, nil, fmt.Errorf("making an authority: %w", err)
	}
	// The time in the name tells two authorities apart for whoever reads the bundle.
	template.Subject = pkix.Name{CommonName: "workload-operator-webhook-ca " + now.UTC().Format(time.RFC3339)}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.MaxPathLenZero = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, fmt.Errorf("making an authority: %w", err)
	}
	authority, err := x509.ParseCertificate(raw)
	return authority, key, err
}

func newLeaf(names []string, signer *x509.Certificate, signerKey crypto.Signer, now time.Time, life time.Duration,
) ([]byte, crypto.Signer, error) {
	end := now.Add(life)
	if end.After(signer.NotAfter) {
		end = signer.NotAfter
	}
	template, key, err := newTemplate(now, end)
	if err != nil {
		return nil, nil, fmt.Errorf("making a serving certificate: %w", err)
	}
	template.Subject = pkix.Name{CommonName: "workload-operator-webhook"}
	template.DNSNames = names
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	raw, err := x509.CreateCertificate(rand.Reader, template, signer, key.Public(), signerKey)
	if err != nil {
		return nil, nil, fmt.Errorf("making a serving certificate: %w", err)
	}
	return raw, key, nil
}

// newTemplate is what all our certificates share: an ECDSA P-256 key, which every API server and client accepts, and a
// random serial number.
func newTemplate(now, end time.Time) (*x509.Certificate, crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, err
	}
	return &x509.Certificate{SerialNumber: serial.Add(serial, big.NewInt(1)), NotBefore: now.Add(-backdate), NotAfter: end}, key, nil
}
