package certs

import (
	"context"
	"errors"
)

// Settled says why now is no time for work that needs the conversion webhook for long, nil when it is: this replica cannot be called,
// or our authority is being replaced, which changes the CustomResourceDefinitions.
func (c *Certificates) Settled(context.Context) error {
	m := c.serving.Load()
	if m == nil {
		return c.nothingYet()
	}
	if m.signer != nil && len(m.bundle) > 1 {
		return errors.New("the replacement of the webhook's authority to end")
	}
	return c.trust.judge(c.untrusted(m, c.options.Now()), c.options.Now())
}
