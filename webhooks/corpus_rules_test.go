package webhooks

const spreadPath = "spec.topologySpreadConstraints[0]"

// spreadWith is a good spread constraint with more members.
func spreadWith(members string) string {
	return `{"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", ` + members + `}]}`
}

// volumeWith is a volume and one mount of it with more members.
func volumeWith(source, mount string) string {
	return `{"volumes": [{"name": "a", ` + source + `}], "volumeMounts": [{"name": "a", "mountPath": "/a"` + mount + `}]}`
}

// nodeFields is a node affinity by fields of the node.
func nodeFields(expression string) string {
	return `{"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {"matchFields": [` + expression + `]}}]}}}`
}

const nodeFieldsPath = "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchFields[0]"

// ruleSamples are for rules of the webhook alone that the other samples do not show. Some that are marked as ours alone are those of
// Kubernetes behind feature gates, whose fields it drops.
var ruleSamples = []sample{
	{reason: "a number beyond all bounds", spec: `{"terminationGracePeriodSeconds": 1e300}`, want: "spec.terminationGracePeriodSeconds", only: true},
	// Comparing such amounts, in CEL or Go, would take minutes: they must be refused before.
	{reason: "a limit with a huge exponent", spec: `{"resources": {"requests": {"cpu": "1e1215752191"}, "limits": {"cpu": "3"}}}`, want: "spec.resources", only: true},
	{reason: "a negative size with a huge exponent", spec: volumeWith(`"emptyDir": {"sizeLimit": "-1.00000000000000000000001e1215752191"}`, ``), want: "spec.volumes[0].emptyDir.sizeLimit", only: true},
	{reason: "version of a Pod field", spec: `{"env": [{"name": "A", "valueFrom": {"fieldRef": {"apiVersion": "v2", "fieldPath": "metadata.name"}}}]}`, want: "spec.env[0].valueFrom.fieldRef.apiVersion"},
	{reason: "file without a key", spec: fileKey(`"key": "", "path": "f", "volumeName": "a"`), want: "spec.env[0].valueFrom.fileKeyRef.key"},
	{reason: "file without a path", spec: fileKey(`"key": "K", "path": "", "volumeName": "a"`), want: "spec.env[0].valueFrom.fileKeyRef.path"},
	{reason: "file of no volume", spec: fileKey(`"key": "K", "path": "f", "volumeName": "b"`), want: "spec.env[0].valueFrom.fileKeyRef.volumeName"},
	{reason: "file", spec: fileKey(`"key": "K", "path": "f", "volumeName": "a"`)},
	{reason: "negative device", spec: `{"resources": {"requests": {"example.com/gpu": -1}, "limits": {"example.com/gpu": -1}}}`, want: "spec.resources"},
	{reason: "grpc mode", spec: `{"probes": {"liveness": {"grpc": {"port": 1, "mode": "Loud"}}}}`, want: "spec.probes.liveness.grpc.mode", only: true},
	{reason: "http protocol", spec: `{"probes": {"liveness": {"httpGet": {"port": 1, "protocol": "HTTP9"}}}}`, want: "spec.probes.liveness.httpGet.protocol", only: true},
	{reason: "mode of a file", spec: volumeWith(`"secret": {"secretName": "s", "items": [{"key": "k", "path": "p", "mode": -1}]}`, ``), want: "spec.volumes[0].secret.items[0].mode"},
	{reason: "owner of files", spec: volumeWith(`"configMap": {"name": "c", "defaultUser": -1}`, ``), want: "spec.volumes[0].configMap.defaultUser", only: true},
	{reason: "owner of a file", spec: volumeWith(`"configMap": {"name": "c", "items": [{"key": "k", "path": "p", "user": -1}]}`, ``), want: "spec.volumes[0].configMap.items[0].user", only: true},
	{reason: "file without a key of its source", spec: volumeWith(`"configMap": {"name": "c", "items": [{"key": "", "path": "p"}]}`, ``), want: "spec.volumes[0].configMap.items[0].key"},
	{reason: "mode of an empty directory", spec: volumeWith(`"emptyDir": {"mode": 1024}`, ``), want: "spec.volumes[0].emptyDir.mode", only: true},
	{reason: "mount without a path", spec: `{"volumes": [{"name": "a", "emptyDir": {}}], "volumeMounts": [{"name": "a", "mountPath": ""}]}`, want: "spec.volumeMounts[0].mountPath"},
	{reason: "mount option", spec: volumeWith(`"emptyDir": {}`, `, "bindMountOptions": ["fast"]`), want: "spec.volumeMounts[0].bindMountOptions[0]", only: true},
	{reason: "group of the Pod", spec: `{"podSecurityContext": {"runAsGroup": -1}}`, want: "spec.podSecurityContext.runAsGroup"},
	{reason: "group of files", spec: `{"podSecurityContext": {"fsGroup": -1}}`, want: "spec.podSecurityContext.fsGroup"},
	{reason: "apparmor type", spec: `{"securityContext": {"appArmorProfile": {"type": "Loose"}}}`, want: "spec.securityContext.appArmorProfile.type"},
	{reason: "capability against escalation", spec: `{"securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"add": ["CAP_SYS_ADMIN"]}}}`, want: "spec.securityContext.capabilities.add[0]"},
	{reason: "windows credential name", spec: `{"securityContext": {"windowsOptions": {"gmsaCredentialSpecName": "A_B"}}}`, want: "spec.securityContext.windowsOptions.gmsaCredentialSpecName"},
	{reason: "windows credential", spec: `{"securityContext": {"windowsOptions": {"gmsaCredentialSpec": ""}}}`, want: "spec.securityContext.windowsOptions.gmsaCredentialSpec"},
	{reason: "toleration key", spec: `{"tolerations": [{"key": "a b", "operator": "Exists"}]}`, want: "spec.tolerations[0].key"},
	{reason: "operator on a node field", spec: nodeFields(`{"key": "metadata.name", "operator": "Exists", "values": ["a"]}`), want: nodeFieldsPath + ".operator"},
	{reason: "node field", spec: nodeFields(`{"key": "spec.name", "operator": "In", "values": ["a"]}`), want: nodeFieldsPath + ".key"},
	{reason: "values of a node field", spec: nodeFields(`{"key": "metadata.name", "operator": "In", "values": []}`), want: nodeFieldsPath + ".values"},
	{reason: "name of a node", spec: nodeFields(`{"key": "metadata.name", "operator": "In", "values": ["A_B"]}`), want: nodeFieldsPath + ".values[0]"},
	{reason: "topology key of a spread", spec: `{"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "a b", "whenUnsatisfiable": "DoNotSchedule"}]}`, want: spreadPath + ".topologyKey", only: true},
	{reason: "label key twice in a Pod term", spec: podTerm(`{"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}, "matchLabelKeys": ["a"]}`), want: podTermPath + ".matchLabelKeys[0]", only: true},
	{reason: "label key twice in a spread", spec: spreadWith(`"labelSelector": {"matchLabels": {"a": "b"}}, "matchLabelKeys": ["a"]`), want: spreadPath + ".matchLabelKeys[0]", only: true},
	{reason: "label key to match and not", spec: podTerm(`{"topologyKey": "zone", "labelSelector": {}, "matchLabelKeys": ["a"], "mismatchLabelKeys": ["a"]}`), want: podTermPath + ".mismatchLabelKeys[0]"},
	{reason: "label of a Pod term", spec: podTerm(`{"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b c"}}}`), want: podTermPath + ".labelSelector.matchLabels"},
	{reason: "label of a spread", spec: spreadWith(`"labelSelector": {"matchLabels": {"a": "b c"}}`), want: spreadPath + ".labelSelector.matchLabels"},
	{reason: "key of a Pod term", spec: podTerm(`{"topologyKey": "zone", "namespaceSelector": {"matchExpressions": [{"key": "a b", "operator": "Exists"}]}}`), want: podTermPath + ".namespaceSelector.matchExpressions[0].key"},
	{reason: "key of a spread", spec: spreadWith(`"labelSelector": {"matchExpressions": [{"key": "a b", "operator": "Exists"}]}`), want: spreadPath + ".labelSelector.matchExpressions[0].key"},
	{reason: "operator of a spread", spec: spreadWith(`"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}`), want: spreadPath + ".labelSelector.matchExpressions[0].operator"},
	{reason: "values of a Pod term", spec: podTerm(`{"topologyKey": "zone", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}`), want: podTermPath + ".labelSelector.matchExpressions[0].values"},
	{reason: "values of a spread", spec: spreadWith(`"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}`), want: spreadPath + ".labelSelector.matchExpressions[0].values"},
	{reason: "value of a Pod term", spec: podTerm(`{"topologyKey": "zone", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b c"]}]}}`), want: podTermPath + ".labelSelector.matchExpressions[0].values[0]"},
	{reason: "value of a spread", spec: spreadWith(`"labelSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b c"]}]}`), want: spreadPath + ".labelSelector.matchExpressions[0].values[0]"},
}

// fileKey is a variable that comes from a file of a volume.
func fileKey(ref string) string {
	return `{"volumes": [{"name": "a", "emptyDir": {}}], "env": [{"name": "A", "valueFrom": {"fileKeyRef": {` + ref + `}}}]}`
}
