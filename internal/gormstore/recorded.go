package gormstore

import (
	"context"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/internal/audit"
	"github.com/flakepass/flakepass/internal/session"
)

// EndRecorded is [Sessions.End], with an event in the same transaction. It
// writes none for a session that was over before. The event's target is called
// by the name of the session's user.
func (s *Sessions) EndRecorded(ctx context.Context, e session.Ending, event audit.Event) (session.Session, error) {
	return s.endAnd(ctx, e, func(tx *gorm.DB, ended session.Session) error {
		event.Target.Name = ended.Username
		return record(tx, event)
	})
}
