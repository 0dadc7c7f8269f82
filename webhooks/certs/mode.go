package certs

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Mode says who makes the serving certificate.
type Mode string

// Modes.
const (
	// ModeAuto decides by what it finds, see choose.
	ModeAuto Mode = "auto"
	// ModeSelfManaged is an authority and serving certificates of our own.
	ModeSelfManaged Mode = "self-managed"
	// ModeCertManager is a Secret that cert-manager writes.
	ModeCertManager Mode = "cert-manager"
	// ModeProvided is a Secret that somebody else writes.
	ModeProvided Mode = "provided"
)

// Modes returns every Mode, the default first.
func Modes() []Mode { return []Mode{ModeAuto, ModeSelfManaged, ModeCertManager, ModeProvided} }

// follows says that others write the Secret, and this operator only reads it.
func (m Mode) follows() bool { return m == ModeCertManager || m == ModeProvided }

const (
	// ownerLabel with ownerValue marks a Secret that this package made.
	ownerLabel = "app.kubernetes.io/managed-by"
	ownerValue = "workload-operator"
	// issuedBy is the annotation by which cert-manager names the Certificate that a Secret belongs to.
	issuedBy = "cert-manager.io/certificate-name"
)

// injectorAnnotations ask the cainjector of cert-manager to write the caBundle of the object that carries one of them.
var injectorAnnotations = []string{
	"cert-manager.io/inject-ca-from", "cert-manager.io/inject-ca-from-secret", "cert-manager.io/inject-apiserver-ca",
}

// injected says that the caBundle of a target is the cainjector's to write. Nobody else writes it then: two writers would never
// come to rest, and each of their writes makes the API server rebuild its caches.
func injected(target client.Object) bool {
	return slices.ContainsFunc(injectorAnnotations, func(name string) bool { return target.GetAnnotations()[name] != "" })
}

// choose decides what ModeAuto means now, and why. The signs are those of the objects that the operator may read anyway. Without
// a Secret, the former choice stands: a Secret that is deleted for a moment does not change hands.
func choose(former Mode, secret *corev1.Secret, targets []client.Object) (Mode, string) {
	switch {
	case secret != nil && secret.Annotations[issuedBy] != "":
		return ModeCertManager, "the Secret carries the annotation " + issuedBy
	case slices.ContainsFunc(targets, injected):
		return ModeCertManager, "an object to hold the caBundle asks for the cainjector"
	case secret == nil && former.follows():
		return former, "the Secret is gone, and was not ours"
	case secret == nil:
		return ModeSelfManaged, "there is no Secret yet"
	case secret.Labels[ownerLabel] != ownerValue && len(secret.Data[KeyAuthorityKey]) == 0:
		return ModeProvided, "the Secret has neither the label " + ownerLabel + "=" + ownerValue + " nor the key of an authority"
	}
	return ModeSelfManaged, "the Secret is ours"
}
