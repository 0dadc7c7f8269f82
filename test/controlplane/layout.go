package controlplane

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const modulePath = "github.com/example/workload-operator"

// FindRoot returns the root of the repository that holds the working directory.
func FindRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the working directory: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if declaresModule(filepath.Join(dir, "go.mod")) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not inside the workload-operator repository: change into it first", start)
		}
	}
}

func declaresModule(goMod string) bool {
	file, err := os.Open(goMod)
	if err != nil {
		return false
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == "module "+modulePath {
			return true
		}
	}
	return false
}

// planesDir holds everything the planes of a repository write: binaries, build logs, keys, data.
func planesDir(root string) string { return filepath.Join(root, ".plane") }

// NamedDir is the directory of the plane that the command line calls by name.
func NamedDir(root, name string) string { return filepath.Join(planesDir(root), name) }

// LogOf is where a plane that runs in the background under a name writes what it has to say.
func LogOf(dir string) string { return filepath.Clean(dir) + ".log" }

// RunningPlanes are the directories of the planes of a repository that run: those that have a name, and those of make run and of tests.
func RunningPlanes(root string) (named, unnamed []string, err error) {
	find := func(pattern string) ([]string, error) {
		locks, err := filepath.Glob(pattern)
		var dirs []string
		for _, lock := range locks {
			if dir := strings.TrimSuffix(lock, ".lock"); Running(dir) {
				dirs = append(dirs, dir)
			}
		}
		return dirs, err
	}
	if named, err = find(filepath.Join(planesDir(root), "*.lock")); err != nil {
		return nil, nil, fmt.Errorf("looking for planes: %w", err)
	}
	named = slices.DeleteFunc(named, func(dir string) bool { return filepath.Base(dir) == "build" })
	if unnamed, err = find(filepath.Join(planesDir(root), "run", "*.lock")); err != nil {
		return nil, nil, fmt.Errorf("looking for planes: %w", err)
	}
	return named, unnamed, nil
}

// claim takes the directory of a plane for this process: it is locked, emptied and ready for use.
// An empty dir asks for a fresh directory, made after the leftovers of dead planes were removed.
func claim(ctx context.Context, root, dir string) (string, *fileLock, error) {
	if dir != "" {
		lock, err := claimExisting(ctx, dir)
		return dir, lock, err
	}
	run := filepath.Join(planesDir(root), "run")
	if err := os.MkdirAll(run, 0o755); err != nil {
		return "", nil, fmt.Errorf("creating the directory of planes: %w", err)
	}
	sweep(run)
	for {
		file, err := os.CreateTemp(run, "plane-*.lock")
		if err != nil {
			return "", nil, fmt.Errorf("creating the lock of a plane: %w", err)
		}
		file.Close()
		dir := strings.TrimSuffix(file.Name(), ".lock")
		lock, err := tryLock(file.Name())
		if errors.Is(err, errLocked) {
			continue // another plane swept the file away before it was locked
		}
		if err != nil {
			return "", nil, err
		}
		return dir, lock, os.Mkdir(dir, 0o700)
	}
}

func claimExisting(ctx context.Context, dir string) (*fileLock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the directory of the plane: %w", err)
	}
	lock, err := graceLock(ctx, lockPath(dir))
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("%s: %w", dir, ErrRunning)
	}
	if err != nil {
		return nil, err
	}
	if err := clearDir(dir); err != nil {
		lock.release()
		return nil, err
	}
	return lock, nil
}

// clearDir empties the directory of an earlier plane. Any other content is somebody else's and is left alone.
func clearDir(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("reading the directory of the plane: %w", err)
	}
	if len(entries) == 0 {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, stateFile)); err != nil {
		return fmt.Errorf("%s is not empty and no plane made it: choose another directory", dir)
	}
	for _, entry := range entries {
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return fmt.Errorf("removing the data of an earlier plane: %w", err)
		}
	}
	return nil
}

// sweep removes the directories of planes whose process is gone. What cannot be removed now is left to the next sweep.
func sweep(run string) {
	dirs, err := filepath.Glob(filepath.Join(run, "plane-*"))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		if strings.HasSuffix(dir, ".lock") {
			continue
		}
		if keep, err := os.Stat(filepath.Join(dir, keepFile)); err == nil && time.Since(keep.ModTime()) < keepFor {
			continue
		}
		lock, err := tryLock(lockPath(dir))
		if err != nil {
			continue
		}
		if os.RemoveAll(dir) == nil {
			os.Remove(lockPath(dir))
		}
		lock.release()
	}
}

func lockPath(dir string) string { return filepath.Clean(dir) + ".lock" }
