package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// input is a stream of documents.
type input struct {
	name      string // as messages show it
	documents []document
}

// empty reports whether there are no objects.
func (in *input) empty() bool {
	return !slices.ContainsFunc(in.documents, func(d document) bool { return !d.empty() })
}

// readManifests reads what a command is about. Where it finds nothing it says so: as a warning if there is something elsewhere, else
// as an error, because nothing at all was hardly meant. What cannot be read is no finding, whatever the command.
func readManifests(cmd *cobra.Command, names []string, recursive bool) ([]input, error) {
	inputs, err := readInputs(names, recursive, cmd.InOrStdin())
	if err != nil {
		return nil, unreachable(err)
	}
	var empty []string
	for _, in := range inputs {
		if in.empty() {
			empty = append(empty, in.name)
		}
	}
	if len(empty) == len(inputs) {
		shown := strings.Join(names, ", ")
		return nil, unreachable(fmt.Errorf("no objects in %s", strings.ReplaceAll(", "+shown, ", "+standardInput, ", stdin")[2:]))
	}
	for _, name := range empty {
		fmt.Fprintf(cmd.ErrOrStderr(), "Warning: %s: no objects in it\n", name)
	}
	return inputs, nil
}

const standardInput = "-"

var manifestExtensions = []string{".json", ".yaml", ".yml"}

// readInputs reads the named files, the manifests in named directories in order of their names, and stdin for "-".
func readInputs(names []string, recursive bool, stdin io.Reader) ([]input, error) {
	var inputs []input
	for _, name := range names {
		if name == standardInput {
			text, err := io.ReadAll(stdin)
			if err != nil {
				return nil, fmt.Errorf("reading stdin: %w", unnamed(err))
			}
			in, err := newInput("stdin", text)
			if err != nil {
				return nil, err
			}
			inputs = append(inputs, in)
			continue
		}
		files, err := manifestFiles(name, recursive)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, unnamed(err))
			}
			in, err := newInput(file, text)
			if err != nil {
				return nil, err
			}
			inputs = append(inputs, in)
		}
	}
	return inputs, nil
}

// newInput takes a text apart. Editors and shells of Windows write UTF-16, which would only look like broken YAML.
func newInput(name string, text []byte) (input, error) {
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return input{}, fmt.Errorf("%s: is UTF-16; save it as UTF-8", name)
	}
	return input{name: name, documents: split(text)}, nil
}

// unnamed is an error without the name of the file and of the system call, which a user did not make.
func unnamed(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// manifestFiles returns the file of that name or, for a directory, the manifests in it.
func manifestFiles(name string, recursive bool) ([]string, error) {
	var files []string
	err := filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && path == name:
			return err
		case err != nil:
			return fmt.Errorf("%s: %w", strings.TrimPrefix(path, name+string(filepath.Separator)), unnamed(err))
		case path == name && !isDirectory(path):
			files = append(files, path)
		case entry.IsDir() && path != name && !recursive:
			return filepath.SkipDir
		case path != name && !isDirectory(path) && slices.Contains(manifestExtensions, filepath.Ext(path)):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, unnamed(err))
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: no file in this directory ends in .json, .yaml or .yml", name)
	}
	return files, nil
}

// isDirectory follows symbolic links, so that a linked file is read and a link to a directory is no file.
func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
