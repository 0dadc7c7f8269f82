package webhooks

// sample is a change to a valid object, as a JSON merge patch of its spec.
type sample struct {
	// reason says what the sample is about.
	reason string
	spec   string
	// want is the field of the refusal, or empty if the object is fine.
	want string
	// only says that the rule is ours: the API of Deployments would accept what comes of it.
	only bool
}

// settingsSamples concern fields that both kinds have.
var settingsSamples = []sample{
	// the image.
	{reason: "no image", spec: `{"image": null}`, want: "spec.image"},
	{reason: "space and capitals", spec: `{"image": "Web App:1"}`, want: "spec.image", only: true},
	{reason: "1025 characters", spec: `{"image": "` + long(1025) + `"}`, want: "spec.image", only: true},
	{reason: "bad tag", spec: `{"image": "web:-"}`, want: "spec.image", only: true},
	{reason: "bad digest", spec: `{"image": "web@sha256:abc"}`, want: "spec.image", only: true},
	{reason: "name only", spec: `{"image": "web"}`},
	{reason: "registry with port, and digest", spec: `{"image": "reg:5000/web@sha256:` + digest + `"}`},
	{reason: "tag and digest", spec: `{"image": "reg.example.com/a/b:1@sha256:` + digest + `"}`},
	{reason: "pull policy", spec: `{"imagePullPolicy": "Sometimes"}`, want: "spec.imagePullPolicy"},

	// Environment.
	{reason: "variable without a name", spec: `{"env": [{"name": "", "value": "1"}]}`, want: "spec.env[0].name"},
	{reason: "name with =", spec: `{"env": [{"name": "A=B", "value": "1"}]}`, want: "spec.env[0].name"},
	{reason: "same name twice", spec: `{"env": [{"name": "A"}, {"name": "A"}]}`, want: "spec.env[1]", only: true},
	{reason: "value and source", spec: `{"env": [{"name": "A", "value": "1", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}`, want: "spec.env[0].valueFrom"},
	{reason: "no source", spec: `{"env": [{"name": "A", "valueFrom": {}}]}`, want: "spec.env[0].valueFrom"},
	{reason: "two sources", spec: `{"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}, "secretKeyRef": {"name": "s", "key": "k"}}}]}`, want: "spec.env[0].valueFrom"},
	{reason: "unknown Pod field", spec: `{"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.hostname"}}}]}`, want: "spec.env[0].valueFrom.fieldRef.fieldPath"},
	{reason: "bad label key", spec: `{"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a b']"}}}]}`, want: "spec.env[0].valueFrom.fieldRef.fieldPath"},
	{reason: "unknown resource", spec: `{"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.gpu"}}}]}`, want: "spec.env[0].valueFrom.resourceFieldRef.resource"},
	{reason: "odd divisor", spec: `{"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "2m"}}}]}`, want: "spec.env[0].valueFrom.resourceFieldRef.divisor"},
	{reason: "secret key with a space", spec: `{"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "a b"}}}]}`, want: "spec.env[0].valueFrom.secretKeyRef.key"},
	{reason: "config map without a name", spec: `{"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "", "key": "k"}}}]}`, want: "spec.env[0].valueFrom.configMapKeyRef.name"},
	{reason: "envFrom without a source", spec: `{"envFrom": [{}]}`, want: "spec.envFrom[0]"},
	{reason: "envFrom prefix", spec: `{"envFrom": [{"prefix": "A=", "secretRef": {"name": "s"}}]}`, want: "spec.envFrom[0].prefix"},
	{reason: "envFrom name", spec: `{"envFrom": [{"configMapRef": {"name": "A_B"}}]}`, want: "spec.envFrom[0].configMapRef.name"},
	{reason: "every source", spec: `{"env": [
		{"name": "a.b-c", "value": "1"},
		{"name": "F", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
		{"name": "L", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels['app.kubernetes.io/name']"}}},
		{"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['A/b']"}}},
		{"name": "R", "valueFrom": {"resourceFieldRef": {"resource": "requests.memory", "divisor": "1Mi"}}},
		{"name": "C", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k.properties"}}},
		{"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": true}}}],
		"envFrom": [{"prefix": "P_", "configMapRef": {"name": "c"}}, {"secretRef": {"name": "s"}}]}`},

	// Resources.
	{reason: "limit below request", spec: `{"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}`, want: "spec.resources"},
	{reason: "memory limit below request", spec: `{"resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "1G"}}}`, want: "spec.resources"},
	{reason: "negative", spec: `{"resources": {"requests": {"cpu": "-1"}}}`, want: "spec.resources"},
	{reason: "not a quantity", spec: `{"resources": {"requests": {"cpu": "much"}}}`, want: "spec.resources"},
	{reason: "unknown resource", spec: `{"resources": {"requests": {"gpu": "1"}}}`, want: "spec.resources.requests[gpu]"},
	{reason: "part of a device", spec: `{"resources": {"limits": {"example.com/gpu": "500m"}}}`, want: "spec.resources.limits[example.com/gpu]"},
	{reason: "device requested without a limit", spec: `{"resources": {"requests": {"example.com/gpu": "1"}}}`, want: "spec.resources.limits[example.com/gpu]"},
	{reason: "device limit above request", spec: `{"resources": {"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "2"}}}`, want: "spec.resources.requests[example.com/gpu]"},
	{reason: "half a huge page", spec: `{"resources": {"requests": {"cpu": "1", "hugepages-2Mi": "1Mi"}, "limits": {"hugepages-2Mi": "1Mi"}}}`, want: "spec.resources"},
	{reason: "huge pages alone", spec: `{"resources": {"requests": {"hugepages-2Mi": "2Mi", "cpu": null}, "limits": {"hugepages-2Mi": "2Mi"}}}`, want: "spec.resources"},
	{reason: "claims", spec: `{"resources": {"claims": [{"name": "gpu"}]}}`, want: "spec.resources.claims"},
	{reason: "many spellings", spec: `{"resources": {"requests": {"cpu": "1000m", "memory": 134217728}, "limits": {"cpu": 1, "memory": "1e9", "example.com/gpu": 2, "ephemeral-storage": "1Gi"}}}`},
	{reason: "huge pages", spec: `{"resources": {"requests": {"cpu": "1", "hugepages-2Mi": "4Mi"}, "limits": {"hugepages-2Mi": "4Mi"}}}`},

	// Probes.
	{reason: "probe without a handler", spec: `{"probes": {"liveness": {"periodSeconds": 5}}}`, want: "spec.probes.liveness"},
	{reason: "probe with two handlers", spec: `{"probes": {"liveness": {"exec": {"command": ["a"]}, "tcpSocket": {"port": 1}}}}`, want: "spec.probes.liveness"},
	{reason: "port out of range", spec: `{"probes": {"liveness": {"tcpSocket": {"port": 70000}}}}`, want: "spec.probes.liveness.tcpSocket.port"},
	{reason: "port name", spec: `{"probes": {"startup": {"httpGet": {"path": "/", "port": "UPPER_CASE"}}}}`, want: "spec.probes.startup.httpGet.port"},
	{reason: "scheme", spec: `{"probes": {"startup": {"httpGet": {"path": "/", "port": 80, "scheme": "gopher"}}}}`, want: "spec.probes.startup.httpGet.scheme"},
	{reason: "header name", spec: `{"probes": {"startup": {"httpGet": {"path": "/", "port": 80, "httpHeaders": [{"name": "a b", "value": "c"}]}}}}`, want: "spec.probes.startup.httpGet.httpHeaders[0].name"},
	{reason: "empty command", spec: `{"probes": {"liveness": {"exec": {"command": []}}}}`, want: "spec.probes.liveness.exec.command"},
	{reason: "grpc port", spec: `{"probes": {"liveness": {"grpc": {"port": 0}}}}`, want: "spec.probes.liveness.grpc.port"},
	{reason: "negative delay", spec: `{"probes": {"liveness": {"grpc": {"port": 1}, "initialDelaySeconds": -1}}}`, want: "spec.probes.liveness"},
	{reason: "success threshold of liveness", spec: `{"probes": {"liveness": {"grpc": {"port": 1}, "successThreshold": 2}}}`, want: "spec.probes.liveness"},
	{reason: "grace period of readiness", spec: `{"probes": {"readiness": {"terminationGracePeriodSeconds": 5}}}`, want: "spec.probes.readiness"},
	{reason: "all three probes", spec: `{"probes": {"startup": {"exec": {"command": ["true"]}}, "readiness": {"httpGet": {"path": null, "port": "http", "scheme": "HTTPS"}, "successThreshold": 3}, "liveness": {"grpc": {"port": 5000, "service": "x"}, "terminationGracePeriodSeconds": 1}}}`},

	// volumes.
	{reason: "mount of no volume", spec: `{"volumeMounts": [{"name": "data", "mountPath": "/data"}]}`, want: "spec.volumeMounts"},
	{reason: "volume without a source", spec: `{"volumes": [{"name": "data"}]}`, want: "spec.volumes[0]", only: true},
	{reason: "volume with two sources", spec: `{"volumes": [{"name": "data", "emptyDir": {}, "secret": {"secretName": "s"}}]}`, want: "spec.volumes[0]"},
	{reason: "hostPath", spec: `{"volumes": [{"name": "data", "hostPath": {"path": "/"}}]}`, want: "spec.volumes[0]", only: true},
	{reason: "volume name", spec: `{"volumes": [{"name": "Data_1", "emptyDir": {}}]}`, want: "spec.volumes[0].name"},
	{reason: "same volume twice", spec: `{"volumes": [{"name": "a", "emptyDir": {}}, {"name": "a", "emptyDir": {}}]}`, want: "spec.volumes[1]"},
	{reason: "secret without a name", spec: `{"volumes": [{"name": "a", "secret": {}}]}`, want: "spec.volumes[0].secret.secretName"},
	{reason: "config map without a name", spec: `{"volumes": [{"name": "a", "configMap": {"name": ""}}]}`, want: "spec.volumes[0].configMap.name"},
	{reason: "claim without a name", spec: `{"volumes": [{"name": "a", "persistentVolumeClaim": {"claimName": ""}}]}`, want: "spec.volumes[0].persistentVolumeClaim.claimName"},
	{reason: "mode", spec: `{"volumes": [{"name": "a", "secret": {"secretName": "s", "defaultMode": 512}}]}`, want: "spec.volumes[0].secret.defaultMode"},
	{reason: "file outside of the volume", spec: `{"volumes": [{"name": "a", "configMap": {"name": "c", "items": [{"key": "k", "path": "../up"}]}}]}`, want: "spec.volumes[0].configMap.items[0].path"},
	{reason: "file with a reserved name", spec: `{"volumes": [{"name": "a", "configMap": {"name": "c", "items": [{"key": "k", "path": "..data"}]}}]}`, want: "spec.volumes[0].configMap.items[0].path"},
	{reason: "size limit", spec: `{"volumes": [{"name": "a", "emptyDir": {"sizeLimit": "-1"}}]}`, want: "spec.volumes[0].emptyDir.sizeLimit"},
	{reason: "absolute sub path", spec: `{"volumes": [{"name": "a", "emptyDir": {}}], "volumeMounts": [{"name": "a", "mountPath": "/a", "subPath": "/b"}]}`, want: "spec.volumeMounts[0].subPath"},
	{reason: "both sub paths", spec: `{"volumes": [{"name": "a", "emptyDir": {}}], "volumeMounts": [{"name": "a", "mountPath": "/a", "subPath": "b", "subPathExpr": "c"}]}`, want: "spec.volumeMounts[0].subPathExpr"},
	{reason: "same path twice", spec: `{"volumes": [{"name": "a", "emptyDir": {}}], "volumeMounts": [{"name": "a", "mountPath": "/a"}, {"name": "a", "mountPath": "/a"}]}`, want: "spec.volumeMounts[1]"},
	{reason: "propagation to the host", spec: `{"volumes": [{"name": "a", "emptyDir": {}}], "volumeMounts": [{"name": "a", "mountPath": "/a", "mountPropagation": "Bidirectional"}]}`, want: "spec.volumeMounts[0].mountPropagation"},
	{reason: "recursive read only", spec: `{"volumes": [{"name": "a", "emptyDir": {}}], "volumeMounts": [{"name": "a", "mountPath": "/a", "recursiveReadOnly": "Enabled"}]}`, want: "spec.volumeMounts[0].recursiveReadOnly"},
	{reason: "every source of a volume", spec: `{"volumes": [
		{"name": "a", "configMap": {"name": "c", "defaultMode": 420, "items": [{"key": "k", "path": "d/k"}]}}, {"name": "b", "secret": {"secretName": "s"}},
		{"name": "c", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}}, {"name": "d", "persistentVolumeClaim": {"claimName": "p", "readOnly": true}}],
		"volumeMounts": [{"name": "a", "mountPath": "/a", "readOnly": true}, {"name": "c", "mountPath": "/c", "subPathExpr": "$(POD)"}]}`},

	// Security.
	{reason: "user", spec: `{"podSecurityContext": {"runAsUser": -1}}`, want: "spec.podSecurityContext.runAsUser"},
	{reason: "group", spec: `{"podSecurityContext": {"supplementalGroups": [1, -1]}}`, want: "spec.podSecurityContext.supplementalGroups[1]"},
	{reason: "change policy", spec: `{"podSecurityContext": {"fsGroupChangePolicy": "Never"}}`, want: "spec.podSecurityContext.fsGroupChangePolicy"},
	{reason: "sysctl", spec: `{"podSecurityContext": {"sysctls": [{"name": "a b", "value": "1"}]}}`, want: "spec.podSecurityContext.sysctls[0].name"},
	{reason: "seccomp type", spec: `{"podSecurityContext": {"seccompProfile": {"type": "Loose"}}}`, want: "spec.podSecurityContext.seccompProfile.type"},
	{reason: "seccomp profile missing", spec: `{"securityContext": {"seccompProfile": {"type": "Localhost"}}}`, want: "spec.securityContext.seccompProfile.localhostProfile"},
	{reason: "apparmor profile too many", spec: `{"securityContext": {"appArmorProfile": {"type": "Unconfined", "localhostProfile": "a"}}}`, want: "spec.securityContext.appArmorProfile.localhostProfile"},
	{reason: "privileged without escalation", spec: `{"securityContext": {"privileged": true, "allowPrivilegeEscalation": false}}`, want: "spec.securityContext.allowPrivilegeEscalation"},
	{reason: "proc mount", spec: `{"securityContext": {"procMount": "Unmasked"}}`, want: "spec.securityContext.procMount"},
	{reason: "windows host process", spec: `{"securityContext": {"windowsOptions": {"hostProcess": true}}}`, want: "spec.securityContext.windowsOptions.hostProcess"},
	{reason: "windows user", spec: `{"securityContext": {"windowsOptions": {"runAsUserName": "a\\b\\c"}}}`, want: "spec.securityContext.windowsOptions.runAsUserName"},
	{reason: "hardened", spec: `{"podSecurityContext": {"runAsNonRoot": true, "runAsUser": 1000, "fsGroup": 1000, "seccompProfile": {"type": "RuntimeDefault"}, "sysctls": [{"name": "net/ipv4.tcp_syncookies", "value": "1"}]}, "securityContext": {"readOnlyRootFilesystem": true, "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}`},
	{reason: "windows", spec: `{"securityContext": {"windowsOptions": {"runAsUserName": "NT AUTHORITY\\SYSTEM", "gmsaCredentialSpecName": "spec"}}}`},

	// Scheduling.
	{reason: "node label value", spec: `{"nodeSelector": {"a": "b c"}}`, want: "spec.nodeSelector"},
	{reason: "toleration without a key", spec: `{"tolerations": [{"value": "a"}]}`, want: "spec.tolerations[0].operator"},
	{reason: "toleration operator", spec: `{"tolerations": [{"key": "a", "operator": "Like"}]}`, want: "spec.tolerations[0].operator"},
	{reason: "toleration effect", spec: `{"tolerations": [{"key": "a", "effect": "NoRun"}]}`, want: "spec.tolerations[0].effect"},
	{reason: "toleration seconds", spec: `{"tolerations": [{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 1}]}`, want: "spec.tolerations[0].effect"},
	{reason: "toleration value with Exists", spec: `{"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]}`, want: "spec.tolerations[0].value"},
	{reason: "no node terms", spec: `{"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}}`, want: "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"},
	{reason: "node operator", spec: nodeTerm(`{"key": "a", "operator": "Near"}`), want: nodeExpression + ".operator"},
	{reason: "node values missing", spec: nodeTerm(`{"key": "a", "operator": "In"}`), want: nodeExpression + ".values"},
	{reason: "node values with Exists", spec: nodeTerm(`{"key": "a", "operator": "Exists", "values": ["b"]}`), want: nodeExpression + ".values"},
	{reason: "node key", spec: nodeTerm(`{"key": "a b", "operator": "Exists"}`), want: nodeExpression + ".key"},
	{reason: "node number", spec: nodeTerm(`{"key": "a", "operator": "Gt", "values": ["many"]}`), want: nodeExpression + ".values[0]", only: true},
	{reason: "weight", spec: `{"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 101, "podAffinityTerm": {"topologyKey": "zone"}}]}}}`, want: "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight"},
	{reason: "topology key", spec: podTerm(`{"topologyKey": ""}`), want: podTermPath + ".topologyKey"},
	{reason: "selector operator", spec: podTerm(`{"topologyKey": "zone", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}`), want: podTermPath + ".labelSelector.matchExpressions[0].operator"},
	{reason: "label keys without a selector", spec: podTerm(`{"topologyKey": "zone", "matchLabelKeys": ["a"]}`), want: podTermPath + ".matchLabelKeys"},
	{reason: "namespace", spec: podTerm(`{"topologyKey": "zone", "namespaces": ["A"]}`), want: podTermPath + ".namespaces[0]"},
	{reason: "skew", spec: `{"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]}`, want: "spec.topologySpreadConstraints[0].maxSkew"},
	{reason: "unsatisfiable", spec: `{"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "Cry"}]}`, want: "spec.topologySpreadConstraints[0].whenUnsatisfiable"},
	{reason: "min domains", spec: `{"topologySpreadConstraints": [{"maxSkew": 1, "minDomains": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]}`, want: "spec.topologySpreadConstraints[0].minDomains"},
	{reason: "same constraint twice", spec: `{"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}, {"maxSkew": 2, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}]}`, want: "spec.topologySpreadConstraints[1]"},
	{reason: "inclusion policy", spec: `{"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", "nodeTaintsPolicy": "Maybe"}]}`, want: "spec.topologySpreadConstraints[0].nodeTaintsPolicy"},
	{reason: "placed with care", spec: `{"nodeSelector": {"kubernetes.io/arch": "amd64"},
		"tolerations": [{"operator": "Exists"}, {"key": "a", "value": "b", "effect": "NoExecute", "tolerationSeconds": 30}],
		"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["5"]}], "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}]}},
			"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}, "namespaceSelector": {}}]}},
		"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "minDomains": 2, "labelSelector": {"matchLabels": {"a": "b"}}, "nodeAffinityPolicy": "Honor"}]}`},

	// labels and annotations.
	{reason: "label under our prefix", spec: `{"podLabels": {"app.example.com/webapp": "x"}}`, want: "spec.podLabels", only: true},
	{reason: "label under our other prefix", spec: `{"podLabels": {"batch.example.com/revision": "x"}}`, want: "spec.podLabels", only: true},
	{reason: "annotation under our prefix", spec: `{"podAnnotations": {"workload.example.com/x": "x"}}`, want: "spec.podAnnotations", only: true},
	{reason: "label of PodSets", spec: `{"podLabels": {"podset-name": "x"}}`, want: "spec.podLabels", only: true},
	{reason: "label value", spec: `{"podLabels": {"team": "a b"}}`, want: "spec.podLabels"},
	{reason: "label key", spec: `{"podLabels": {"te am": "a"}}`, want: "spec.podLabels"},
	{reason: "annotation key", spec: `{"podAnnotations": {"te am": "a"}}`, want: "spec.podAnnotations"},
	{reason: "labels and annotations", spec: `{"podLabels": {"team": "a", "example.com/tier": ""}, "podAnnotations": {"Note": "any text\nat all"}}`},

	// The rest.
	{reason: "service account", spec: `{"serviceAccountName": "No_Name"}`, want: "spec.serviceAccountName"},
	{reason: "grace period", spec: `{"terminationGracePeriodSeconds": -1}`, want: "spec.terminationGracePeriodSeconds", only: true},
	{reason: "unknown fields are pruned", spec: `{"surprise": {"a": 1}}`},
	{reason: "zero replicas", spec: `{"replicas": 0}`, want: "spec.replicas", only: true},
	{reason: "replicas of the wrong type", spec: `{"replicas": "3"}`, want: "spec.replicas"},
}

