package controlplane

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// AuditLog is the path of the audit log of an API server. It has one request per line, in the order they were answered.
type AuditLog string

// Request is one request that the API server answered.
type Request struct {
	User        string // user name, as in system:serviceaccount:ns:name
	UserAgent   string // as sent, as in manager/v1.2.3 (linux/amd64) ...
	Verb        string // get, list, watch, create, update, patch, delete, deletecollection
	Group       string // empty for the core group
	Version     string
	Resource    string // plural; empty for a path such as /healthz
	Subresource string
	Namespace   string
	Name        string
	Path        string
	Code        int // of the answer; 0 if the API server panicked
	Time        time.Time
}

// RequestKind is what Count counts by.
type RequestKind struct{ UserAgent, Verb, Group, Resource, Subresource string }

// Kind returns what Count counts r by.
func (r *Request) Kind() RequestKind {
	return RequestKind{r.UserAgent, r.Verb, r.Group, r.Resource, r.Subresource}
}

// End returns the present end of the log, to read later what comes after it.
func (l AuditLog) End() (int64, error) {
	info, err := os.Stat(string(l))
	if err != nil {
		return 0, fmt.Errorf("finding the end of the audit log: %w", err)
	}
	return info.Size(), nil
}

// Count returns how many requests of each kind were answered since offset, among those that keep accepts; nil keeps all.
// A watch counts when it starts.
func (l AuditLog) Count(offset int64, keep func(*Request) bool) (map[RequestKind]int, error) {
	counts := map[RequestKind]int{}
	_, err := l.Read(offset, func(r *Request) {
		if keep == nil || keep(r) {
			counts[r.Kind()]++
		}
	})
	return counts, err
}

// Read calls visit for each request answered since offset, and returns where to read on. A line that is still being
// written is left for the next call.
func (l AuditLog) Read(offset int64, visit func(*Request)) (int64, error) {
	file, err := os.Open(string(l))
	if err != nil {
		return offset, fmt.Errorf("opening the audit log: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return offset, fmt.Errorf("seeking in the audit log: %w", err)
	}
	reader := bufio.NewReaderSize(file, 1<<16)
	for {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return offset, nil
		}
		if err != nil {
			return offset, fmt.Errorf("reading the audit log: %w", err)
		}
		event, err := decodeEvent(line)
		if err != nil {
			return offset, fmt.Errorf("reading the audit log at byte %d: %w", offset, err)
		}
		offset += int64(len(line))
		if event.counts() {
			visit(event.request())
		}
	}
}

// auditEvent is the part of audit.k8s.io/v1 Event that a Request is made of.
type auditEvent struct {
	Stage      string    `json:"stage"`
	RequestURI string    `json:"requestURI"`
	Verb       string    `json:"verb"`
	UserAgent  string    `json:"userAgent"`
	Received   time.Time `json:"requestReceivedTimestamp"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		APIGroup    string `json:"apiGroup"`
		APIVersion  string `json:"apiVersion"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

func decodeEvent(line []byte) (*auditEvent, error) {
	event := &auditEvent{}
	err := json.Unmarshal(bytes.TrimSpace(line), event)
	return event, err
}

// counts picks one event per request: the end, but for long-running requests, which have both, the start.
func (e *auditEvent) counts() bool {
	if e.Stage == "ResponseStarted" {
		return true
	}
	streaming := []string{"attach", "exec", "log", "portforward", "proxy"}
	return e.Verb != "watch" && !slices.Contains(streaming, e.ObjectRef.Subresource)
}

func (e *auditEvent) request() *Request {
	return &Request{
		User:        e.User.Username,
		UserAgent:   e.UserAgent,
		Verb:        e.Verb,
		Group:       e.ObjectRef.APIGroup,
		Version:     e.ObjectRef.APIVersion,
		Resource:    e.ObjectRef.Resource,
		Subresource: e.ObjectRef.Subresource,
		Namespace:   e.ObjectRef.Namespace,
		Name:        e.ObjectRef.Name,
		Path:        e.RequestURI,
		Code:        e.ResponseStatus.Code,
		Time:        e.Received,
	}
}
