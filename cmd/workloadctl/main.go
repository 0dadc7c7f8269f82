package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	os.Exit(execute(os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// execute runs the command line, whose first element is the name of the binary, and returns the exit code. Whatever goes
// wrong is said on stderr, one line each.
func execute(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRootCommand(displayName(args[0]))
	root.Annotations[toolAnnotation] = callable(args[0])
	root.SetArgs(asked(args))
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.Execute()
	for _, line := range errorLines(err) {
		fmt.Fprintln(stderr, "Error:", line)
	}
	return exitCode(err)
}

// oneLine makes a message fit on a line.
func oneLine(message string) string {
	return strings.Join(strings.FieldsFunc(message, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
