package operator

import (
	"context"
	"log/slog"

	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// acted logs what an operator did, in the same words for each way in. A verb that is
// done although other instances could not be told says so. Without a log it does
// nothing: a command prints what it did.
func acted(ctx context.Context, log *slog.Logger, by audit.Actor, err error, what string, args ...any) {
	if log == nil || !session.Done(err) {
		return
	}
	if err != nil {
		what, args = what+", word under way", append(args, "err", err)
	}
	log.InfoContext(ctx, what, append(args, by.LogArgs()...)...) //nolint:sloglint // every caller passes a constant
}
