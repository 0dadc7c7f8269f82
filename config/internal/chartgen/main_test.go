package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const input = `
apiVersion: v1
kind: Namespace
metadata: {name: workload-operator-system}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  conversion: {strategy: Webhook, webhook: {service: {name: workload-operator-webhook-service, namespace: workload-operator-system}}}
  description: workload-operator-things are not {{ braces }}
  versions: [{name: v1, served: true, storage: true}, {name: v1alpha1, served: true, storage: false}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: workload-operator-one, namespace: workload-operator-system, labels: {"app.kubernetes.io/part-of": workload-operator}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: workload-operator-webhook-certs-role}
rules:
- {verbs: [create]}
- {resourceNames: [workload-operator-webhook-certs], verbs: [get, update]}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: workload-operator-two}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: workload-operator-three}
webhooks:
- {name: validate-v1.things.example.com, failurePolicy: Ignore}
- {name: validate-v1alpha1.things.example.com, failurePolicy: Fail}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: workload-operator-four}
spec: {policyName: workload-operator-four}
`

const rules = "testdata/rules.yaml"

const labels = "  labels:\n    {{- include \"workload-operator.labels\" . | nindent 4 }}\n"

var want = map[string]string{
	"crd_things.example.com.yaml": header + `{{- if not (.Values.shard).name }}
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations:
    helm.sh/resource-policy: keep
` + labels + `  name: things.example.com
spec:
  conversion:
    {{- if eq .Values.crds.step "R5" }}
    strategy: None
    {{- else }}
    strategy: Webhook
    webhook:
      service:
        name: {{ include "workload-operator.fullname" . }}-webhook-service
        namespace: {{ .Release.Namespace | quote }}
    {{- end }}
  description: workload-operator-things are not {{ "{{" }} braces }}
  versions:
  - name: v1
    served: true
    storage: {{ ne .Values.crds.step "R2" }}
  {{- if ne .Values.crds.step "R5" }}
  - name: v1alpha1
    served: {{ ne .Values.crds.step "R4" }}
    storage: {{ eq .Values.crds.step "R2" }}
  {{- end }}
{{- end }}
`,
	"guard.yaml": header + `{{- if not (.Values.shard).name }}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
` + labels + `  name: {{ include "workload-operator.fullname" . }}-four
spec:
  policyName: {{ include "workload-operator.fullname" . }}-four
{{- end }}
`,
	"rbac.yaml": header + `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
` + labels + `    app.kubernetes.io/part-of: workload-operator
  name: {{ include "workload-operator.fullname" . }}-one
  namespace: {{ .Release.Namespace | quote }}
---
{{- if not (.Values.shard).name }}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
` + labels + `  name: {{ include "workload-operator.fullname" . }}-webhook-certs-role
rules:
{{- if has .Values.certificates.mode (list "auto" "self-managed") }}
- verbs:
  - create
{{- end }}
- resourceNames:
  - {{ include "workload-operator.certificateSecret" . }}
  verbs:
  - get
  {{- if has .Values.certificates.mode (list "auto" "self-managed") }}
  - update
  {{- end }}
{{- end }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
` + labels + `  name: {{ include "workload-operator.fullname" . }}-two
`,
	"prometheus_rule.yaml": header + `{{- if .Values.monitoring.prometheusRule.enabled }}
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
` + labels + `    {{- with .Values.monitoring.prometheusRule.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  name: {{ include "workload-operator.fullname" . }}
  namespace: {{ .Release.Namespace | quote }}
spec:
  groups:
  - name: workload-operator.one
    rules:
    - alert: OneDown
      annotations:
        summary: '{{ "{{" }} $value | humanize }} of {{ "{{" }}- $labels.job -}}: kubectl -n {{ .Release.Namespace }}
          logs deployment/{{ include "workload-operator.fullname" . }}-controller-manager'
        url: https://example.com/workload-operator/one.md
      expr: up{job="{{ include "workload-operator.fullname" . }}-metrics-service",namespace="{{ .Release.Namespace }}"}
        == 0
{{- end }}
`,
	"webhooks.yaml": header + `{{- if not (.Values.shard).name }}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
` + labels + `  name: {{ include "workload-operator.fullname" . }}-three
webhooks:
- failurePolicy: {{ .Values.webhook.failurePolicy }}
  name: validate-v1.things.example.com
- failurePolicy: Fail
  name: validate-v1alpha1.things.example.com
{{- end }}
`,
}

func TestRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "generated")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "crd_gone.example.com.yaml"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(strings.NewReader(input), rules, dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got[entry.Name()] = string(data)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// A failing kustomize does not empty the folder.
func TestRunKeepsFilesOnError(t *testing.T) {
	upToWebhooks, _, _ := strings.Cut(input, "---\napiVersion: admission")
	for name, in := range map[string]string{"Nothing": "", "NoWebhooks": upToWebhooks} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "rbac.yaml")
			if err := os.WriteFile(file, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := run(strings.NewReader(in), rules, dir); !errors.Is(err, errIncomplete) {
				t.Errorf("run() = %v, want %v", err, errIncomplete)
			}
			if _, err := os.Stat(file); err != nil {
				t.Error(err)
			}
		})
	}
}

// What is not the one object that is meant is no template without a word.
func TestRuleTemplateRefuses(t *testing.T) {
	for name, content := range map[string]string{
		"Kind": "kind: ServiceMonitor\nmetadata: {name: workload-operator}\n",
		"Name": "kind: PrometheusRule\nmetadata: {name: rules}\n",
		"Two":  "kind: PrometheusRule\nkind: PrometheusRule\n",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "rules.yaml")
			if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := ruleTemplate(file); err == nil || !strings.Contains(err.Error(), file) {
				t.Errorf("want an error that names the file, got %v", err)
			}
		})
	}
	if _, err := ruleTemplate("testdata/absent.yaml"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
}
