package flakepass

import (
	"context"
	"errors"
	"sync/atomic"
)

// health is whether the server can be asked. Each change is logged once.
type health struct{ failing atomic.Bool }

func (h *health) note(ctx context.Context, r *Remote, err error) {
	if r.closed.Load() || errors.Is(err, context.Canceled) {
		return
	}
	if err != nil && r.o.Failed != nil {
		r.o.Failed(err)
	}
	ctx = context.WithoutCancel(ctx)
	switch failing := err != nil; {
	case h.failing.Swap(failing) == failing:
	case errors.Is(err, ErrCredential):
		r.o.Log.ErrorContext(ctx, "flakepass refuses this service's own credential; every token that is not remembered is undecided", "err", err)
	case failing:
		r.o.Log.WarnContext(ctx, "flakepass cannot be asked; tokens that are not remembered are undecided", "err", err)
	default:
		r.o.Log.InfoContext(ctx, "flakepass can be asked again")
	}
}
