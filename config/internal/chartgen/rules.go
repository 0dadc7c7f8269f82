package main

import (
	"fmt"
	"os"
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const (
	ruleKind      = "PrometheusRule"
	ruleFile      = "prometheus_rule.yaml"
	ruleCondition = "{{- if .Values.monitoring.prometheusRule.enabled }}\n"
	endCondition  = "{{- end }}\n"
)

// nameInText matches names of objects of the default installation within expressions and messages.
var nameInText = regexp.MustCompile(`\b` + prefix + `((-[a-z0-9]+)+)\b`)

// namespaceInText is looked for first: it looks like such a name.
var namespaceInText = regexp.MustCompile(`\b` + namespace + `\b`)

// ruleTemplate makes a template of the file with the rules for Prometheus. The templates in its messages are Prometheus' own.
func ruleTemplate(file string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict(data, &object.Object); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", file, err)
	}
	if object.GetKind() != ruleKind {
		return nil, fmt.Errorf("%s holds a %s, want a %s", file, object.GetKind(), ruleKind)
	}
	if object.GetName() != prefix {
		return nil, fmt.Errorf("%s: the name is %s, want %s, which every release replaces by its own", file, object.GetName(), prefix)
	}
	object.SetName(fullnameMark)
	if spec, ok := object.Object["spec"]; ok {
		object.Object["spec"] = followInText(spec)
	}
	object.SetNamespace(namespace)
	object.SetLabels(map[string]string{ruleLabelsMark: ""}) // the chart's own are added to all objects
	document, err := template(object)
	if err != nil {
		return nil, err
	}
	return []byte(header + ruleCondition + string(document) + endCondition), nil
}

// followInText replaces the namespace and the names of the default installation wherever they occur in a text.
func followInText(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, entry := range v {
			v[key] = followInText(entry)
		}
	case []any:
		for i, entry := range v {
			v[i] = followInText(entry)
		}
	case string:
		return nameInText.ReplaceAllString(namespaceInText.ReplaceAllString(v, inTextMark), fullnameMark+"$1")
	}
	return value
}
