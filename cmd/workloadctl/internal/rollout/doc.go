// Package rollout follows, starts and lists the rollouts of WebApps and PodSets.
//
// A WebApp has the history that Kubernetes keeps for its Deployment; a PodSet keeps none but its Pods, so its history is the
// revisions that Pods of it have now. It reads v1 alone, and imports apis.
package rollout
