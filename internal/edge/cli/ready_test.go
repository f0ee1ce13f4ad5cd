package cli

import "testing"

// TestReadyAsksAnAddressThatCanBeAsked: in an image the server listens on all
// addresses, and that wildcard is no address to connect to.
func TestReadyAsksAnAddressThatCanBeAsked(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{
		":9090":          "localhost:9090",
		"0.0.0.0:9090":   "127.0.0.1:9090",
		"[::]:9090":      "[::1]:9090",
		"10.1.2.3:9090":  "10.1.2.3:9090",
		"ops.local:9090": "ops.local:9090",
		"127.0.0.1:0":    "",
	} {
		if got, err := opsAddress(listen); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v; want %q", listen, got, err, want)
		}
	}
}
