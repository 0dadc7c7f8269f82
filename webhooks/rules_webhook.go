package webhooks

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
)

// webhookRule is a rule that no schema and no CEL rule holds. The table of them documents the validators; a test holds that
// they say nothing that is not in it, and that each entry has a case.
type webhookRule struct {
	// kind is empty for rules of all kinds.
	kind string

	// fields are v1 paths. [*] is any index or key, {a,b} any of the names.
	fields []string

	// messages are what a refusal may say, any of them. … stands for what depends on the object.
	messages []string

	// why no lower floor holds it.
	why string

	// backstop is for what the schema holds as well.
	backstop bool
}

// Reasons for a rule to be here.
const (
	whyParser    = "only the parser that container runtimes use knows what an image reference is"
	whyCore      = "the field has a type of Kubernetes, whose schema does not say it; a CEL rule around it would be beyond the cost limit, or ratchet only for the whole list"
	whyKeys      = "CEL over all keys of an unbounded map is beyond the cost limit, and it ratchets only for the whole map"
	whyConverted = "a rule of the v1 schema, which the API server does not apply to a request in another version"
	whyMeta      = "neither schema nor CEL see annotations"
	whySize      = "the size depends on conversion"
)

const (
	kindWebApp = "WebApp"
	kindPodSet = "PodSet"
)

// What the validators of Kubernetes say about syntax.
var (
	qualifiedName = []string{"name part must …", "prefix part …", "a qualified name …"}
	labelValue    = []string{"a valid label must …", "must be no more than 63 …"}
	dnsSubdomain  = []string{"a lowercase RFC 1123 subdomain must …", "must be no more than 253 …"}
	dnsLabel      = []string{"a lowercase RFC 1123 label must …", "must not contain dots", "must be no more than 63 …"}
	variableName  = []string{"a valid environment variable name must …"}
	aFileKey      = []string{"a valid config key must …", "must be no more than 253 …", "must not be '.'", "must not be '..'", "must not start with '..'"}
	aPort         = []string{"must be between 1 and 65535, inclusive"}
	portOrName    = append([]string{"must contain only alpha-numeric characters …", "must contain at least one letter …", "must not contain consecutive hyphens",
		"must not begin or end with a hyphen", "must be no more than 15 …"}, aPort...)
	relativePath = []string{requiredValue, "must be a relative path", "must not contain '..'"}
	userID       = []string{"must be between 0 and 2147483647, inclusive"}
	annotations  = append([]string{"may not be more than 262144 bytes"}, qualifiedName...)
	labels       = append(labelValue, qualifiedName...)
)

const (
	requiredValue = "Required value"
	duplicate     = "Duplicate value"
)

func of(text ...string) []string { return text }

const (
	allProbes  = "spec.probes.{startup,readiness,liveness}"
	allFiles   = "spec.volumes[*].{configMap,secret}"
	nodeTerms  = "spec.affinity.nodeAffinity.{requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[*],preferredDuringSchedulingIgnoredDuringExecution[*].preference}"
	podTerms   = "spec.affinity.{podAffinity,podAntiAffinity}.{requiredDuringSchedulingIgnoredDuringExecution[*],preferredDuringSchedulingIgnoredDuringExecution[*].podAffinityTerm}"
	weights    = "spec.affinity.{nodeAffinity,podAffinity,podAntiAffinity}.preferredDuringSchedulingIgnoredDuringExecution[*].weight"
	spread     = "spec.topologySpreadConstraints[*]"
	contexts   = "spec.{podSecurityContext,securityContext}"
	selectors  = podTerms + ".{labelSelector,namespaceSelector}"
	constraint = spread + ".labelSelector"
)

