package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const (
	crdGroup     = "apiextensions.k8s.io"
	rbacGroup    = "rbac.authorization.k8s.io"
	webhookGroup = "admissionregistration.k8s.io"

	// The default installation, see config/default/kustomization.yaml.
	namespace = "workload-operator-system"
	prefix    = "workload-operator"
	// certificateSecret may have any name in a release, and certificatesRole is the one that allows it.
	certificateSecret = prefix + "-webhook-certs"
	certificatesRole  = certificateSecret + "-role"

	rbacFile      = "rbac.yaml"
	mainCondition = "{{- if not (.Values.shard).name }}\n"
)

// sharedRoles are the roles and bindings that a shard has no use for: who may edit objects is the same for all of them.
var sharedRoles = []string{certificatesRole, certificateSecret + "-rolebinding", prefix + "-workloads-edit-role", prefix + "-workloads-view-role"}

// objectName matches the names that the prefix is part of.
var objectName = regexp.MustCompile(`^` + prefix + `((-[a-z0-9]+)+)$`)

// Marks stand for template actions until the object is YAML: they need no quotes there, and occur nowhere else.
const (
	namespaceMark     = "CHARTGEN-NAMESPACE"
	fullnameMark      = "CHARTGEN-FULLNAME"
	failurePolicyMark = "CHARTGEN-FAILURE-POLICY"
	labelsMark        = "CHARTGEN-LABELS"
	secretMark        = "CHARTGEN-SECRET"
	writesSecretMark  = "CHARTGEN-WRITES-SECRET"
	inTextMark        = "CHARTGEN-TEXT-NAMESPACE"
	ruleLabelsMark    = "CHARTGEN-RULE-LABELS"

	storesHubMark   = "CHARTGEN-STORES-HUB"
	storesSpokeMark = "CHARTGEN-STORES-SPOKE"
	servesSpokeMark = "CHARTGEN-SERVES-SPOKE"
	spokeMark       = "CHARTGEN-SPOKE"
	// Keys, which are sorted: these two enclose all others.
	convertMark      = "CHARTGEN-CONVERT"
	endOfConvertMark = "zCHARTGEN-CONVERT"
	endMark          = "CHARTGEN-END"
)

// The versions of our definitions.
const (
	hub   = "v1"
	spoke = "v1alpha1"
)

var actions = strings.NewReplacer(
	// A namespace may look like a number.
	namespaceMark, `{{ .Release.Namespace | quote }}`,
	fullnameMark, `{{ include "workload-operator.fullname" . }}`,
	failurePolicyMark, `{{ .Values.webhook.failurePolicy }}`,
	labelsMark+`: ""`, `{{- include "workload-operator.labels" . | nindent 4 }}`,
	secretMark, `{{ include "workload-operator.certificateSecret" . }}`,
	// In the other modes somebody else writes it.
	"- "+writesSecretMark, `{{- if has .Values.certificates.mode (list "auto" "self-managed") }}`,
	inTextMark, `{{ .Release.Namespace }}`,
	ruleLabelsMark+`: ""`, "{{- with .Values.monitoring.prometheusRule.labels }}\n    {{- toYaml . | nindent 4 }}\n    {{- end }}",
	// The step of the release, see config/steps.go.
	storesHubMark, `{{ ne .Values.crds.step "R2" }}`,
	storesSpokeMark, `{{ eq .Values.crds.step "R2" }}`,
	servesSpokeMark, `{{ ne .Values.crds.step "R4" }}`,
	"- "+spokeMark, `{{- if ne .Values.crds.step "R5" }}`,
	"- "+endMark, `{{- end }}`,
	endOfConvertMark+`: ""`, `{{- end }}`,
	convertMark+`: ""`, "{{- if eq .Values.crds.step \"R5\" }}\n    strategy: None\n    {{- else }}",
	// Text of the object is no template.
	"{{", `{{ "{{" }}`,
)

