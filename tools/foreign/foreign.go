//go:build tools

// Package foreign names something small of each module, so that go mod tidy keeps it. It is never built.
package foreign

import (
	_ "github.com/cert-manager/cert-manager/pkg/apis/certmanager"
	_ "github.com/prometheus-operator/prometheus-operator/example/alertmanager-webhook"
)
