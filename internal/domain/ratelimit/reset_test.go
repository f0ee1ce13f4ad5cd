package ratelimit_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
)

// TestResetsAreLimitedByAddress, and by nothing else.
func TestResetsAreLimitedByAddress(t *testing.T) {
	g := limiter(t, nil)
	here, there := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for n := range limit.Default().Register.Count {
		if _, err := g.Reset(t.Context(), here); err != nil {
			t.Fatalf("attempt %d: %v", n, err)
		}
	}
	_, err := g.Reset(t.Context(), here)
	limited, ok := errors.AsType[*ratelimit.LimitedError](err)
	if !ok || limited.Limit != "reset" || limited.Retry <= 0 {
		t.Errorf("one more: %+v", limited)
	}
	if _, err := g.Reset(t.Context(), there); err != nil {
		t.Errorf("from elsewhere: %v", err)
	}
	if err := login(t, g, ratelimit.Attempt{Account: "alice", Address: here}); err != nil {
		t.Errorf("a login: %v", err)
	}
}

// TestResetEmptiesWhatWasCounted against the account, everywhere, and against it at
// the place of the reset.
func TestResetEmptiesWhatWasCounted(t *testing.T) {
	g := limiter(t, nil)
	g.Limits = func() *limit.Limits {
		l := limit.Default()
		l.LoginAccount.Count = 3
		return &l
	}
	a := ratelimit.Attempt{Account: "alice", Address: netip.MustParseAddr("192.0.2.1")}
	other := ratelimit.Attempt{Account: "bob", Address: a.Address}
	for login(t, g, a) == nil {
	}
	for login(t, g, other) == nil {
	}
	g.WasReset(t.Context(), a)
	if err := login(t, g, a); err != nil {
		t.Errorf("after the reset: %v", err)
	}
	if login(t, g, other) == nil {
		t.Error("the reset of alice has emptied what was counted against bob")
	}
}
