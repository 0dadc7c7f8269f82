package helm

import (
	"io"
	"net"
	"sync"
)

// balancer plays the Service of the webhooks: it leads connections to a replica that is ready.
type balancer struct {
	listener net.Listener

	mu       sync.Mutex
	replicas []string
	turn     int
}

func listen() (*balancer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &balancer{listener: listener}
	go b.serve()
	return b, nil
}

func (b *balancer) port() int { return b.listener.Addr().(*net.TCPAddr).Port }

// lead replaces the replicas.
func (b *balancer) lead(replicas []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.replicas = replicas
}

func (b *balancer) pick() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.replicas) == 0 {
		return ""
	}
	b.turn++
	return b.replicas[b.turn%len(b.replicas)]
}

// serve ends when the listener does.
func (b *balancer) serve() {
	for {
		client, err := b.listener.Accept()
		if err != nil {
			return
		}
		go b.connect(client)
	}
}

// connect refuses by closing when nobody is ready.
func (b *balancer) connect(client net.Conn) {
	defer client.Close()
	replica, err := net.Dial("tcp", b.pick())
	if err != nil {
		return
	}
	defer replica.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(client, replica)
		_ = client.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(replica, client)
	_ = replica.(*net.TCPConn).CloseWrite()
	<-done
}

func (b *balancer) close() { _ = b.listener.Close() }
