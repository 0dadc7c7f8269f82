package controlplane

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// Ports come from below the range that the kernel gives to outgoing connections, or a client could take the port of a
// part while that part restarts. They are reserved in blocks, one lock each, so that planes of different processes
// never race for one.
const (
	firstPort  = 20000
	blockSize  = 10
	portBlocks = 999
)

// ports of one plane, all on loopback.
type ports struct {
	etcdClient, etcdPeer, apiServer, controllerManager, scheduler, kwok int
}

// reservePorts finds free ports and holds them until the lock is released. apiServer, unless 0, is taken as it is.
func reservePorts(apiServer int) (ports, *fileLock, error) {
	dir := filepath.Join(os.TempDir(), "workload-plane-ports-"+strconv.Itoa(os.Getuid()))
	start := rand.IntN(portBlocks)
	for i := range portBlocks {
		block := (start + i) % portBlocks
		lock, err := tryLock(filepath.Join(dir, strconv.Itoa(block)))
		if errors.Is(err, errLocked) {
			continue
		}
		if err != nil {
			return ports{}, nil, err
		}
		base := firstPort + block*blockSize
		if !allFree(base) {
			lock.release()
			continue
		}
		reserved := ports{base, base + 1, base + 2, base + 3, base + 4, base + 5}
		if apiServer != 0 {
			reserved.apiServer = apiServer
		}
		return reserved, lock, nil
	}
	return ports{}, nil, fmt.Errorf("no free ports between %d and %d", firstPort, firstPort+portBlocks*blockSize)
}

func allFree(base int) bool {
	for port := base; port < base+blockSize; port++ {
		if !free(port) {
			return false
		}
	}
	return true
}

func free(port int) bool {
	listener, err := net.Listen("tcp", loopback(port))
	if err != nil {
		return false
	}
	listener.Close()
	return true
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
