package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1 // something failed, or --check found something
	exitUsage   = 2 // the command line is wrong
)

const exitCodesHelp = `Exit codes:
  0  done
  1  something failed, or --check found something
  2  the command line is wrong`

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
