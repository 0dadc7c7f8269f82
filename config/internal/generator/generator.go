// Package generator is what the generators beside it share: how they are called, what they read and what they write. It imports
// nothing of this module.
package generator

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// Main is the main function of a generator: it runs it on standard input, for the folder that the flag -dir names.
func Main(name, folder string, run func(in io.Reader, dir string) error) {
	dir := flag.String("dir", folder, "folder the files are written to")
	flag.Parse()
	if err := run(os.Stdin, *dir); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

// Documents returns the YAML documents of a stream, without those that are empty.
func Documents(in io.Reader) ([][]byte, error) {
	var all [][]byte
	documents := utilyaml.NewYAMLReader(bufio.NewReader(in))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading standard input: %w", err)
		}
		if content := bytes.TrimSpace(document); len(content) > 0 && !bytes.Equal(content, []byte("---")) {
			all = append(all, document)
		}
	}
}

// Write writes files into a folder. It makes the folder, and those in the names of files, if need be.
func Write(dir string, files map[string][]byte) error {
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
