package sqlstore

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/migrations"
)

var (
	_ audit.Batch    = (*Audit)(nil)
	_ audit.Shredder = (*Audit)(nil)
)

// AppendAll writes events that report no change in this database, all or none.
func (a *Audit) AppendAll(ctx context.Context, events []audit.Event) error {
	err := a.DB.transact(ctx, func(tx *gorm.DB) error { return insertEvents(tx, events) })
	if err != nil {
		return fmt.Errorf("sqlstore: audit: %w", err)
	}
	return nil
}

// DeleteBefore deletes at most limit events with an ID below before, the oldest
// first. It looks first, without a lock, and then walks the primary key over just
// those rows and no further: a list of IDs could make MySQL walk, and lock, a
// small table to its end, where others write.
func (a *Audit) DeleteBefore(ctx context.Context, before idworker.ID, limit int) (int, error) {
	var ids []int64
	err := a.DB.query(ctx, &ids, "SELECT id FROM audit_events WHERE id < ? ORDER BY id LIMIT ?", int64(before), limit)
	if err == nil && len(ids) > 0 {
		remove, args := "DELETE FROM audit_events WHERE id <= ? ORDER BY id LIMIT ?", []any{ids[len(ids)-1], len(ids)}
		if a.DB.d.name == migrations.SQLite { // which knows no such limit, and locks the whole database anyway
			remove, args = "DELETE FROM audit_events WHERE id <= ?", args[:1]
		}
		err = a.DB.exec(ctx, remove, args...)
	}
	if err != nil {
		return 0, fmt.Errorf("sqlstore: delete events: %w", err)
	}
	return len(ids), nil
}

// Clock is the clock of the database.
func (a *Audit) Clock(ctx context.Context) (time.Time, error) { return a.DB.Clock(ctx) }
