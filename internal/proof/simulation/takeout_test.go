package simulation

import (
	"context"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/feed"
	"github.com/flakepass/flakepass/internal/store/memstore"
)

// takeOut takes a rule out of the real parts, by what stands around them.
func (i *instance) takeOut() {
	switch i.without {
	case rowLeads:
		i.service.Store = ahead{i.near}
	case writeNear:
		i.service.Near = 0
	case provenAge:
		i.service.Known = guess{i.feed, i.rule}
	}
}

// ahead is a memory that believes a use before the row has it.
type ahead struct{ *memstore.Sessions }

func (a ahead) Touch(ctx context.Context, id idworker.ID, seen time.Time) error {
	a.Written(id, seen)
	return a.Sessions.Touch(ctx, id, seen)
}

// guess takes what is too old by the policy that it knows for too old for good.
type guess struct {
	*feed.Feed
	rule *policy.Live
}

func (g guess) Watermark() time.Time {
	if now, ok := g.Clock(); ok {
		return g.rule.Current().OldestIssued(now)
	}
	return time.Time{}
}

// verify is what a client is answered.
func (i *instance) verify(ctx context.Context, t flakepass.Token) (flakepass.Identity, error) {
	who, err := i.service.Verify(ctx, t)
	if now, ok := i.feed.Clock(); ok && err == nil && !i.has(rowTells) {
		who.IdleExpiresAt = i.rule.Current().IdleExpiresAt(who.IssuedAt, now)
	}
	return who, err
}

func (i *instance) logout(ctx context.Context, t flakepass.Token) error {
	now, ok := i.feed.Clock()
	if ok && !i.has(askLogout) && i.rule.Current().Expired(t.ID().Time(), now) {
		return nil
	}
	_, err := i.service.Close(ctx, audit.Actor{}, t)
	return err
}

var _ session.Rows = (*link)(nil)
