package migration

import (
	"cmp"
	"context"
	"time"
)

// Options tune an Engine. The zero value is right for a cluster in use.
type Options struct {
	// Workers write at the same time; 8 by default.
	Workers int
	// QPS bounds the requests of this engine per second; 50 by default. Bursts are twice as large.
	QPS float32
	// PageSize is how many objects are listed at once; 500 by default.
	PageSize int64
	// SettleDelay is how old the latest change of a definition must be before anything is written: API servers follow it by
	// watches, and requests that were under way may still write the former storage version. A minute by default, which is how
	// long an API server lets a request take.
	SettleDelay time.Duration
	// Poll is the pause between two looks at something that is waited for; 2 seconds by default.
	Poll time.Duration
	// Listed bounds the objects that a report names; 1,000 by default. All are counted.
	Listed int
	// Native leaves the rewriting to the StorageVersionMigration of the cluster. Preflight, verification, the translation of
	// ownership and the report stay with the engine.
	Native bool
	// Actor is who runs, for the record of a run.
	Actor string
	// Ready is a further condition that must hold before anything is written, and is asked again before every page. Its error is
	// what is waited for. May be nil.
	Ready func(context.Context) error
	// Observe is told the progress, by one goroutine at a time. It must not block. May be nil.
	Observe func(Progress)
}

// Defaults of Options.
const (
	DefaultWorkers     = 8
	DefaultQPS         = 50
	DefaultPageSize    = 500
	DefaultSettleDelay = time.Minute
	defaultPoll        = 2 * time.Second
	defaultListed      = 1000
)

func (o *Options) setDefaults() {
	o.Workers = cmp.Or(o.Workers, DefaultWorkers)
	o.QPS = cmp.Or(o.QPS, DefaultQPS)
	o.PageSize = cmp.Or(o.PageSize, DefaultPageSize)
	o.SettleDelay = cmp.Or(o.SettleDelay, DefaultSettleDelay)
	o.Poll = cmp.Or(o.Poll, defaultPoll)
	o.Listed = cmp.Or(o.Listed, defaultListed)
	o.Actor = cmp.Or(o.Actor, fieldManager)
	if o.Ready == nil {
		o.Ready = func(context.Context) error { return nil }
	}
	if o.Observe == nil {
		o.Observe = func(Progress) {}
	}
}
