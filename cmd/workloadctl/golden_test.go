package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what the command does as what is expected")

// TestGolden runs the command line in the file args of each folder of testdata, and compares exit code, stdout and stderr with the
// file expected. quarantined-json and foreign are O-14.
func TestGolden(t *testing.T) {
	folders, err := filepath.Glob("testdata/*/args")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, file := range folders {
		dir, err := filepath.Abs(filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Chdir(dir)
			args, err := os.ReadFile("args")
			if err != nil {
				t.Fatal(err)
			}
			ran := runWith("", strings.Fields(string(args))...)
			got := fmt.Sprintf("== exit code %d\n== stderr\n%s== stdout\n%s", ran.code, ran.stderr, ran.stdout)
			if *update {
				if err := os.WriteFile("expected", []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile("expected")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
