package main

import (
	"context"
	"errors"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/account"
	"github.com/flakepass/flakepass/internal/adminui"
	"github.com/flakepass/flakepass/internal/httpapi"
	"github.com/flakepass/flakepass/internal/throttle"
)

// consoleGate is the gate of the API, in the words of the console.
type consoleGate struct{ httpapi.Gate }

func (g consoleGate) Login(ctx context.Context, a adminui.Attempt) (by account.Asker, held adminui.Held, giveBack func()) {
	taken, err := g.Gate.Login(ctx, throttle.Attempt(a))
	if limited, ok := errors.AsType[*throttle.LimitedError](err); ok {
		return by, heldBy(limited), nil
	}
	by = account.Asker{Network: throttle.Network(a.Address), Known: taken.Known}
	return by, adminui.Held{}, func() { g.Return(ctx, taken) }
}

func heldBy(e *throttle.LimitedError) adminui.Held {
	return adminui.Held{For: max(e.Retry, time.Second), Limit: e.Policy}
}

func (g consoleGate) LoggedIn(ctx context.Context, a adminui.Attempt, user idworker.ID) {
	g.Gate.LoggedIn(ctx, throttle.Attempt(a), user)
}
