package run

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/flakepass/flakepass/internal/store/redistier"
)

// An eviction knows whether Redis removes keys before their time. Redis need keep
// nothing for logins to be right, but it keeps the counts of attempts of all
// instances, and who can fill its memory could have them removed.
type eviction struct {
	common sharedTier
	log    *slog.Logger
	told   atomic.Pointer[string] // what an operator should know; nil if nothing
}

// look asks Redis, and logs what an operator should know when that has changed. While
// Redis cannot be asked, what it said before holds.
func (e *eviction) look(ctx context.Context) {
	if e.common.rdb == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	text := ""
	switch policy, err := redistier.Eviction(ctx, e.common.rdb); {
	case errors.Is(err, redistier.ErrPermission):
		text = "it is not known whether redis removes counts of attempts when its memory is full: its user may not ask (ACL +info)"
	case err != nil:
		return
	case policy != redistier.NoEviction:
		text = "redis removes counts of attempts when its memory is full (maxmemory-policy " + policy + "); set noeviction"
	}
	was := e.told.Swap(&text)
	if text != "" && (was == nil || *was != text) {
		e.log.WarnContext(ctx, text, "at", e.common.where) //nolint:sloglint // one of two texts
	}
}

// warnings are what an operator should know.
func (e *eviction) warnings() []string {
	if text := e.told.Load(); text != nil && *text != "" {
		return []string{*text}
	}
	return nil
}
