package main

import (
	"context"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/session"
)

// A ruled store reads the policy before a row, while the one that is known may
// be older than the bound: after the instance stood still, or while its polls
// fail. What it answers is then decided by a policy that is as new as the row.
//
// It lies behind the gate, so it asks no more at a time than the rows are asked.
type ruled struct {
	session.Store // everything but Get is the next one's
	fresh         func() bool
	refresh       func(context.Context) error
}

// Get fails if the policy has to be read and cannot be: by an old one a login
// might live that is over.
func (r *ruled) Get(ctx context.Context, id idworker.ID) (session.Session, error) {
	if !r.fresh() {
		if err := r.refresh(ctx); err != nil {
			return session.Session{}, err
		}
	}
	return r.Store.Get(ctx, id)
}
