package conversion

import (
	"testing"
)

func TestSpokePath(t *testing.T) {
	const kept = "metadata.annotations[workload.example.com/v1-fields]"
	cases := map[string]struct {
		table *table
		want  map[string]string
	}{
		"WebApp": {&webApp, map[string]string{
			"spec":                         "spec",
			"spec.image":                   "spec.image",
			"spec.imagePullPolicy":         "spec.image.pullPolicy",
			"spec.replicas":                "spec.scale.instances",
			"spec.port":                    "spec.expose.port",
			"spec.targetPort":              "spec.expose.targetPort",
			"spec.autoscaling":             "spec.scale",
			"spec.autoscaling.maxReplicas": "spec.scale.max",
			"spec.autoscaling.minReplicas": "spec.scale.min",
			"spec.autoscaling.targetCPUUtilizationPercentage":    "spec.scale.targetCPU",
			"spec.autoscaling.targetMemoryUtilizationPercentage": kept,
			"spec.env":                                   "spec.env",
			"spec.env[2].name":                           "spec.env",
			"spec.env[2].value":                          "spec.env",
			"spec.env[2].valueFrom.secretKeyRef":         kept,
			"spec.resources":                             "spec.resources",
			"spec.resources.requests":                    "spec.resources",
			"spec.resources.requests.cpu":                "spec.resources.cpu",
			"spec.resources.requests[memory]":            "spec.resources.memory",
			"spec.resources.requests[ephemeral-storage]": kept,
			"spec.resources.limits[cpu]":                 kept,
			"spec.probes.readiness.httpGet.path":         "spec.healthCheck.path",
			"spec.probes.readiness.httpGet.port":         kept,
			"spec.probes.readiness":                      "spec.healthCheck",
			"spec.probes.readiness.periodSeconds":        "spec.healthCheck.interval",
			"spec.probes.liveness.httpGet":               kept,
			"spec.automountServiceAccountToken":          "spec.disableTokenMount",
			"spec.volumes[0]":                            kept,
			"spec.terminationGracePeriodSeconds":         kept,
			"spec.newThing":                              kept,
			"status.phase":                               "status.state",
			"status.conditions[0].reason":                "status.conditions[0].reason",
			"metadata.name":                              "metadata.name",
			"metadata.annotations":                       "metadata.annotations",
			"spec.imagex":                                kept,
		}},
		"PodSet": {&podSet, map[string]string{
			"spec.replicas":                               "spec.size",
			"spec.image":                                  "spec.container.image",
			"spec.command[1]":                             "spec.container.command[1]",
			"spec.resources.limits[cpu]":                  "spec.container.resources.limits[cpu]",
			"spec.minReadySeconds":                        "spec.readyAfter",
			"spec.updateStrategy":                         "spec.updatePolicy",
			"spec.updateStrategy.type":                    "spec.updatePolicy",
			"spec.updateStrategy.rollingUpdate.partition": kept,
			"spec.suspend":                                kept,
			"metadata.annotations[batch.example.com/description]": "spec.description",
			"status.podNames[3]": "status.pods",
		}},
	}
	for name, c := range cases {
		for hub, want := range c.want {
			if got := SpokePath(c.table.kind, "v1alpha1", hub); got != want {
				t.Errorf("%s: SpokePath(%q) = %q, want %q", name, hub, got, want)
			}
		}
	}
	if got := SpokePath(webApp.kind, "v9", "spec.replicas"); got != "spec.replicas" {
		t.Errorf("unknown version: %q", got)
	}
}
