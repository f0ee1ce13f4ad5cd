//go:build unix

package server

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
)

// The ports that FreePort chooses from lie below those that Linux gives to
// outgoing connections (32768 and up), so that none of these takes the port of
// a server that is down for a moment.
const lowestPort, highestPort = 15000, 32767

// FreePort returns a TCP port of 127.0.0.1 on which nobody listened a moment
// ago. Somebody may the next moment: a server that cannot bind is to be started
// again on another.
func FreePort(ctx context.Context) (int, error) {
	var last error
	for range 100 {
		port := lowestPort + rand.IntN(highestPort-lowestPort+1)
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return port, l.Close()
		}
		last = err
	}
	return 0, fmt.Errorf("server: no free port: %w", last)
}