// template changes the object.
func template(object *unstructured.Unstructured) ([]byte, error) {
	if object.GetName() == certificatesRole {
		if err := letMakerVary(object); err != nil {
			return nil, err
		}
	}
	object.Object, _ = follow(object.Object).(map[string]any)
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[labelsMark] = ""
	object.SetLabels(labels)
	if object.GroupVersionKind().Group == crdGroup {
		annotations := object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		// Removing a definition removes all its objects.
		annotations["helm.sh/resource-policy"] = "keep"
		object.SetAnnotations(annotations)
		if err := letStepVary(object); err != nil {
			return nil, err
		}
	}
	if object.GroupVersionKind().Group == webhookGroup {
		if err := letFailurePolicyVary(object); err != nil {
			return nil, err
		}
	}
	data, err := yaml.Marshal(object.Object)
	return []byte(actions.Replace(string(data))), err
}

// follow replaces the namespace and the names of the default installation wherever they are a whole value.
func follow(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, entry := range v {
			v[key] = follow(entry)
		}
	case []any:
		for i, entry := range v {
			v[i] = follow(entry)
		}
	case string:
		switch v {
		case namespace:
			return namespaceMark
		case certificateSecret:
			return secretMark
		}
		return objectName.ReplaceAllString(v, fullnameMark+"$1")
	}
	return value
}

// letFailurePolicyVary leaves the webhooks of v1alpha1 as they are: a request that cannot be converted cannot succeed.
func letFailurePolicyVary(configuration *unstructured.Unstructured) error {
	webhooks, _, err := unstructured.NestedFieldNoCopy(configuration.Object, "webhooks")
	if err != nil {
		return err
	}
	list, _ := webhooks.([]any)
	for _, entry := range list {
		webhook, _ := entry.(map[string]any)
		name, ok := webhook["name"].(string)
		if !ok {
			return fmt.Errorf("a webhook has no name: %v", entry)
		}
		if first, _, _ := strings.Cut(name, "."); strings.HasSuffix(first, "-v1") {
			webhook["failurePolicy"] = failurePolicyMark
		}
	}
	return nil
}

// letMakerVary takes the rights to write the Secret of the certificate away where the operator does not make it.
func letMakerVary(role *unstructured.Unstructured) error {
	list, _, err := unstructured.NestedFieldNoCopy(role.Object, "rules")
	if err != nil {
		return err
	}
	rules, _ := list.([]any)
	var varied []any
	for _, entry := range rules {
		rule, _ := entry.(map[string]any)
		verbs, _, err := unstructured.NestedStringSlice(rule, "verbs")
		if err != nil {
			return err
		}
		var reads, writes []any
		for _, verb := range verbs {
			if slices.Contains([]string{"get", "list", "watch"}, verb) {
				reads = append(reads, verb)
			} else {
				writes = append(writes, verb)
			}
		}
		rule["verbs"] = append(append(append(reads, writesSecretMark), writes...), endMark)
		if len(reads) == 0 {
			rule["verbs"] = writes
			varied = append(varied, writesSecretMark, rule, endMark)
			continue
		}
		varied = append(varied, rule)
	}
	role.Object["rules"] = varied
	return nil
}

// letStepVary lets a value choose what is served and stored, and whether anything is converted.
func letStepVary(crd *unstructured.Unstructured) error {
	list, _, err := unstructured.NestedFieldNoCopy(crd.Object, "spec", "versions")
	if err != nil {
		return err
	}
	versions, _ := list.([]any)
	var varied []any
	for _, entry := range versions {
		version, _ := entry.(map[string]any)
		switch version["name"] {
		case hub:
			version["storage"] = storesHubMark
			varied = append(varied, version)
		case spoke:
			version["served"], version["storage"] = servesSpokeMark, storesSpokeMark
			varied = append(varied, spokeMark, version, endMark)
		default:
			return fmt.Errorf("no step says what becomes of version %v", version["name"])
		}
	}
	conversion, _, err := unstructured.NestedFieldNoCopy(crd.Object, "spec", "conversion")
	if err != nil {
		return err
	}
	stanza, ok := conversion.(map[string]any)
	if !ok {
		return errors.New("no conversion stanza")
	}
	stanza[convertMark], stanza[endOfConvertMark] = "", ""
	crd.Object["spec"].(map[string]any)["versions"] = varied
	return nil
}