const (
	digest         = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	nodeExpression = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0]"
	podTermPath    = "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
)

func nodeTerm(expression string) string {
	return `{"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [` + expression + `]}]}}}}`
}

func podTerm(term string) string {
	return `{"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [` + term + `]}}}`
}

// webAppSamples concern fields that only WebApps have.
var webAppSamples = []sample{
	//
	{reason: "eleven replicas", spec: `{"replicas": 11}`, want: "spec.replicas", only: true},
	{reason: "port", spec: `{"port": 65536}`, want: "spec.port", only: true},
	{reason: "target port", spec: `{"targetPort": 0}`, want: "spec.targetPort", only: true},

	//
	{reason: "autoscaling without a maximum", spec: `{"autoscaling": {"minReplicas": 2}}`, want: "spec.autoscaling.maxReplicas", only: true},
	{reason: "minimum over maximum", spec: `{"autoscaling": {"minReplicas": 5, "maxReplicas": 3}}`, want: "spec.autoscaling.minReplicas", only: true},
	{reason: "maximum", spec: `{"autoscaling": {"maxReplicas": 11}}`, want: "spec.autoscaling.maxReplicas", only: true},
	{reason: "CPU target", spec: `{"autoscaling": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 0}}`, want: "spec.autoscaling.targetCPUUtilizationPercentage", only: true},
	{reason: "autoscaling", spec: `{"autoscaling": {"minReplicas": 2, "maxReplicas": 10, "targetCPUUtilizationPercentage": 80}}`},

	//
	{reason: "a rollout that cannot start", spec: `{"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}}`, want: "spec.strategy.rollingUpdate"},
	{reason: "the same in percent", spec: `{"strategy": {"rollingUpdate": {"maxSurge": "0%", "maxUnavailable": "00%"}}}`, want: "spec.strategy.rollingUpdate"},
	{reason: "Recreate with a pace", spec: `{"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}}`, want: "spec.strategy.rollingUpdate"},
	{reason: "strategy", spec: `{"strategy": {"type": "Sideways"}}`, want: "spec.strategy.type"},
	{reason: "more than all unavailable", spec: `{"strategy": {"rollingUpdate": {"maxUnavailable": "101%"}}}`, want: "spec.strategy.rollingUpdate.maxUnavailable"},
	{reason: "a surge of words", spec: `{"strategy": {"rollingUpdate": {"maxSurge": "some"}}}`, want: "spec.strategy.rollingUpdate.maxSurge"},
	{reason: "deadline not after ready", spec: `{"progressDeadlineSeconds": 10, "minReadySeconds": 10}`, want: "spec.progressDeadlineSeconds"},
	{reason: "default deadline not after ready", spec: `{"minReadySeconds": 600}`, want: "spec.progressDeadlineSeconds"},
	{reason: "a big surge", spec: `{"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "200%", "maxUnavailable": 0}}, "minReadySeconds": 5, "progressDeadlineSeconds": 60}`},
	{reason: "Recreate", spec: `{"strategy": {"type": "Recreate"}, "revisionHistoryLimit": 0, "paused": true}`},

	// Service, Ingress, disruption budget.
	{reason: "service type", spec: `{"service": {"type": "ExternalName"}}`, want: "spec.service.type", only: true},
	{reason: "service annotation", spec: `{"service": {"annotations": {"a b": "c"}}}`, want: "spec.service.annotations", only: true},
	{reason: "no host", spec: `{"ingress": {}}`, want: "spec.ingress.host", only: true},
	{reason: "host", spec: `{"ingress": {"host": "A_b"}}`, want: "spec.ingress.host", only: true},
	{reason: "address as host", spec: `{"ingress": {"host": "10.0.0.1"}}`, want: "spec.ingress.host", only: true},
	{reason: "host with a long label", spec: `{"ingress": {"host": "*"}}`, want: "spec.ingress.host", only: true},
	{reason: "relative path", spec: `{"ingress": {"host": "a.example.com", "path": "a"}}`, want: "spec.ingress.path", only: true},
	{reason: "path with a step back", spec: `{"ingress": {"host": "a.example.com", "path": "/a/../b"}}`, want: "spec.ingress.path", only: true},
	{reason: "class", spec: `{"ingress": {"host": "a.example.com", "className": "Big_One"}}`, want: "spec.ingress.className", only: true},
	{reason: "certificate", spec: `{"ingress": {"host": "a.example.com", "tlsSecretName": "No_Name"}}`, want: "spec.ingress.tlsSecretName", only: true},
	{reason: "ingress annotation", spec: `{"ingress": {"host": "a.example.com", "annotations": {"/": ""}}}`, want: "spec.ingress.annotations", only: true},
	{reason: "no disruption at all", spec: `{"disruptionBudget": {"maxUnavailable": 0}}`, want: "spec.disruptionBudget.maxUnavailable", only: true},
	{reason: "published", spec: `{"service": {"type": "LoadBalancer", "annotations": {"example.com/a": "b"}}, "ingress": {"host": "*.example.com", "path": "/", "className": "nginx", "tlsSecretName": "tls"}, "disruptionBudget": {"maxUnavailable": "50%"}}`},
}

