package main

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/account"
	"github.com/flakepass/flakepass/internal/admin"
	"github.com/flakepass/flakepass/internal/httpapi"
	"github.com/flakepass/flakepass/internal/login"
	"github.com/flakepass/flakepass/internal/session"
	"github.com/flakepass/flakepass/internal/throttle"
)

// consoleResets are the verbs about one-time links, in the words of the console,
// and behind the same gate as in the API.
type consoleResets struct {
	*admin.Users
	resets *login.Resets
	gate   httpapi.Gate
}

func (r consoleResets) UseReset(ctx context.Context, from netip.Addr, t account.ResetToken, p account.Password) (idworker.ID, time.Duration, error) {
	if limited, ok := errors.AsType[*throttle.LimitedError](r.gate.Reset(ctx, from)); ok {
		return 0, max(limited.Retry, time.Second), nil
	}
	if t.IsZero() {
		return 0, 0, account.ErrReset
	}
	u, err := r.resets.Use(ctx, t, p)
	if err == nil || errors.Is(err, session.ErrUntold) {
		r.gate.WasReset(ctx, throttle.Attempt{Account: u.Username, Address: from})
	}
	return u.ID, 0, err
}
