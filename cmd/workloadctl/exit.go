package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// Exit codes, the same for every verb. Help says what they mean for each.
const (
	exitOK      = 0 // done, and nothing was found
	exitFailure = 1 // the command worked, and something was found: a difference, an invalid object, an object that cannot be converted
	exitUsage   = 2 // the command could not do its job: wrong command line, a file that cannot be read or has no objects, no cluster
)

// usageError is a mistake on the command line.
type usageError struct{ error }

func usagef(cmd *cobra.Command, format string, args ...any) error {
	return usageError{fmt.Errorf("%s (see %s --help)", fmt.Sprintf(format, args...), cmd.CommandPath())}
}

// errFindings says that a report, already written, is not empty.
var errFindings = errors.New("findings")

func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	if _, usage := errors.AsType[usageError](err); usage {
		return exitUsage
	}
	return exitFailure
}

// errorLines returns what to say about an error: a line for each error that was joined.
func errorLines(err error) []string {
	if err == nil || errors.Is(err, errFindings) {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []string{oneLine(err.Error())}
	}
	var lines []string
	for _, one := range joined.Unwrap() {
		lines = append(lines, errorLines(one)...)
	}
	return lines
}

// unreachable marks that nothing could be found out, which is neither a good nor a bad finding.
func unreachable(err error) error { return usageError{err} }

// written is what became of output. A verdict that cannot be written is none.
func written(err error) error {
	if err == nil {
		return nil
	}
	return unreachable(fmt.Errorf("writing the output: %w", err))
}
