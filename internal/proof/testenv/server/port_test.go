//go:build unix

package server_test

import (
	"testing"

	"github.com/flakepass/flakepass/internal/proof/testenv/server"
)

// TestPortIsGivenOnce: of 17,768 ports drawn at random without a memory, two of
// 800 would be the same but once in 10^7 runs.
func TestPortIsGivenOnce(t *testing.T) {
	given := map[int]bool{}
	for range 800 {
		port, err := server.FreePort(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if given[port] {
			t.Fatalf("port %d was given twice", port)
		}
		given[port] = true
	}
}
