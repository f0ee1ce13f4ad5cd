package run

import (
	"context"
	"errors"
	"net/netip"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/admin"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/throttle"
	"github.com/flakepass/flakepass/internal/edge/adminui"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
)

// consoleResets are the verbs about one-time links, in the words of the console,
// and behind the same rate limiter as in the API.
type consoleResets struct {
	*admin.Users
	resets *login.Resets
	gate   httpapi.Gate
}

func (r consoleResets) UseReset(ctx context.Context, from netip.Addr, t account.ResetToken, p account.Password) (idworker.ID, adminui.Held, error) {
	if limited, ok := errors.AsType[*throttle.LimitedError](r.gate.Reset(ctx, from)); ok {
		return 0, adminui.HeldBy(limited), nil
	}
	if t.IsZero() {
		return 0, adminui.Held{}, account.ErrReset
	}
	u, err := r.resets.Use(ctx, account.Asker{Network: throttle.Network(from)}, t, p)
	if err == nil || errors.Is(err, session.ErrUntold) {
		r.gate.WasReset(ctx, throttle.Attempt{Account: u.Username, Address: from})
	}
	return u.ID, adminui.Held{}, err
}
