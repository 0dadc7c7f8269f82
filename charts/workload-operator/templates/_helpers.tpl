{{/*
Prefix of all names. Names of Services are the narrowest: no dots, a letter first, at most 63 characters together with the
longest suffix, -controller-manager. The chart's own name is not asked for, since a parent chart may give it an alias.
*/}}
{{- define "workload-operator.fullname" -}}
{{- $release := .Release.Name | replace "." "-" -}}
{{- $name := $release -}}
{{- if regexMatch "^[0-9]" $release -}}
{{- $name = printf "workload-operator-%s" $release -}}
{{- else if not (contains "workload-operator" $release) -}}
{{- $name = printf "%s-workload-operator" $release -}}
{{- end -}}
{{- $name | trunc 44 | trimSuffix "-" -}}
{{- end }}

{{- define "workload-operator.labels" -}}
app.kubernetes.io/name: workload-operator
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "workload-operator-%s" .Chart.Version | replace "+" "_" | quote }}
{{- end }}

{{/*
What selects the manager's Pods. The selector of a Deployment can never change, so nothing of the release is in it.
A value that the first chart did not have is read in parentheses: helm upgrade --reuse-values renders with the values of the chart
before, and without the new ones.
*/}}
{{- define "workload-operator.selector" -}}
app.kubernetes.io/name: workload-operator
{{- if (.Values.shard).name }}
app.kubernetes.io/component: shard
workload.example.com/shard: {{ .Values.shard.name | quote }}
{{- else }}
app.kubernetes.io/component: manager
{{- end }}
{{- end }}

{{- define "workload-operator.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "workload-operator.certificateSecret" -}}
{{- .Values.certificates.secretName | default (printf "%s-webhook-certs" (include "workload-operator.fullname" .)) -}}
{{- end }}

{{/* Where Pods may run, and who they are: the same for the manager and for the Job before an uninstallation. */}}
{{- define "workload-operator.pod" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "workload-operator.container" -}}
image: {{ include "workload-operator.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- with .Values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop:
    - ALL
{{- end }}
