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
	case longestScope:
		i.service.Known = plain{guess{i.feed, i.rule}}
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
		return g.rule.Current().For("", "").OldestIssued(now)
	}
	return time.Time{}
}

// plain takes the lifetime of the policy for that of every login, once an age is proven.
type plain struct{ guess }

func (p plain) Watermark() time.Time {
	if p.Feed.Watermark().IsZero() {
		return time.Time{}
	}
	return p.guess.Watermark()
}

// ofAllSlots takes each end for one of every slot of its user.
func ofAllSlots(ends []session.End) (all []session.End) {
	for _, e := range ends {
		for e.Slot = range session.Slot(session.MaxSlots) {
			all = append(all, e)
		}
	}
	return all
}

// verify is what a client is answered.
func (i *instance) verify(ctx context.Context, t flakepass.Token) (flakepass.Identity, error) {
	who, err := i.service.Verify(ctx, t)
	if now, ok := i.feed.Clock(); ok && err == nil && !i.has(rowTells) {
		who.IdleExpiresAt = i.rule.Current().For("", "").IdleExpiresAt(who.IssuedAt, now)
	}
	return who, err
}

func (i *instance) logout(ctx context.Context, t flakepass.Token) error {
	now, ok := i.feed.Clock()
	if ok && !i.has(askLogout) && i.rule.Current().For("", "").Expired(t.ID().Time(), now) {
		return nil
	}
	_, err := i.service.Close(ctx, audit.Actor{}, t)
	return err
}

var _ session.Rows = (*link)(nil)
