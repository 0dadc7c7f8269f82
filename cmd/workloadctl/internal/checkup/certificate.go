package checkup

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"
	"time"
)

// soon is how long before its end a certificate should have been replaced.
const soon = 14 * 24 * time.Hour

// judgeCertificate looks at the Secret. What it says about names and trust is what the operator itself demands before it serves.
func judgeCertificate(s *seen, c Commands) []Finding {
	if s.secretHidden || s.secret == nil && s.url != "" { // whoever is called by URL has it from elsewhere
		return nil
	}
	f := Finding{Severity: Error, Object: fmt.Sprintf("Secret %s/%s", s.service.Namespace, s.secretName)}
	if s.secret == nil {
		f.ID, f.Problem, f.Fix = "certificate-missing", "there is no serving certificate", certificateFix(s, c)
		return []Finding{f}
	}
	f.ID, f.Problem = certificateProblem(s)
	if f.ID == "" {
		return nil
	}
	if f.ID == "certificate-expires" {
		f.Severity = Warning
	}
	f.Problem += " (" + s.certificateMode() + ")"
	f.Fix = certificateFix(s, c)
	return []Finding{f}
}

func certificateProblem(s *seen) (id, problem string) {
	for _, name := range []string{"tls.crt", "tls.key"} {
		if len(s.secret.Data[name]) == 0 {
			return "certificate-unreadable", name + " is empty"
		}
	}
	chain, err := chainOf(s)
	if err != nil {
		return "certificate-unreadable", "tls.crt and tls.key cannot be used: " + err.Error()
	}
	leaf, host := chain[0], s.service.Name+"."+s.service.Namespace+".svc"
	left := leaf.NotAfter.Sub(s.now)
	switch {
	case left <= 0:
		return "certificate-expired", "the serving certificate expired at " + leaf.NotAfter.UTC().Format(time.RFC3339)
	case s.now.Before(leaf.NotBefore):
		return "certificate-unreadable", "the serving certificate is not valid before " + leaf.NotBefore.UTC().Format(time.RFC3339)
	case leaf.VerifyHostname(host) != nil:
		return "certificate-names", "the serving certificate is not for " + host
	}
	if err := vouch(s.secret.Data["ca.crt"], chain, s.now); err != nil {
		return "certificate-untrusted", "ca.crt does not vouch for the serving certificate: " + err.Error()
	}
	if left < min(soon, leaf.NotAfter.Sub(leaf.NotBefore)/4) {
		return "certificate-expires", "the serving certificate should have been renewed, and expires at " + leaf.NotAfter.UTC().Format(time.RFC3339)
	}
	return "", ""
}

// unusable says that the certificate in the Secret is none that anybody can serve, so that nothing has to vouch for it.
func unusable(s *seen) bool {
	if s.secret == nil {
		return true
	}
	id, _ := certificateProblem(s)
	return id != "" && id != "certificate-expires"
}

// chainOf are the certificates of the Secret, the serving one first.
func chainOf(s *seen) ([]*x509.Certificate, error) {
	if s.secret == nil {
		return nil, fmt.Errorf("no Secret")
	}
	pair, err := tls.X509KeyPair(s.secret.Data["tls.crt"], s.secret.Data["tls.key"])
	if err != nil {
		return nil, err
	}
	chain := []*x509.Certificate{pair.Leaf}
	for _, raw := range pair.Certificate[1:] {
		certificate, err := x509.ParseCertificate(raw)
		if err != nil {
			return nil, err
		}
		chain = append(chain, certificate)
	}
	return chain, nil
}

// vouch says why the authorities do not vouch for a certificate, whatever its lifetime.
func vouch(authorities []byte, chain []*x509.Certificate, now time.Time) error {
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authorities) {
		return fmt.Errorf("it holds no certificate")
	}
	for _, certificate := range chain[1:] {
		between.AddCert(certificate)
	}
	if now.After(chain[0].NotAfter) {
		now = chain[0].NotAfter // that it has expired is another finding
	}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	return err
}

