package operator

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// Ready asks /readyz of the manager whose probes have this address once. The error is why it is not ready; it begins with the status
// if the manager has answered.
func Ready(ctx context.Context, probes string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+probes+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", response.Status, strings.ReplaceAll(strings.TrimSpace(string(body)), "\n", ", "))
	}
	return nil
}

// Addresses are where a manager listens.
type Addresses struct{ Webhook, Probes, Metrics string }

// FreeAddresses are on the loopback interface, with ports that nobody listens on.
func FreeAddresses() (Addresses, error) {
	var a Addresses
	for _, address := range []*string{&a.Webhook, &a.Probes, &a.Metrics} {
		listener, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
		if err != nil {
			return Addresses{}, fmt.Errorf("looking for a free port: %w", err)
		}
		defer listener.Close()
		*address = listener.Addr().String()
	}
	return a, nil
}

// WebhookPort is the port of the webhooks.
func (a Addresses) WebhookPort() int64 {
	_, text, _ := net.SplitHostPort(a.Webhook)
	port, _ := strconv.ParseInt(text, 10, 32) // FreeAddresses had it from the kernel
	return port
}

// Args are the flags that make a manager listen there. Of a flag given twice the last one counts.
func (a Addresses) Args() []string {
	return []string{
		"--webhook-bind-address=" + loopback, fmt.Sprintf("--webhook-port=%d", a.WebhookPort()),
		"--health-probe-bind-address=" + a.Probes, "--metrics-bind-address=" + a.Metrics,
	}
}
