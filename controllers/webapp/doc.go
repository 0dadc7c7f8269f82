// Package webapp reconciles WebApps: a Deployment and a Service, and on request a HorizontalPodAutoscaler, a
// PodDisruptionBudget and an Ingress.
//
// A pass is observe (cache only), plan (pure), apply (the only writes to children), statusOf (pure), one status write if
// the status differs, and events after it succeeded. It reads apis, controllers/podtemplate and controllers/podhealth,
// and is set up by controllers.
//
// The one invariant: an object that the WebApp does not control by UID is never written, and a pass that finds
// everything in place sends no request at all.
package webapp
