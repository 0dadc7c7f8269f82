package conversion

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
)

// podSet is PodSet in v1alpha1.
var podSet = table{
	kind:    schema.GroupKind{Group: "batch.example.com", Kind: "PodSet"},
	version: "v1alpha1",
	rows: []row{
		{"spec.replicas", "spec.size", nil, `3`},
		{"spec.image", "spec.container.image", nil, `"web:1.25"`},
		{"spec.command", "spec.container.command", nil, `["/run"]`},
		{"spec.args", "spec.container.args", nil, `["--verbose"]`},
		{"spec.env", "spec.container.env", envMap, `[{"name": "A", "value": "1"}] -> {"A": "1"}`},
		{"spec.resources", "spec.container.resources", nil, `{"limits": {"cpu": "1"}}`},
		{"spec.minReadySeconds", "spec.readyAfter", duration, `30 -> "30s"`},
		{"spec.paused", "spec.hold", nil, `true`},
		{"spec.updateStrategy.type", "spec.updatePolicy", policyNames, `"OnDelete" -> "Manual"`},
		{annotationPath + batchv1.AnnotationDescription + "]", "spec.description", moved, `"nightly import"`},

		{hub: "spec.envFrom", example: `[{"configMapRef": {"name": "settings"}}]`},
		{hub: "spec.ports", example: `[{"containerPort": 80}]`},
		{hub: "spec.probes", example: `{"liveness": {"tcpSocket": {"port": 80}}}`},
		{hub: "spec.volumes", example: `[{"name": "data", "emptyDir": {}}]`},
		{hub: "spec.volumeMounts", example: `[{"name": "data", "mountPath": "/data"}]`},
		{hub: "spec.imagePullPolicy", example: `"Always"`},
		{hub: "spec.imagePullSecrets", example: `[{"name": "registry"}]`},
		{hub: "spec.serviceAccountName", example: `"worker"`},
		{hub: "spec.automountServiceAccountToken", example: `true`},
		{hub: "spec.podSecurityContext", example: `{"runAsNonRoot": true}`},
		{hub: "spec.securityContext", example: `{"readOnlyRootFilesystem": true}`},
		{hub: "spec.podLabels", example: `{"team": "blue"}`},
		{hub: "spec.podAnnotations", example: `{"example.net/note": "x"}`},
		{hub: "spec.nodeSelector", example: `{"kubernetes.io/arch": "arm64"}`},
		{hub: "spec.tolerations", example: `[{"operator": "Exists"}]`},
		{hub: "spec.affinity", example: `{}`},
		{hub: "spec.topologySpreadConstraints", example: `[]`},
		{hub: "spec.terminationGracePeriodSeconds", example: `30`},
		{hub: "spec.updateStrategy.rollingUpdate", example: `{"maxUnavailable": 1}`},
		{hub: "spec.podReplacementPolicy", example: `"Failed"`},
		{hub: "spec.scaleDown", example: `{"policy": "Newest"}`},
		{hub: "spec.failedPodsHistoryLimit", example: `3`},
		{hub: "spec.suspend", example: `true`},

		{"status.readyReplicas", "status.ready", nil, `2`},
		{"status.podNames", "status.pods", podNames, `["a", "b"] -> [{"name": "a"}, {"name": "b"}]`},
		{"status.observedGeneration", "status.observedGeneration", nil, `4`},
		{"status.replicas", "status.replicas", nil, `3`},
		{"status.availableReplicas", "status.availableReplicas", nil, `2`},
		{"status.updatedReplicas", "status.updatedReplicas", nil, `3`},
		{"status.terminatingReplicas", "status.terminatingReplicas", nil, `0`},
		{"status.failedReplicas", "status.failedReplicas", nil, `0`},
		{"status.podNamesOmitted", "status.podNamesOmitted", nil, `150`},
		{"status.selector", "status.selector", nil, `"podset-name=import"`},
		{"status.currentRevision", "status.currentRevision", nil, `"6d4c"`},
		{"status.conditions", "status.conditions", nil, `[]`},
	},
}

var policyNames = renamed("names", "RollingUpdate", "Recreate", "InPlace", "InPlace", "OnDelete", "Manual")
