package run

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/store/breached"
)

// OpenBreached opens the list of stolen passwords, until closeList; without one
// the Breaches are nil, which refuse none. failed, if not nil, hears of each
// password that was accepted without having been looked up, and of each look at a
// new list that cannot be used.
func OpenBreached(cfg config.Config, log *slog.Logger, failed func()) (b *account.Breaches, closeList func(), err error) {
	if cfg.BreachedPasswords == "" {
		return nil, func() {}, nil
	}
	list, err := breached.Open(cfg.BreachedPasswords)
	if err != nil {
		return nil, nil, fmt.Errorf("FLAKEPASS_BREACHED_PASSWORDS: %w", err)
	}
	var unread, kept minutely // a disk that fails does so for each password
	count := func() {
		if failed != nil {
			failed()
		}
	}
	list.Kept = func(err error) {
		count()
		kept.do(func() { log.Warn("a new list of stolen passwords is not used; the one before is", "err", err) })
	}
	return &account.Breaches{List: list, Unread: func(ctx context.Context, err error) {
		count()
		unread.do(func() {
			log.WarnContext(ctx, "list of stolen passwords not read; a new password was accepted without it", "err", err)
		})
	}}, func() { _ = list.Close() }, nil
}

// A minutely does something at most once a minute.
type minutely struct{ last atomic.Int64 } // Unix milliseconds; 0: never

func (m *minutely) do(f func()) {
	last, now := m.last.Load(), time.Now().UnixMilli()
	if (last == 0 || now-last >= time.Minute.Milliseconds()) && m.last.CompareAndSwap(last, now) {
		f()
	}
}
