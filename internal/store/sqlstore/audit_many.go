package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/migrations"
)

var (
	_ audit.Batch    = (*Audit)(nil)
	_ audit.Shredder = (*Audit)(nil)
)

// AppendAll writes events that tell of no change in this database, all or none,
// a hundred with each statement.
func (a *Audit) AppendAll(ctx context.Context, events []audit.Event) error {
	const some = 100
	err := a.DB.transact(ctx, func(tx *gorm.DB) error {
		for part := range slices.Chunk(events, some) {
			insert, args := EventRow(part[0])
			row := insert[strings.LastIndex(insert, "("):]
			for _, e := range part[1:] {
				_, more := EventRow(e)
				args = append(args, more...)
			}
			if err := tx.Exec(insert+strings.Repeat(", "+row, len(part)-1), args...).Error; err != nil {
				return err
			}
		}
		return nil
	})
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
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	var ids []int64
	err := a.DB.gorm.WithContext(ctx).Raw("SELECT id FROM audit_events WHERE id < ? ORDER BY id LIMIT ?", int64(before), limit).Scan(&ids).Error
	if err == nil && len(ids) > 0 {
		remove, args := "DELETE FROM audit_events WHERE id <= ? ORDER BY id LIMIT ?", []any{ids[len(ids)-1], len(ids)}
		if a.DB.d.name == migrations.SQLite { // which knows no such limit, and locks the whole database anyway
			remove, args = "DELETE FROM audit_events WHERE id <= ?", args[:1]
		}
		err = a.DB.retry(ctx, func() error { return a.DB.gorm.WithContext(ctx).Exec(remove, args...).Error })
	}
	if err != nil {
		return 0, fmt.Errorf("sqlstore: delete events: %w", err)
	}
	return len(ids), nil
}

// Clock is the clock of the database.
func (a *Audit) Clock(ctx context.Context) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	var now []int64
	err := a.DB.gorm.WithContext(ctx).Raw("SELECT " + a.DB.d.now).Scan(&now).Error
	if err == nil && len(now) != 1 {
		err = errors.New("no answer")
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("sqlstore: clock: %w", err)
	}
	return fromMillis(now[0]), nil
}

// BeginRecorded is [Sessions.Begin], with an event in the same transaction. event
// makes it from what came of the opening, while the row is locked, so it must
// not wait; it may be called more than once.
func (s *Sessions) BeginRecorded(ctx context.Context, o session.Opening, event func(session.Begun) (audit.Event, error)) (session.Begun, error) {
	return s.beginAs(ctx, o, func(tx *gorm.DB, begun session.Begun) error {
		e, err := event(begun)
		if err != nil {
			return err
		}
		may, err := s.DB.authorize(tx, e.By, e.Need)
		if err != nil {
			return err
		}
		return may.record(e)
	})
}
