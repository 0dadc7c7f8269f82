package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// stateFile describes the plane in its directory to other processes.
const stateFile = "plane.json"

// State is what a plane tells other processes about itself.
type State struct {
	// PID is the process that owns the plane; the plane ends with it.
	PID        int         `json:"pid"`
	Ready      bool        `json:"ready"`
	Started    time.Time   `json:"started"`
	Kubeconfig string      `json:"kubeconfig"`
	Server     string      `json:"server"`
	Kubectl    string      `json:"kubectl"`
	AuditLog   AuditLog    `json:"auditLog"`
	Parts      []PartState `json:"parts"`
}

// PartState is one part in a State. PID is 0 when it does not run.
type PartState struct {
	Name   Part   `json:"name"`
	PID    int    `json:"pid"`
	Port   int    `json:"port"`
	Binary string `json:"binary"`
	Log    string `json:"log"`
}

// ReadState returns what the last plane in dir told about itself. [Running] says whether it still runs.
func ReadState(dir string) (State, error) {
	var state State
	content, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err != nil {
		return state, fmt.Errorf("reading the state of the plane: %w", err)
	}
	if err := json.Unmarshal(content, &state); err != nil {
		return state, fmt.Errorf("decoding the state of the plane in %s: %w", dir, err)
	}
	return state, nil
}

// CheckHealth asks a part of the plane, which may belong to another process, whether it works.
func (s *State) CheckHealth(ctx context.Context, part Part) error {
	config, err := loadRESTConfig(s.Kubeconfig)
	if err != nil {
		return err
	}
	probe, err := newProbe(config)
	if err != nil {
		return err
	}
	for _, known := range s.Parts {
		if known.Name == part {
			return getOK(ctx, probe, healthURL(part, known.Port))
		}
	}
	return fmt.Errorf("this plane has no part %s", part)
}

// Running tells whether a process owns a plane in dir. It cannot be wrong after a crash: the claim ends with its holder.
func Running(dir string) bool { return held(lockPath(dir)) }

// Discard removes the directory of a plane that no longer runs.
func Discard(ctx context.Context, dir string) error {
	lock, err := graceLock(ctx, lockPath(dir))
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	defer lock.release()
	return removeDir(dir)
}

// removeDir removes a directory whose lock we hold, and the lock.
func removeDir(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing the directory of the plane: %w", err)
	}
	if err := os.Remove(lockPath(dir)); err != nil {
		return fmt.Errorf("removing the lock of the plane: %w", err)
	}
	return nil
}

// writeState tells other processes about the plane.
func (p *Plane) writeState() error {
	state := State{
		PID:        os.Getpid(),
		Started:    p.started,
		Kubeconfig: p.Kubeconfig(),
		Server:     "https://" + loopback(p.ports.apiServer),
		Kubectl:    p.Kubectl(),
		AuditLog:   p.AuditLog,
	}
	for _, part := range p.options.Parts {
		state.Parts = append(state.Parts, PartState{
			Name: part, PID: p.PID(part), Port: p.portOf(part), Binary: p.binaries[string(part)], Log: p.Logs(part),
		})
	}
	p.mu.Lock()
	state.Ready = p.ready
	p.mu.Unlock()
	content, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the state of the plane: %w", err)
	}
	return p.writeFile(stateFile, append(content, '\n'))
}
