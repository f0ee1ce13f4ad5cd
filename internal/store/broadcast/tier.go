package broadcast

import (
	"context"

	"github.com/flakepass/flakepass/internal/domain/session"
)

// A Tier is a [session.Store] in front of another that lets a hub know what it
// hears.
type Tier struct {
	session.Store // everything but Hear is the next tier's
	Hub           *Hub
}

var _ session.Store = (*Tier)(nil)

// Hear tells the followers, and passes the word on. First, for the next tier
// may wait for one that is shared.
func (t *Tier) Hear(ctx context.Context, ended session.Session) error {
	t.Hub.Note(ended)
	return t.Store.Hear(ctx, ended)
}
