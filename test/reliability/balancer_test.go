package reliability

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// balancer plays the Service: each new connection goes to one of the endpoints, whether that still listens or not; connections
// that exist are left alone. It works on bytes, as kube-proxy does, and so sees neither TLS nor requests.
type balancer struct {
	listener net.Listener
	copies   sync.WaitGroup

	mu        sync.Mutex
	endpoints []string

	// accepted and refused count connections: all, and those that led to an endpoint where nobody listened.
	accepted, refused atomic.Int64
}

func listen(port int) (*balancer, error) {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, err
	}
	b := &balancer{listener: listener}
	b.copies.Go(b.serve)
	return b, nil
}

func (b *balancer) add(endpoint string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endpoints = append(b.endpoints, endpoint)
}

// removeAfter takes an endpoint out of the Service, late.
func (b *balancer) removeAfter(endpoint string, lag time.Duration) {
	remove := func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.endpoints = slices.DeleteFunc(b.endpoints, func(e string) bool { return e == endpoint })
	}
	if lag == 0 {
		remove()
		return
	}
	time.AfterFunc(lag, remove)
}

func (b *balancer) pick() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.endpoints) == 0 {
		return ""
	}
	return b.endpoints[rand.IntN(len(b.endpoints))]
}

func (b *balancer) serve() {
	for {
		client, err := b.listener.Accept()
		if err != nil {
			return
		}
		b.accepted.Add(1)
		b.copies.Go(func() { b.connect(client) })
	}
}

func (b *balancer) connect(client net.Conn) {
	defer client.Close()
	server, err := net.DialTimeout("tcp", b.pick(), time.Second)
	if err != nil {
		b.refused.Add(1)
		return
	}
	defer server.Close()
	var directions sync.WaitGroup
	forward := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		_ = to.(*net.TCPConn).CloseWrite()
	}
	directions.Go(func() { forward(server, client) })
	directions.Go(func() { forward(client, server) })
	directions.Wait()
}

func (b *balancer) close() { _ = b.listener.Close() }