// certificateFix has whoever makes the certificate make another one.
func certificateFix(s *seen, c Commands) string {
	namespace := s.service.Namespace
	switch mode := s.certificateMode(); {
	case mode == "cert-manager" && s.secret != nil:
		return c.kubectl("-n", namespace, "delete", "secret", s.secretName)
	case mode == "provided" && s.argument("certificate-mode") == "provided":
		create := c.kubectl("-n", namespace, "create", "secret", "generic", s.secretName,
			"--from-file=tls.crt", "--from-file=tls.key", "--from-file=ca.crt", "--dry-run=client", "-o", "yaml")
		return create + " | " + c.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-")
	case mode == "provided":
		// The operator takes a Secret with its label over.
		return c.kubectl("-n", namespace, "label", "secret", s.secretName, "--overwrite", "app.kubernetes.io/managed-by=workload-operator")
	}
	// The operator replaces a certificate of its own that cannot be served before it is ready, so one that runs well had done it.
	return restart(s, c)
}

var injectorAnnotations = []string{
	"cert-manager.io/inject-ca-from", "cert-manager.io/inject-ca-from-secret", "cert-manager.io/inject-apiserver-ca",
}

// judgeBundles compares every caBundle with what is served.
func judgeBundles(s *seen, c Commands) []Finding {
	chain, err := chainOf(s)
	if err != nil || unusable(s) {
		chain = nil // its own finding, whose fix brings another one; whether a bundle is one can still be seen
	}
	var findings []Finding
	for _, t := range s.trusting() {
		if f := judgeTrust(s, c, t, chain); f != nil {
			findings = append(findings, *f)
		}
	}
	return findings
}

func judgeTrust(s *seen, c Commands, t trusting, chain []*x509.Certificate) *Finding {
	f := Finding{Severity: Error, Object: t.kind + " " + t.object.GetName()}
	var wrong []bundle
	for _, b := range t.bundles {
		switch {
		case !x509.NewCertPool().AppendCertsFromPEM(b.pem):
			f.ID, f.Problem = "ca-bundle-missing", "caBundle holds no certificate, so that the API server cannot trust the webhook"
		case chain == nil:
			continue
		default:
			err := vouch(b.pem, chain, s.now)
			if err == nil {
				continue
			}
			f.ID, f.Problem = "ca-bundle-stale", "caBundle does not vouch for the serving certificate: "+err.Error()
		}
		wrong = append(wrong, b)
	}
	if len(wrong) == 0 {
		return nil
	}
	for _, name := range injectorAnnotations {
		if value := t.object.GetAnnotations()[name]; value != "" {
			f.Problem += fmt.Sprintf("; it is left to the cainjector (%s=%s), which the fix takes it from", name, value)
			f.Fix += c.kubectl("annotate", strings.ToLower(t.kind), t.object.GetName(), name+"-") + " && "
		}
	}
	f.Fix += bundleFix(s, c, t, wrong)
	return &f
}

// bundleFix writes the authorities of the Secret, as the operator would.
func bundleFix(s *seen, c Commands, t trusting, wrong []bundle) string {
	authorities := "CA=$(" + c.kubectl("-n", s.service.Namespace, "get", "secret", s.secretName, "-o", `jsonpath={.data.ca\.crt}`) + ")"
	patch, how := `{\"spec\":{\"conversion\":{\"webhook\":{\"clientConfig\":{\"caBundle\":\"$CA\"}}}}}`, "merge"
	if t.kind != "CustomResourceDefinition" {
		var operations []string
		for _, b := range wrong {
			operations = append(operations, fmt.Sprintf(
				`{\"op\":\"test\",\"path\":\"/webhooks/%d/name\",\"value\":\"%s\"},{\"op\":\"add\",\"path\":\"/webhooks/%d/clientConfig/caBundle\",\"value\":\"$CA\"}`,
				b.index, b.webhook, b.index))
		}
		patch, how = "["+strings.Join(operations, ",")+"]", "json"
	}
	return authorities + " && " + c.kubectl("patch", strings.ToLower(t.kind), t.object.GetName(), "--type="+how, "-p") + ` "` + patch + `"`
}
