package certs

import (
	"context"
	"os"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// usable says whether the Secret can be served, and tells when it cannot.
func (c *Certificates) usable(ctx context.Context, mode Mode, secret *corev1.Secret, o Observation) bool {
	problem := c.problemWith(mode, o)
	c.complain(ctx, mode, secret, problem)
	return problem == nil
}

// problemWith says why the Secret cannot be served, with advice to whoever writes it; nil when it can.
func (c *Certificates) problemWith(mode Mode, o Observation) *Violation {
	if o.secret == nil {
		if mode.follows() {
			return &Violation{ReasonMissing, "it does not exist; " + c.advice(mode)}
		}
		return &Violation{ReasonMissing, "it does not exist"}
	}
	v := judge(o.secret, o.names, o.now)
	if v == nil || !mode.follows() {
		return v
	}
	return &Violation{v.Reason, v.Message + "; " + c.advice(mode)}
}

// advice is what to do about a Secret that others write.
func (c *Certificates) advice(mode Mode) string {
	if mode == ModeCertManager {
		return "cert-manager writes it: see kubectl -n " + c.options.Namespace + " describe certificates"
	}
	return "put a certificate for " + c.names[0] + " and " + c.names[1] + " into " + KeyCertificate + ", its key into " +
		KeyPrivateKey + " and the authorities that signed it into " + KeyBundle
}

// complain tells a new problem with the Secret, once, in the log, and to those who write the Secret by an Event; nil ends it.
func (c *Certificates) complain(ctx context.Context, mode Mode, secret *corev1.Secret, v *Violation) {
	former := c.problem.Swap(v)
	if v == nil {
		unusable.Set(0)
		return
	}
	unusable.Set(1)
	if former != nil && former.Message == v.Message {
		return
	}
	log.FromContext(ctx).Info("The certificate Secret cannot be served", "secret", c.options.SecretName, "reason", v.Reason, "problem", v.Message)
	if !mode.follows() {
		// It will be put right by us.
		return
	}
	if err := c.client.Create(ctx, c.eventAbout(secret, v), client.FieldOwner(FieldManager)); err != nil && ctx.Err() == nil {
		log.FromContext(ctx).Error(err, "Could not write an Event about the certificate Secret")
	}
}

func (c *Certificates) eventAbout(secret *corev1.Secret, v *Violation) *eventsv1.Event {
	// The name is only for telling replicas apart.
	host, _ := os.Hostname()
	event := &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: c.options.Namespace, GenerateName: c.options.SecretName + "-"},
		EventTime:           metav1.NewMicroTime(c.options.Now()),
		Type:                corev1.EventTypeWarning,
		Reason:              string(v.Reason),
		Action:              "ReadCertificate",
		Note:                v.Message[:min(len(v.Message), 1024)],
		ReportingController: FieldManager,
		ReportingInstance:   "workload-operator-" + host,
		Regarding:           corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: c.options.Namespace, Name: c.options.SecretName},
	}
	if secret != nil {
		event.Regarding.UID = secret.UID
		event.Regarding.ResourceVersion = secret.ResourceVersion
	}
	return event
}
