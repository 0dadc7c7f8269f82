package podset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Each of these happens to one request of so many.
const (
	oneLostBefore  = 15 // the connection breaks before the request arrives
	oneLostAfter   = 8  // the request does its work, and the answer is lost
	oneRefused     = 10 // 429, 500, 503, 504 or 409 without doing anything
	oneSlow        = 8  // the answer comes late
	oneWatchLate   = 20 // of the pieces of a watch; more often, and it would fall behind for good
	oneWatchBroken = 100

	longestDelay = 1500 * time.Millisecond
)

var errBroken = errors.New("the connection broke in the storm")

// storm stands between an operator and the API server.
type storm struct {
	mu     sync.Mutex
	random *rand.Rand
	calm   bool
	dead   chan struct{} // closed when the operator behind it is killed
	flying sync.WaitGroup
	hit    map[string]int
	cloud  time.Time // until then every watch is late, too: trouble seldom comes alone
	sent   int       // requests that were no watches and no events
}

// newStorm adds to counts what it hits.
func newStorm(random *rand.Rand, counts map[string]int) *storm {
	return &storm{random: random, dead: make(chan struct{}), hit: counts}
}

// hits decides whether one of so many requests is hit, and counts it.
func (s *storm) hits(what string, one int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	hit := !s.calm && s.random.IntN(one) == 0
	if hit {
		s.hit[what]++
	}
	return hit
}

func (s *storm) intN(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(n)
}

func (s *storm) calmDown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calm = true
}

func (s *storm) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

// kill cuts the operator off at once, and returns when the API server is done with what was under way. A lease would give it
// more time than that.
func (s *storm) kill() {
	close(s.dead)
	s.flying.Wait()
}

// wrap is the storm as a transport.
func (s *storm) wrap(next http.RoundTripper) http.RoundTripper {
	return transport(func(request *http.Request) (*http.Response, error) {
		if s.killed() {
			return nil, errBroken
		}
		if request.URL.Query().Get("watch") != "" {
			response, err := next.RoundTrip(request)
			if err == nil {
				response.Body = &lateBody{ReadCloser: response.Body, storm: s, done: request.Context().Done()}
			}
			return response, err
		}
		s.flying.Add(1)
		defer s.flying.Done()
		if filepath.Base(request.URL.Path) != "events" {
			s.mu.Lock()
			s.sent++
			s.mu.Unlock()
		}
		return s.exchange(next, request)
	})
}

// exchange sends one request, or does not, and gives the true answer, or does not.
func (s *storm) exchange(next http.RoundTripper, request *http.Request) (*http.Response, error) {
	switch {
	case s.hits("lost before", oneLostBefore):
		return nil, errBroken
	case s.hits("refused", oneRefused):
		return s.refuse(request), nil
	}
	if s.hits("slow", oneSlow) {
		s.pause(request.Context().Done())
	}
	if s.killed() {
		return nil, errBroken
	}
	response, err := next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if s.killed() || s.hits("lost after", oneLostAfter) {
		s.gather()
		return nil, errors.Join(errBroken, response.Body.Close())
	}
	return response, nil
}

// gather puts a cloud over the watches, so that they do not tell at once what an answer would have told.
func (s *storm) gather() {
	lasts := time.Duration(s.intN(int(longestDelay)))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cloud = time.Now().Add(lasts)
}

func (s *storm) clouded() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Until(s.cloud)
}

// refuse answers instead of the API server. Only what it may answer to such a request is answered.
func (s *storm) refuse(request *http.Request) *http.Response {
	answers := []metav1.Status{
		{Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests},
		{Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError},
		{Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable},
		{Code: http.StatusGatewayTimeout, Reason: metav1.StatusReasonTimeout},
		{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden},
	}
	if request.Method == http.MethodPatch || request.Method == http.MethodDelete {
		answers = append(answers, metav1.Status{Code: http.StatusConflict, Reason: metav1.StatusReasonConflict})
	}
	status := answers[s.intN(len(answers))]
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	status.Status, status.Message = metav1.StatusFailure, "refused in the storm"
	body, err := json.Marshal(status)
	if err != nil {
		body = []byte(err.Error())
	}
	return &http.Response{
		StatusCode: int(status.Code), Status: fmt.Sprintf("%d %s", status.Code, status.Reason), Request: request,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, // without Retry-After, or the client would try again by itself
		Body:   io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
}

func (s *storm) killed() bool {
	select {
	case <-s.dead:
		return true
	default:
		return false
	}
}

// wait lets some time pass, unless the operator is killed.
func (s *storm) wait(lasts time.Duration, done <-chan struct{}) {
	timer := time.NewTimer(lasts)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.dead:
	case <-done:
	}
}

// pause waits for a random while.
func (s *storm) pause(done <-chan struct{}) { s.wait(time.Duration(s.intN(int(longestDelay))), done) }

// lateBody is the answer to a watch: pieces of it come late, and it may end at any moment.
type lateBody struct {
	io.ReadCloser
	storm *storm
	done  <-chan struct{}
}

func (b *lateBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.storm.wait(b.storm.clouded(), b.done)
	switch {
	case b.storm.killed() || b.storm.hits("watch broken", oneWatchBroken):
		return 0, errBroken
	case b.storm.hits("watch late", oneWatchLate):
		b.storm.pause(b.done)
	}
	return n, err
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
