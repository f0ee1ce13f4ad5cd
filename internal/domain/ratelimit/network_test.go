package ratelimit_test

import (
	"net/netip"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/ratelimit"
)

func TestNetwork(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.1": "192.0.2.0/24", "::ffff:192.0.2.1": "192.0.2.0/24",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1::/48", "fe80::1%eth0": "fe80::/48",
	} {
		if got := ratelimit.Network(netip.MustParseAddr(text)); got.String() != want {
			t.Errorf("%s: got %v, want %s", text, got, want)
		}
	}
	if got := ratelimit.Network(netip.Addr{}); got.IsValid() {
		t.Errorf("no address: %v", got)
	}
}
