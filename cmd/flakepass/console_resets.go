package main

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/account"
	"github.com/flakepass/flakepass/internal/admin"
	"github.com/flakepass/flakepass/internal/audit"
	"github.com/flakepass/flakepass/internal/clientaddr"
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
	tally  *audit.Tally
}

func (r consoleResets) UseReset(ctx context.Context, from netip.Addr, t account.ResetToken, p account.Password) (idworker.ID, time.Duration, error) {
	if limited, ok := errors.AsType[*throttle.LimitedError](r.gate.Reset(ctx, from)); ok {
		r.refused(ctx, from, "rate_limited: "+limited.Policy, limited)
		return 0, max(limited.Retry, time.Second), nil
	}
	if t.IsZero() {
		r.refused(ctx, from, "reset_token_invalid", account.ErrReset)
		return 0, 0, account.ErrReset
	}
	u, err := r.resets.Use(ctx, account.Asker{Network: throttle.Network(from)}, t, p)
	switch {
	case err == nil, errors.Is(err, session.ErrUntold):
		r.gate.WasReset(ctx, throttle.Attempt{Account: u.Username, Address: from})
	case errors.Is(err, account.ErrReset):
		r.refused(ctx, from, "reset_token_invalid", err)
	case errors.Is(err, account.ErrDisabled):
		r.refused(ctx, from, "account_disabled", err)
	}
	return u.ID, 0, err
}

// refused notes somebody who was not let set a password, and whose token it was,
// if anybody's.
func (r consoleResets) refused(ctx context.Context, from netip.Addr, reason string, err error) {
	var about audit.Target
	if known, ok := errors.AsType[*account.RefusedError](err); ok {
		about = audit.AboutUser(known.UserID, known.Username)
	}
	s := audit.SightingBy(ctx, audit.ResetRefused, reason, about)
	s.By.Address = clientaddr.Text(from)
	r.tally.Note(s)
}
