//go:build unix

package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

// The ports that FreePort chooses from lie below those that Linux gives to
// outgoing connections (32768 and up), so that none of these takes the port of
// a server that is down for a moment.
const lowestPort, highestPort = 15000, 32767

// reserved keeps a UDP socket for each TCP port that FreePort has returned: what
// asks FreePort, in this process or another, cannot get the port while this
// process lives, also before a server listens on it and while that one is down.
var reserved struct {
	sync.Mutex
	sockets []net.PacketConn
}

// FreePort returns a TCP port of 127.0.0.1 on which nothing listens, and which no
// other call returns while this process lives. A program that does not ask
// FreePort may take it: a server that cannot bind is to be started again on
// another.
func FreePort(ctx context.Context) (int, error) {
	var last error
	for range 100 {
		port := lowestPort + rand.IntN(highestPort-lowestPort+1)
		if last = reserve(ctx, port); last == nil {
			return port, nil
		}
	}
	return 0, fmt.Errorf("server: no free port: %w", last)
}

func reserve(ctx context.Context, port int) error {
	var lc net.ListenConfig
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	socket, err := lc.ListenPacket(ctx, "udp", addr)
	if err != nil {
		return err
	}
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return errors.Join(err, socket.Close())
	}
	reserved.Lock()
	defer reserved.Unlock()
	reserved.sockets = append(reserved.sockets, socket)
	return l.Close()
}
