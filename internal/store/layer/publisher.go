package layer

import (
	"context"

	"github.com/flakepass/flakepass/internal/domain/session"
)

// A Publisher is a [session.Store] in front of another that publishes every end that
// it is given.
type Publisher struct {
	session.Store // everything but Publish is the next store's
	To            interface{ ApplyEnd(ended session.Session) }
}

var _ session.Store = (*Publisher)(nil)

// Publish publishes, and then passes the end on: the next store may wait for one that
// instances share.
func (p *Publisher) Publish(ctx context.Context, ended session.Session) error {
	p.To.ApplyEnd(ended)
	return p.Store.Publish(ctx, ended)
}
