package main

import "github.com/go-logr/logr"

// lateError is the message under which the manager of controller-runtime logs errors that come while it stops.
const lateError = "error received after stop sequence was engaged"

// leaseGivenBack is what the manager calls an error when its Lease goes, even if it has just handed the Lease over itself.
const leaseGivenBack = "leader election lost"

// quietEnd keeps the manager from ending every orderly run with an error in its log. A Lease that is lost while the
// manager runs ends the process, and is the last line that it prints.
type quietEnd struct{ logr.LogSink }

// noPod is the message under which controller-runtime logs, with a stack, that the process is in no Pod, if no kubeconfig is found
// either. connect returns that as an error.
const noPod = "unable to load in-cluster config"

// quietStart keeps what is said once, at the end, from being logged before.
type quietStart struct{ logr.LogSink }

// Error passes everything on but that the process is in no Pod.
func (q quietStart) Error(err error, message string, keysAndValues ...any) {
	if message != noPod {
		q.LogSink.Error(err, message, keysAndValues...)
	}
}

// WithName keeps the sink quiet.
func (q quietStart) WithName(name string) logr.LogSink {
	return quietStart{q.LogSink.WithName(name)}
}

// WithValues keeps the sink quiet.
func (q quietStart) WithValues(keysAndValues ...any) logr.LogSink {
	return quietStart{q.LogSink.WithValues(keysAndValues...)}
}

func quiet(logger logr.Logger) logr.Logger { return logger.WithSink(quietEnd{logger.GetSink()}) }

// Error passes everything on but the end of the Lease while stopping.
func (q quietEnd) Error(err error, message string, keysAndValues ...any) {
	if message == lateError && err != nil && err.Error() == leaseGivenBack {
		q.Info(1, "Gave the Lease back")
		return
	}
	q.LogSink.Error(err, message, keysAndValues...)
}
