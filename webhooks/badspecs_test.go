package webhooks

import "k8s.io/apimachinery/pkg/runtime/schema"

// badSpecs are refusals of each kind and version, in its own field names. The first is by schema or CEL, the second by
// the webhook alone.
var badSpecs = map[schema.GroupVersionKind][]sample{
	webApp.WithVersion("v1"): {
		{reason: "A-01 replicas", spec: `{"replicas": 11}`, want: "spec.replicas"},
		{reason: "A-04 image", spec: `{"image": "Web App:1"}`, want: "spec.image"},
		{reason: "A-02 port", spec: `{"port": 65536}`, want: "spec.port"},
		{reason: "A-02 target port", spec: `{"targetPort": 0}`, want: "spec.targetPort"},
		{reason: "A-03 no image", spec: `{"image": null}`, want: "spec.image"},
		{reason: "A-05 mount", spec: `{"volumeMounts": [{"name": "a", "mountPath": "/a"}]}`, want: "spec.volumeMounts"},
		{reason: "A-05 volume", spec: `{"volumes": [{"name": "a"}]}`, want: "spec.volumes"},
		{reason: "A-06 label", spec: `{"podLabels": {"app.example.com/a": "b"}}`, want: "spec.podLabels"},
		{reason: "A-07 autoscaling", spec: `{"autoscaling": {"minReplicas": 5, "maxReplicas": 3}}`, want: "spec.autoscaling"},
		{reason: "A-08 strategy", spec: `{"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}}`, want: "spec.strategy"},
		{reason: "A-08 limit", spec: `{"resources": {"requests": {"cpu": 2}, "limits": {"cpu": 1}}}`, want: "spec.resources"},
	},
	webApp.WithVersion("v1alpha1"): {
		{reason: "A-01 instances", spec: `{"scale": {"instances": 11}}`, want: "spec.scale.instances"},
		{reason: "A-04 repository", spec: `{"image": {"repository": "Web App"}}`, want: "spec.image"},
		{reason: "A-01 no instances", spec: `{"scale": {"instances": 0}}`, want: "spec.scale.instances"},
		{reason: "A-02 port", spec: `{"expose": {"port": 65536}}`, want: "spec.expose.port"},
		{reason: "A-03 no repository", spec: `{"image": {"repository": null, "tag": "1"}}`, want: "spec.image.repository"},
		{reason: "A-04 tag", spec: `{"image": {"tag": "a b"}}`, want: "spec.image"},
		{reason: "A-04 digest", spec: `{"image": {"digest": "sha256:abc"}}`, want: "spec.image"},
		{reason: "A-07 max", spec: `{"scale": {"max": 11}}`, want: "spec.scale.max"},
		{reason: "A-07 min", spec: `{"scale": {"min": 5, "max": 3}}`, want: "spec.scale.min"},
		{reason: "A-07 target", spec: `{"scale": {"max": 3, "targetCPU": "lots"}}`, want: "spec.scale.targetCPU"},
		{reason: "interval", spec: `{"healthCheck": {"interval": "soon"}}`, want: "spec.healthCheck.interval"},
		{reason: "variable", spec: `{"env": {"A=B": "c"}}`, want: "spec.env"},
		{reason: "negative", spec: `{"resources": {"memory": "-1"}}`, want: "spec.resources.memory"},
		{reason: "no health path", spec: `{"healthCheck": {"path": null, "interval": "5s"}}`, want: "spec.healthCheck"},
	},
	podSet.WithVersion("v1"): {
		{reason: "A-01 replicas", spec: `{"replicas": 0}`, want: "spec.replicas"},
		{reason: "A-04 image", spec: `{"image": "Web App:1"}`, want: "spec.image"},
		{reason: "A-03 no image", spec: `{"image": null}`, want: "spec.image"},
		{reason: "A-05 mount", spec: `{"volumeMounts": [{"name": "a", "mountPath": "/a"}]}`, want: "spec.volumeMounts"},
		{reason: "A-05 volume", spec: `{"volumes": [{"name": "a", "hostPath": {"path": "/"}}]}`, want: "spec.volumes"},
		{reason: "A-06 label", spec: `{"podLabels": {"podset-name": "b"}}`, want: "spec.podLabels"},
		{reason: "A-06 annotation", spec: `{"podAnnotations": {"batch.example.com/a": "b"}}`, want: "spec.podAnnotations"},
		{reason: "A-08 limit", spec: `{"resources": {"requests": {"cpu": 2}, "limits": {"cpu": 1}}}`, want: "spec.resources"},
		{reason: "strategy", spec: `{"updateStrategy": {"type": "Sideways"}}`, want: "spec.updateStrategy.type"},
		{reason: "pace", spec: `{"updateStrategy": {"rollingUpdate": {"maxUnavailable": "0%"}}}`, want: "spec.updateStrategy.rollingUpdate.maxUnavailable"},
		{reason: "port", spec: `{"ports": [{"containerPort": 80, "name": "UPPER"}]}`, want: "spec.ports[0].name"},
	},
	podSet.WithVersion("v1alpha1"): {
		{reason: "A-01 size", spec: `{"size": 0}`, want: "spec.size"},
		{reason: "A-04 image", spec: `{"container": {"image": "Web App:1"}}`, want: "spec.container.image"},
		{reason: "A-03 no container", spec: `{"container": null}`, want: "spec.container"},
		{reason: "A-03 no image", spec: `{"container": {"image": null}}`, want: "spec.container.image"},
		{reason: "A-08 limit", spec: `{"container": {"resources": {"requests": {"cpu": 2}, "limits": {"cpu": 1}}}}`, want: "spec.container.resources"},
		{reason: "resource", spec: `{"container": {"resources": {"requests": {"gpu": 2}}}}`, want: "spec.container.resources"},
		{reason: "device", spec: `{"container": {"resources": {"limits": {"example.com/gpu": "500m"}}}}`, want: "spec.container.resources"},
		{reason: "variable", spec: `{"container": {"env": {"A=B": "c"}}}`, want: "spec.container.env"},
		{reason: "policy", spec: `{"updatePolicy": "Sideways"}`, want: "spec.updatePolicy"},
		{reason: "ready after", spec: `{"readyAfter": "soon"}`, want: "spec.readyAfter"},
		{reason: "ready after two years", spec: `{"readyAfter": "17520h"}`, want: "spec.readyAfter"},
		{reason: "description", spec: `{"description": "` + long(4097) + `"}`, want: "spec.description"},
	},
}
