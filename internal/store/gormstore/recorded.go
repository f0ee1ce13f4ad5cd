package gormstore

import (
	"context"

	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// EndRecorded is [Sessions.End], with an event in the same transaction. It
// writes none for a session that was over before. The event's target is called
// by the name of the session's user.
func (s *Sessions) EndRecorded(ctx context.Context, e session.Ending, event audit.Event) (session.Session, error) {
	return s.endAs(ctx, ending{Ending: e, event: func(now session.Session) (audit.Event, error) {
		event.Target.Name = now.Username
		return event, nil
	}})
}

// EndWith is EndRecorded with an event that is made from the session as it was.
// event must not wait, for the row is about to be locked, and may be called more
// than once.
func (s *Sessions) EndWith(ctx context.Context, e session.Ending, event func(session.Session) (audit.Event, error)) (session.Session, error) {
	return s.endAs(ctx, ending{Ending: e, event: event})
}