var webhookRules = []webhookRule{
	{fields: of("spec"), messages: of("json: …", "quantities must …"), backstop: true}, // it cannot be decoded
	{fields: of("spec.resources.{requests,limits}[*]", "spec.volumes[*].emptyDir.sizeLimit", "spec.env[*].valueFrom.resourceFieldRef.divisor"),
		messages: of("must have an exponent of at most two digits"), backstop: true},
	{fields: of("spec.image"), messages: of("must be an image reference such as registry.example.com/web:1.25: …"), why: whyParser},
	{fields: of("metadata.annotations"), messages: of("the annotations take …"), why: whySize},
	{kind: kindPodSet, fields: of("metadata.annotations[" + batchv1.AnnotationDescription + "]"), messages: of("must be at most 4096 characters"), why: whyMeta},

	// Environment.
	{fields: of("spec.env[*].name"), messages: append(of(requiredValue), variableName...), why: whyCore},
	{fields: of("spec.env[*].valueFrom"), messages: of("must not be set together with value"), why: whyCore},
	{fields: of("spec.env[*].valueFrom"), messages: of("must have exactly one of fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef and fileKeyRef"), why: whyCore},
	{fields: of("spec.env[*].valueFrom.{configMapKeyRef,secretKeyRef}.name"), messages: dnsSubdomain, why: whyCore},
	{fields: of("spec.env[*].valueFrom.{configMapKeyRef,secretKeyRef}.key"), messages: append(of(requiredValue), aFileKey...), why: whyCore},
	{fields: of("spec.env[*].valueFrom.fieldRef.apiVersion"), messages: of(`supported values: "v1"`), why: whyCore},
	{fields: of("spec.env[*].valueFrom.fieldRef.fieldPath"), messages: append(of(`supported values: "metadata.name", …`), qualifiedName...), why: whyCore},
	{fields: of("spec.env[*].valueFrom.resourceFieldRef.resource"), messages: of(`supported values: "limits.cpu", …`), why: whyCore},
	{fields: of("spec.env[*].valueFrom.resourceFieldRef.divisor"), messages: of("supported values: …"), why: whyCore},
	{fields: of("spec.env[*].valueFrom.fileKeyRef.key"), messages: append(of(requiredValue), variableName...), why: whyCore},
	{fields: of("spec.env[*].valueFrom.fileKeyRef.path"), messages: relativePath, why: whyCore},
	{fields: of("spec.env[*].valueFrom.fileKeyRef.volumeName"), messages: of("must name an emptyDir of spec.volumes"), why: whyCore},
	{fields: of("spec.envFrom[*]"), messages: of("must have exactly one of configMapRef and secretRef"), why: whyCore},
	{fields: of("spec.envFrom[*].prefix"), messages: variableName, why: whyCore},
	{fields: of("spec.envFrom[*].{configMapRef,secretRef}.name"), messages: dnsSubdomain, why: whyCore},

	// Resources.
	{fields: of("spec.resources.{requests,limits}[*]"), messages: append(of("must be cpu, memory, ephemeral-storage, hugepages-<size>, or a name with a domain such as example.com/gpu",
		"must not start with requests.", "must still be a qualified name with the prefix requests."), qualifiedName...), why: whyCore},
	{fields: of("spec.resources.{requests,limits}[*]"), messages: of("must not be negative"), why: whyCore},
	{fields: of("spec.resources.{requests,limits}[*]"), messages: of("must be a whole number"), why: whyCore},
	{fields: of("spec.resources.{requests,limits}[*]"), messages: of("must be a multiple of the page size in the name"), why: whyCore},
	{fields: of("spec.resources.requests[*]"), messages: of("must be equal to its limit of …", "must not be above its limit of …"), why: whyCore},
	{fields: of("spec.resources.limits[*]"), messages: of("a limit equal to the request must be set for this resource"), why: whyCore},
	{fields: of("spec.resources"), messages: of("huge pages need cpu or memory as well"), why: whyCore},
	{fields: of("spec.resources.claims"), messages: of("resource claims are not supported: their Pods would need spec.resourceClaims"), why: whyCore},

	// Probes.
	{fields: of(allProbes + ".exec.command"), messages: of(requiredValue), why: whyCore},
	{fields: of(allProbes+".httpGet.port", allProbes+".tcpSocket.port"), messages: portOrName, why: whyCore},
	{fields: of(allProbes + ".grpc.port"), messages: aPort, why: whyCore},
	{fields: of(allProbes + ".grpc.mode"), messages: of(`supported values: "Plaintext", "TLS"`), why: whyCore},
	{fields: of(allProbes + ".httpGet.scheme"), messages: of(`supported values: "HTTP", "HTTPS"`), why: whyCore},
	{fields: of(allProbes + ".httpGet.protocol"), messages: of(`supported values: …`, "needs scheme HTTP, and no host"), why: whyCore},
	{fields: of(allProbes + ".httpGet.httpHeaders[*].name"), messages: of("a valid HTTP header must …"), why: whyCore},

	// Volumes and mounts.
	{fields: of("spec.volumes[*].configMap.name", "spec.volumes[*].secret.secretName", "spec.volumes[*].persistentVolumeClaim.claimName"), messages: of(requiredValue), why: whyCore},
	{fields: of(allFiles+".defaultMode", allFiles+".items[*].mode"), messages: of("must be between 0 and 511, inclusive (permission bits, in decimal)"), why: whyCore},
	{fields: of(allFiles+".defaultUser", allFiles+".items[*].user"), messages: userID, why: whyCore},
	{fields: of(allFiles + ".items[*].key"), messages: of(requiredValue), why: whyCore},
	{fields: of(allFiles + ".items[*].path"), messages: append(of("must not start with '..'"), relativePath...), why: whyCore},
	{fields: of("spec.volumes[*].emptyDir.sizeLimit"), messages: of("must not be negative"), why: whyCore},
	{fields: of("spec.volumes[*].emptyDir.mode"), messages: of("must be between 0 and 1023, inclusive (permission bits, in decimal)"), why: whyCore},
	{fields: of("spec.volumeMounts[*].mountPath"), messages: of(requiredValue), why: whyCore},
	{fields: of("spec.volumeMounts[*].subPath"), messages: relativePath, why: whyCore},
	{fields: of("spec.volumeMounts[*].subPathExpr"), messages: append(of("must not be set together with subPath"), relativePath...), why: whyCore},
	{fields: of("spec.volumeMounts[*].mountPropagation"), messages: of("supported values: …", "Bidirectional needs securityContext.privileged"), why: whyCore},
	{fields: of("spec.volumeMounts[*].recursiveReadOnly"), messages: of("supported values: …", "needs readOnly, and no mountPropagation"), why: whyCore},
	{fields: of("spec.volumeMounts[*].bindMountOptions[*]"), messages: of(`supported values: "noexec", "nodev", "nosuid"`, duplicate), why: whyCore},

	// Security.
	{fields: of(contexts+".runAsUser", contexts+".runAsGroup", "spec.podSecurityContext.fsGroup", "spec.podSecurityContext.supplementalGroups[*]"), messages: userID, why: whyCore},
	{fields: of("spec.podSecurityContext.{fsGroupChangePolicy,supplementalGroupsPolicy,seLinuxChangePolicy}", "spec.securityContext.procMount"), messages: of("supported values: …"), why: whyCore},
	{fields: of("spec.podSecurityContext.sysctls[*].name"), messages: of("must be the name of a kernel parameter, such as net.core.somaxconn", duplicate), why: whyCore},
	{fields: of(contexts+".seccompProfile.type", contexts+".appArmorProfile.type"), messages: of("supported values: …"), why: whyCore},
	{fields: of(contexts + ".seccompProfile.localhostProfile"), messages: append(of("must be set with type Localhost", "must only be set with type Localhost"), relativePath...), why: whyCore},
	{fields: of(contexts + ".appArmorProfile.localhostProfile"), messages: of("must be set with type Localhost", "must only be set with type Localhost",
		"must be a name of at most 4095 characters, without spaces around it"), why: whyCore},
	{fields: of("spec.securityContext.allowPrivilegeEscalation"), messages: of("must not be false together with privileged"), why: whyCore},
	{fields: of("spec.securityContext.capabilities.add[*]"), messages: of("must not be added while allowPrivilegeEscalation is false"), why: whyCore},
	{fields: of(contexts + ".windowsOptions.gmsaCredentialSpecName"), messages: dnsSubdomain, why: whyCore},
	{fields: of(contexts + ".windowsOptions.gmsaCredentialSpec"), messages: of("must have from 1 to 65536 characters"), why: whyCore},
	{fields: of(contexts + ".windowsOptions.runAsUserName"), messages: of(`must be a user name, with an optional domain before it: DOMAIN\user`), why: whyCore},
	{fields: of(contexts + ".windowsOptions.hostProcess"), messages: of("is not supported"), why: whyCore},

	// Labels and annotations.
	{fields: of("spec.podLabels", "spec.nodeSelector"), messages: labels, why: whyKeys},
	{fields: of("spec.podAnnotations"), messages: annotations, why: whyKeys},
	{kind: kindWebApp, fields: of("spec.{service,ingress}.annotations"), messages: annotations, why: whyKeys},

	// Scheduling.
	{fields: of("spec.tolerations[*].key"), messages: qualifiedName, why: whyCore},
	{fields: of("spec.tolerations[*].operator"), messages: of("must be Exists when key is empty", `supported values: "Equal", "Exists"`), why: whyCore},
	{fields: of("spec.tolerations[*].effect"), messages: of("supported values: …", "must be NoExecute when tolerationSeconds is set"), why: whyCore},
	{fields: of("spec.tolerations[*].value"), messages: append(of("must be empty with operator Exists"), labelValue...), why: whyCore},
	{fields: of("spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"), messages: of("at least one term"), why: whyCore},
	{fields: of(nodeTerms + ".matchExpressions[*].key"), messages: qualifiedName, why: whyCore},
	{fields: of(nodeTerms+".matchExpressions[*].operator", nodeTerms+".matchFields[*].operator"), messages: of("supported values: …"), why: whyCore},
	{fields: of(nodeTerms + ".matchExpressions[*].values"), messages: of("at least one value with operator In or NotIn", "no values with operator Exists or DoesNotExist",
		"exactly one value with operator Gt or Lt"), why: whyCore},
	{fields: of(nodeTerms + ".matchExpressions[*].values[*]"), messages: append(of("must be a whole number with operator Gt or Lt"), labelValue...), why: whyCore},
	{fields: of(nodeTerms + ".matchFields[*].key"), messages: of(`supported values: "metadata.name"`), why: whyCore},
	{fields: of(nodeTerms + ".matchFields[*].values"), messages: of("exactly one value"), why: whyCore},
	{fields: of(nodeTerms + ".matchFields[*].values[*]"), messages: dnsSubdomain, why: whyCore},
	{fields: of(weights), messages: of("must be between 1 and 100, inclusive"), why: whyCore},
	{fields: of(podTerms+".topologyKey", spread+".topologyKey"), messages: qualifiedName, why: whyCore},
	{fields: of(podTerms + ".namespaces[*]"), messages: dnsLabel, why: whyCore},
	{fields: of(podTerms + ".matchLabelKeys"), messages: of("needs a labelSelector"), why: whyCore},
	{fields: of(podTerms+".matchLabelKeys[*]", spread+".matchLabelKeys[*]"), messages: append(of("must not be in labelSelector as well"), qualifiedName...), why: whyCore},
	{fields: of(podTerms + ".mismatchLabelKeys[*]"), messages: append(of("must not be in matchLabelKeys as well"), qualifiedName...), why: whyCore},
	{fields: of(selectors+".matchLabels", constraint+".matchLabels"), messages: labels, why: whyCore},
	{fields: of(selectors+".matchExpressions[*].key", constraint+".matchExpressions[*].key"), messages: qualifiedName, why: whyCore},
	{fields: of(selectors+".matchExpressions[*].operator", constraint+".matchExpressions[*].operator"), messages: of("not a valid selector operator"), why: whyCore},
	{fields: of(selectors+".matchExpressions[*].values", constraint+".matchExpressions[*].values"), messages: of("must be specified when …", "may not be specified when …"), why: whyCore},
	{fields: of(selectors+".matchExpressions[*].values[*]", constraint+".matchExpressions[*].values[*]"), messages: labelValue, why: whyCore},
	{fields: of(spread + ".maxSkew"), messages: of("must be greater than 0"), why: whyCore},
	{fields: of(spread + ".whenUnsatisfiable"), messages: of(`supported values: "DoNotSchedule", "ScheduleAnyway"`), why: whyCore},
	{fields: of(spread + ".minDomains"), messages: of("must be greater than 0, and only set with whenUnsatisfiable DoNotSchedule"), why: whyCore},
	{fields: of(spread + ".{nodeAffinityPolicy,nodeTaintsPolicy}"), messages: of(`supported values: "Honor", "Ignore"`), why: whyCore},

	// Ports of PodSets.
	{kind: kindPodSet, fields: of("spec.ports[*].{containerPort,hostPort}"), messages: aPort, why: whyCore},
	{kind: kindPodSet, fields: of("spec.ports[*].protocol"), messages: of(`supported values: "TCP", "UDP", "SCTP"`), why: whyCore},
	{kind: kindPodSet, fields: of("spec.ports[*].name"), messages: append(of(duplicate), portOrName[:len(portOrName)-1]...), why: whyCore},
}

