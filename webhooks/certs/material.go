package certs

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// Keys of the Secret's data.
const (
	// KeyCertificate holds the serving certificate, PEM.
	KeyCertificate = "tls.crt"
	// KeyPrivateKey holds the private key of the serving certificate, PEM.
	KeyPrivateKey = "tls.key"
	// KeyBundle holds the certificates of every authority to be trusted, PEM: two of them while one replaces the other.
	KeyBundle = "ca.crt"
	// KeyAuthorityKey holds the private key of the authority that signs the next certificate, PEM.
	// Removing it from the Secret asks for a new authority.
	KeyAuthorityKey = "ca.key"
)

// material is the content of the Secret, decoded as far as it can be. What is missing or unreadable is nil and has its error.
type material struct {
	pair    *tls.Certificate
	pairErr error

	bundle    []*x509.Certificate
	bundleErr error

	// signer is the authority of the bundle that signerKey belongs to.
	signer    *x509.Certificate
	signerKey crypto.Signer
}

// decode reads the data of a Secret. It never fails: the policy judges what is there.
func decode(data map[string][]byte) *material {
	m := &material{}
	m.bundle, m.bundleErr = decodeBundle(data[KeyBundle])
	m.pair, m.pairErr = decodePair(data[KeyCertificate], data[KeyPrivateKey])
	m.signer, m.signerKey = decodeSigner(data[KeyAuthorityKey], m.bundle)
	return m
}

func decodePair(certificate, key []byte) (*tls.Certificate, error) {
	if len(certificate) == 0 || len(key) == 0 {
		return nil, fmt.Errorf("%s or %s is empty", KeyCertificate, KeyPrivateKey)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		// The errors of crypto/tls name the file and the block, never its content.
		return nil, err
	}
	return &pair, nil
}

func decodeBundle(data []byte) ([]*x509.Certificate, error) {
	var bundle []*x509.Certificate
	rest := bytes.TrimSpace(data)
	for len(rest) > 0 {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil, errors.New("not PEM")
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("unexpected PEM block %q", block.Type)
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		bundle = append(bundle, certificate)
		rest = bytes.TrimSpace(rest)
	}
	if len(bundle) == 0 {
		return nil, errors.New("no certificate in it")
	}
	return bundle, nil
}

// decodeSigner returns the authority whose private key is kept, or nil when there is none that this package can use.
func decodeSigner(data []byte, bundle []*x509.Certificate) (*x509.Certificate, crypto.Signer) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, nil
	}
	key, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, nil
	}
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok {
		return nil, nil
	}
	for _, authority := range bundle {
		if authority.IsCA && public.Equal(authority.PublicKey) {
			return authority, key
		}
	}
	return nil, nil
}

// leaf is the serving certificate, nil when it cannot be read.
func (m *material) leaf() *x509.Certificate {
	if m.pair == nil {
		return nil
	}
	return m.pair.Leaf
}

// issuer is the authority of the bundle that signed the serving certificate, nil when none did.
func (m *material) issuer() *x509.Certificate {
	leaf := m.leaf()
	if leaf == nil {
		return nil
	}
	for _, authority := range m.bundle {
		if leaf.CheckSignatureFrom(authority) == nil {
			return authority
		}
	}
	return nil
}

// bundlePEM is the bundle as it is published: certificates only, in the order of the Secret. Nil when it cannot be read.
func (m *material) bundlePEM() []byte {
	if len(m.bundle) == 0 {
		return nil
	}
	return encodeCertificates(m.bundle...)
}

// pool is the bundle as trusted roots.
func (m *material) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	for _, authority := range m.bundle {
		pool.AddCert(authority)
	}
	return pool
}

func encodeCertificates(certificates ...*x509.Certificate) []byte {
	var out []byte
	for _, certificate := range certificates {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})...)
	}
	return out
}
