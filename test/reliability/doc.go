// Package reliability holds the suite that looks for failed requests: two replicas of the manager, started with the arguments,
// environment, identity and permissions of the shipped Deployment, behind a balancer that plays the Service with the delay that
// real endpoints have, under a constant load of mixed requests, while certificates rotate and replicas are replaced.
//
// docs/reliability.md has the numbers of the long runs and the commands to repeat them; the default run is short.
package reliability
