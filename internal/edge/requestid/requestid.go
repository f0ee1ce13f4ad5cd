// Package requestid carries the name of a request to the lines that are logged on
// its behalf. Nothing is decided by it, and no event has its actor from it: who acts
// is an argument.
package requestid

import (
	"context"

	"github.com/flakepass/flakepass/api/flakepass"
)

type key struct{}

// A named context is one piece of memory for what would be several: every request has
// one, and most find out who sent it.
type named struct {
	context.Context //nolint:containedctx // it is one
	id              string
	who             flakepass.Room
}

// Value is the name, who sent the request, or what the context around has.
func (c *named) Value(k any) any {
	if k == (key{}) {
		return &c.id
	}
	if v := c.who.Value(k); v != nil {
		return v
	}
	return c.Context.Value(k)
}

// NewContext returns a context of the request with that name.
func NewContext(ctx context.Context, id string) context.Context { return &named{Context: ctx, id: id} }

// From is the name of the request in ctx; empty if there is none.
func From(ctx context.Context) string {
	if id, ok := ctx.Value(key{}).(*string); ok {
		return *id
	}
	return ""
}
