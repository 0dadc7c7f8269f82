package main

import (
	"cmp"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	apiversion "k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/yaml"
)

const versionExample = `  # Which version is this?
  %[1]s version

  # For a script, in the form of kubectl version --client
  %[1]s version -o json`

func newVersionCommand(name string) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this binary",
		Example: fmt.Sprintf(versionExample, name),
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch output {
			case "":
				_, err := fmt.Fprintln(cmd.OutOrStdout(), version())
				return err
			case formatJSONName:
				return writePlainJSON(cmd.OutOrStdout(), newVersionReport())
			case formatYAMLName:
				text, err := yaml.Marshal(newVersionReport())
				if err != nil {
					return err
				}
				_, err = cmd.OutOrStdout().Write(text)
				return err
			}
			return usagef(cmd, "-o %q: use yaml or json", output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "yaml or json; without it the version alone")
	completeFlag(cmd, "output", formatYAMLName, formatJSONName)
	return cmd
}

// release is set at build time (-ldflags "-X main.release=v1.2.3").
var release string

// version is the release, or what the Go toolchain recorded about the source.
func version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// versionReport has the form of that of kubectl version --client.
type versionReport struct {
	ClientVersion apiversion.Info `json:"clientVersion"`
}

var majorMinor = regexp.MustCompile(`^v?(\d+)\.(\d+)`)

func newVersionReport() versionReport {
	info := apiversion.Info{
		GitVersion: version(), GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if found := majorMinor.FindStringSubmatch(info.GitVersion); found != nil {
		info.Major, info.Minor = found[1], found[2]
	}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return versionReport{info}
	}
	set := map[string]string{}
	for _, setting := range build.Settings {
		set[setting.Key] = setting.Value
	}
	// Builds can be repeated, so that their date is that of the commit.
	info.GitCommit, info.BuildDate = set["vcs.revision"], set["vcs.time"]
	info.GitTreeState = map[string]string{"false": "clean", "true": "dirty"}[set["vcs.modified"]]
	info.GoVersion = cmp.Or(build.GoVersion, info.GoVersion)
	return versionReport{info}
}