// forKind is true if the rule applies to a kind.
func (r *webhookRule) forKind(gk schema.GroupKind) bool {
	return r.kind == "" || r.kind == gk.Kind
}

// fieldOf returns which of the rule's fields an error of the validators, in v1, is about, or nothing if it is not the rule's.
func (r *webhookRule) fieldOf(err *field.Error) string {
	for _, message := range r.messages {
		if !like(message, messageOf(err), "…") {
			continue
		}
		for _, pattern := range r.fields {
			for _, path := range alternatives(pattern) {
				if likePath(path, err.Field) {
					return pattern
				}
			}
		}
	}
	return ""
}

// messageOf is what an error says, without the value.
func messageOf(err *field.Error) string {
	if err.Detail == "" {
		return err.Type.String()
	}
	return err.Detail
}

// like compares a text with a pattern in which wildcard stands for any text.
func like(pattern, text, wildcard string) bool {
	parts := strings.Split(pattern, wildcard)
	rest, ok := strings.CutPrefix(text, parts[0])
	for _, part := range parts[1:] {
		at := strings.LastIndex(rest, part)
		if part != "" && at < 0 {
			return false
		}
		if part == "" {
			rest = ""
			continue
		}
		rest = rest[at+len(part):]
	}
	return ok && rest == ""
}

// likePath compares a path with a pattern in which [*] stands for any index or key. Keys come in both spellings, [cpu] and .cpu.
func likePath(pattern, path string) bool {
	before, after, found := strings.Cut(pattern, "[*]")
	if !found {
		return pattern == path
	}
	rest, ok := strings.CutPrefix(path, before)
	if !ok || rest == "" {
		return false
	}
	if rest[0] == '.' {
		end := strings.IndexAny(rest[1:]+".", ".[") + 1
		return likePath(after, rest[end:])
	}
	_, rest, ok = strings.Cut(rest, "]")
	return ok && likePath(after, rest)
}

// alternatives writes {a,b} in a pattern out.
func alternatives(pattern string) []string {
	before, rest, found := strings.Cut(pattern, "{")
	if !found {
		return []string{pattern}
	}
	inner, after, _ := strings.Cut(rest, "}")
	var all []string
	for _, name := range strings.Split(inner, ",") {
		all = append(all, alternatives(before+name+after)...)
	}
	return all
}
