package gormstore

import (
	"context"

	"github.com/flakepass/flakepass/internal/audit"
	"github.com/flakepass/flakepass/internal/session"
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
