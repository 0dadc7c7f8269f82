package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// errLocked says that another process holds the lock.
var errLocked = errors.New("locked by another process")

// fileLock is a lock between processes. The kernel releases it when its holder dies, so it is never stale.
type fileLock struct{ file *os.File }

// tryLock takes the lock at path, or returns errLocked.
func tryLock(path string) (*fileLock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("creating the directory of lock %s: %w", path, err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening lock %s: %w", path, err)
	}
	return lockOpened(file, path)
}

// lockOpened locks a file that was opened at path. The file may have been removed, or removed and made anew, since it
// was opened: then the lock would protect nothing, and errLocked asks for another try.
func lockOpened(file *os.File, path string) (*fileLock, error) {
	err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		file.Close()
		return nil, errLocked
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	opened, openedErr := file.Stat()
	named, namedErr := os.Stat(path)
	if openedErr != nil || namedErr != nil || !os.SameFile(opened, named) {
		file.Close()
		return nil, errLocked
	}
	return &fileLock{file: file}, nil
}

// waitLock takes the lock at path as soon as it is free. It calls waiting once if it has to wait.
func waitLock(ctx context.Context, path string, waiting func()) (*fileLock, error) {
	ticks := time.NewTicker(200 * time.Millisecond)
	defer ticks.Stop()
	for first := true; ; first = false {
		lock, err := tryLock(path)
		if !errors.Is(err, errLocked) {
			return lock, err
		}
		if first {
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for lock %s: %w", path, context.Cause(ctx))
		case <-ticks.C:
		}
	}
}

// graceLock takes the lock at path, or returns errLocked. It outlasts those who hold the lock for a moment, to look or
// to clean up.
func graceLock(ctx context.Context, path string) (*fileLock, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Second, errLocked)
	defer cancel()
	return waitLock(ctx, path, func() {})
}

// held tells whether some process holds the lock at path.
func held(path string) bool {
	if _, err := os.Stat(path); err != nil {
		return false
	}
	lock, err := tryLock(path)
	if err != nil {
		return errors.Is(err, errLocked)
	}
	lock.release()
	return false
}

func (l *fileLock) release() { l.file.Close() }
