package main

import (
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// limits for clients of the webhook server. The API server gives up on a conversion after 30 seconds and on an admission request
// after less.
type limits struct {
	// header, request, response and idle bound how long a client may take.
	header, request, response, idle time.Duration
	// connections are open at the same time; more are closed at once. The API server needs one for each of its replicas, webhooks
	// and caBundles, and tests and tools a few more.
	connections int
	// inFlightBytes bounds the bodies of the admission requests under way together; one beyond is answered 503 with Retry-After,
	// which the API server obeys. An object takes about ten times its size while it is judged. Conversion has a bound of its own.
	inFlightBytes int64
}

var defaultLimits = limits{
	header:        10 * time.Second,
	request:       30 * time.Second,
	response:      60 * time.Second,
	idle:          2 * clientIdle, // the client has to be the one that ends a connection, see awaitUnused
	connections:   1000,
	inFlightBytes: 16 << 20,
}

const (
	maxHeaderBytes = 64 << 10
	// leastWeight is what the smallest request counts, so that the number of requests is bounded, too.
	leastWeight = 64 << 10
	// unknownWeight is what a request of unknown length counts; the API server tells the length.
	unknownWeight = 8 << 20
)

// limitedHandler answers 503 while too many bytes are under way.
type limitedHandler struct {
	next     http.Handler
	inFlight *semaphore.Weighted
	most     int64
}

// ServeHTTP passes a request on if there is room for it.
func (l *limitedHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	weight := r.ContentLength
	if weight < 0 {
		weight = unknownWeight
	}
	// One that is larger than everything gets its turn alone, and its refusal from the handler.
	weight = min(max(weight, leastWeight), l.most)
	if !l.inFlight.TryAcquire(weight) {
		w.Header().Set("Retry-After", strconv.Itoa(1))
		http.Error(w, http.StatusText(http.StatusServiceUnavailable), http.StatusServiceUnavailable)
		return
	}
	defer l.inFlight.Release(weight)
	l.next.ServeHTTP(w, r)
}

// limitedListener closes connections beyond a number at once. Waiting instead would let those who hold connections open without
// using them keep everybody else out for longer.
type limitedListener struct {
	net.Listener
	free chan struct{}
}

func limitConnections(l net.Listener, most int) net.Listener {
	return &limitedListener{Listener: l, free: make(chan struct{}, most)}
}

// Accept returns the next connection that there is room for.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		connection, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.free <- struct{}{}:
			return &limitedConn{Conn: connection, release: sync.OnceFunc(func() { <-l.free })}, nil
		default:
			_ = connection.Close() // refusing it is all there is to do
		}
	}
}

type limitedConn struct {
	net.Conn
	release func()
}

// Close makes room for another connection.
func (c *limitedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