// portSamples concern ports of a container, which only PodSets list.
var portSamples = []sample{
	{reason: "port", spec: `{"ports": [{"containerPort": 70000}]}`, want: "spec.ports[0].containerPort"},
	{reason: "port name", spec: `{"ports": [{"containerPort": 80, "name": "UPPER"}]}`, want: "spec.ports[0].name"},
	{reason: "port name twice", spec: `{"ports": [{"containerPort": 80, "name": "a"}, {"containerPort": 81, "name": "a"}]}`, want: "spec.ports[1].name"},
	{reason: "protocol", spec: `{"ports": [{"containerPort": 80, "protocol": "ICMP"}]}`, want: "spec.ports[0].protocol"},
	{reason: "same port, two protocols", spec: `{"ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 80, "protocol": "UDP", "hostPort": 8080}]}`},
}

// podSetSamples concern other fields that only PodSets have.
var podSetSamples = []sample{
	{reason: "strategy", spec: `{"updateStrategy": {"type": "Sideways"}}`, want: "spec.updateStrategy.type"},
	{reason: "none unavailable", spec: `{"updateStrategy": {"rollingUpdate": {"maxUnavailable": 0}}}`, want: "spec.updateStrategy.rollingUpdate.maxUnavailable"},
	{reason: "unavailable in words", spec: `{"updateStrategy": {"rollingUpdate": {"maxUnavailable": "some"}}}`, want: "spec.updateStrategy.rollingUpdate.maxUnavailable"},
	{reason: "partition", spec: `{"updateStrategy": {"rollingUpdate": {"partition": -1}}}`, want: "spec.updateStrategy.rollingUpdate.partition"},
	{reason: "seconds", spec: `{"minReadySeconds": -1}`, want: "spec.minReadySeconds"},
	{reason: "history", spec: `{"failedPodsHistoryLimit": -1}`, want: "spec.failedPodsHistoryLimit"},
	{reason: "replacement", spec: `{"podReplacementPolicy": "Never"}`, want: "spec.podReplacementPolicy"},
	{reason: "scale down", spec: `{"scaleDown": {"policy": "Oldest"}}`, want: "spec.scaleDown.policy"},
	{reason: "many replicas", spec: `{"replicas": 5000}`},
	{reason: "everything", spec: `{"ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 80, "protocol": "UDP"}], "updateStrategy": {"type": "InPlace", "rollingUpdate": {"maxUnavailable": "10%", "partition": 2}}, "minReadySeconds": 5, "podReplacementPolicy": "Failed", "scaleDown": {"policy": "Newest", "preferDelete": ["a", "b"]}, "failedPodsHistoryLimit": 0, "paused": true, "suspend": true}`},
}
