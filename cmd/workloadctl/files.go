package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// input is a stream of documents.
type input struct {
	name string // as messages show it
	text []byte
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
				return nil, fmt.Errorf("reading stdin: %w", err)
			}
			inputs = append(inputs, input{name: "stdin", text: text})
			continue
		}
		files, err := manifestFiles(name, recursive)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			inputs = append(inputs, input{name: file, text: text})
		}
	}
	return inputs, nil
}

// manifestFiles returns the file of that name or, for a directory, the manifests in it.
func manifestFiles(name string, recursive bool) ([]string, error) {
	var files []string
	err := filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == name && !isDirectory(path):
			files = append(files, path)
		case entry.IsDir() && path != name && !recursive:
			return filepath.SkipDir
		case path != name && !isDirectory(path) && slices.Contains(manifestExtensions, filepath.Ext(path)):
			files = append(files, path)
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		return nil, fmt.Errorf("%s: no file in this directory ends in .json, .yaml or .yml", name)
	}
	return files, err
}

// isDirectory follows symbolic links, so that a linked file is read and a link to a directory is no file.
func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
