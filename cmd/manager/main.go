package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

func main() {
	saveMemory(os.Getenv)
	os.Exit(execute(ctrl.SetupSignalHandler(), os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs the command line and returns the exit code. Whatever goes wrong is said in one line on stderr.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == uninstallCommand {
		return prepareRemoval(ctx, args[1:], stdout, stderr)
	}
	o, err := parse(args, os.Getenv, os.ReadFile)
	switch {
	case errors.Is(err, flag.ErrHelp):
		usage(stdout)
		return exitOK
	case err != nil:
		fmt.Fprintf(stderr, "manager: %s; manager --help lists the flags\n", oneLine(err))
		return exitUsage
	case o.version:
		fmt.Fprintln(stdout, version())
		return exitOK
	}
	logger := zap.New(zap.UseFlagOptions(&o.zap), zap.WriteTo(stderr))
	ctrl.SetLogger(logger.WithSink(quietStart{logger.GetSink()}))
	klog.SetLogger(logger)
	if err := run(ctrl.LoggerInto(ctx, logger), o); err != nil {
		o.sayWhy(stderr, err)
		return exitFailure
	}
	return exitOK
}

// sayWhy says in one line why the process ends: for whoever started it, or for the collector of logs if JSON was asked for. A stack
// would only tell where that was found out.
func (o *options) sayWhy(stderr io.Writer, err error) {
	if !o.structured {
		fmt.Fprintf(stderr, "manager: %s\n", oneLine(err))
		return
	}
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	o.zap.BindFlags(flags)
	if flags.Set("zap-stacktrace-level", "panic") == nil {
		zap.New(zap.UseFlagOptions(&o.zap), zap.WriteTo(stderr)).Error(errors.New(oneLine(err)), "Ended")
	}
}

func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
