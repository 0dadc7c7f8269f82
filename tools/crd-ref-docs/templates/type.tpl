{{- /* One type. The heading names its package too, so that types of the same name have anchors of their own. */ -}}
{{- define "type" }}
### {{ template "title" . }}

{{ regexReplaceAll "\n" .Doc " " }}
{{ with index .Markers "kubebuilder:validation:XValidation" }}
{{ range . }}- Rule: {{ template "text" .Message }}
{{ end }}{{ end }}
{{- if .EnumValues }}
| value | meaning |
|---|---|
{{ range .EnumValues }}| `{{ .Name }}` | {{ template "meaning" .Doc }} |
{{ end }}
{{- else if .Members }}
| field | type | default | description | bounds and rules |
|---|---|---|---|---|
{{ if .GVK }}| `apiVersion` | string | | `{{ .GVK.Group }}/{{ .GVK.Version }}` | required |
| `kind` | string | | `{{ .GVK.Kind }}` | required |
{{ end }}{{ range .Members }}| `{{ .Name }}` | {{ template "reference" .Type }} | {{ template "default" .Default }}| {{ template "description" . }} | {{ template "bounds" . }} |
{{ end }}
{{- else }}
One of
{{- range .Validation }}{{ if hasPrefix "Enum: " . }} {{ . | trimPrefix "Enum: [" | trimSuffix "]" | splitList " " | join ", " }}{{ end }}{{ end }}.
{{ end }}
{{- end -}}

{{- define "title" }}{{ .Name }} ({{ template "home" . }}){{ end -}}

{{- /* app/v1 of a type of .../apis/app/v1 */ -}}
{{- define "home" }}{{ regexReplaceAll "^.*/apis/" .Package "" }}{{ end -}}

{{- define "anchor" }}{{ regexReplaceAll "[^a-z0-9 _-]" (lower .) "" | replace " " "-" }}{{ end -}}

{{- define "link" }}[{{ .Name }}](#{{ lower .Name }}-{{ regexReplaceAll "^.*/apis/" .Package "" | replace "/" "" }}){{ end -}}

{{- /* The type of a field, with a link to where it is described. Kinds of types: 0 is an alias, 3 a map, 4 a pointer, 5 a slice. */ -}}
{{- define "reference" -}}
{{- if eq .Kind 4 }}{{ template "reference" .UnderlyingType }}
{{- else if eq .Kind 5 }}list of {{ template "reference" .UnderlyingType }}
{{- else if eq .Kind 3 }}map of {{ template "reference" .ValueType }}
{{- else if eq .Name "IntOrString" }}integer or string
{{- else if eq .Name "Quantity" }}quantity
{{- else if contains "/apis/" .Package | and (hasPrefix "github.com/example/workload-operator/" .Package) }}{{ template "link" . }}
{{- else if and (eq .Kind 0) (hasPrefix "k8s.io/" .Package) }}string
{{- else }}{{ markdownRenderType . }}
{{- end -}}
{{- end -}}

{{- define "default" }}{{ if . }}`{{ regexReplaceAll "\\s+" . " " | replace "{ " "{" | replace " }" "}" | replace ":" ": " }}` {{ end }}{{ end -}}

{{- define "text" }}{{ regexReplaceAll "\n" . " " | replace "|" "\\|" | replace "<" "&lt;" }}{{ end -}}

{{- define "meaning" }}{{ regexReplaceAll "^\\w+ " (regexReplaceAll "\n" . " ") "" | trim }}{{ end -}}

{{- define "description" -}}
{{- if eq .Name "metadata" }}The usual metadata of Kubernetes objects.{{ else }}{{ template "text" .Doc }}{{ end -}}
{{- end -}}

{{- /* Required, bounds, and the messages of the field's own rules; those of a type are with the type. */ -}}
{{- define "bounds" -}}
{{- $all := list -}}
{{- $ours := hasPrefix "github.com/example/workload-operator/" .Type.Package -}}
{{- range .Validation -}}
{{- if hasPrefix "Required" . -}}{{- $all = append $all "required" -}}
{{- else if or (hasPrefix "Optional" .) (hasPrefix "XIntOrString" .) -}}
{{- else if and $ours (hasPrefix "Enum" .) -}}
{{- else if hasPrefix "Enum: [" . -}}{{- $all = append $all (print "one of " (. | trimPrefix "Enum: [" | trimSuffix "]" | replace " " ", ")) -}}
{{- else if regexMatch "^M(ax|in)imum: " . -}}
{{- $all = append $all (print (ternary "at most " "at least " (hasPrefix "Maximum" .)) (regexReplaceAll "^.*: " . "" | float64 | printf "%.0f")) -}}
{{- else if hasPrefix "MaxLength: " . -}}{{- $all = append $all (print "at most " (trimPrefix "MaxLength: " .) " characters") -}}
{{- else if hasPrefix "MinLength: 1" . -}}{{- $all = append $all "not empty" -}}
{{- else if hasPrefix "MaxItems: " . -}}{{- $all = append $all (print "at most " (trimPrefix "MaxItems: " .) " entries") -}}
{{- else if hasPrefix "MaxProperties: " . -}}{{- $all = append $all (print "at most " (trimPrefix "MaxProperties: " .) " entries") -}}
{{- else if hasPrefix "items:MaxLength: " . -}}{{- $all = append $all (print "each at most " (trimPrefix "items:MaxLength: " .) " characters") -}}
{{- else if hasPrefix "Pattern: " . -}}{{- $all = append $all (print "matches " (trimPrefix "Pattern: " . | replace "|" "\\|")) -}}
{{- else -}}{{- $all = append $all . -}}
{{- end -}}
{{- end -}}
{{- if not $ours -}}
{{- range index .Markers "kubebuilder:validation:XValidation" -}}{{- $all = append $all (.Message | replace "|" "\\|") -}}{{- end -}}
{{- end -}}
{{- join "; " $all -}}
{{- end -}}
