package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/migrations"
)

// Audit is the record of what was done.
type Audit struct{ DB *DB }

// insertEvents writes events, a hundred with each statement. One that reports a
// change needs a permit.
func insertEvents(tx *gorm.DB, events []audit.Event) error {
	const some = 100
	for part := range slices.Chunk(events, some) {
		insert, args := insertOf(part[0])
		row := insert[strings.LastIndex(insert, "("):]
		for _, e := range part[1:] {
			_, more := insertOf(e)
			args = append(args, more...)
		}
		if err := tx.Exec(insert+strings.Repeat(", "+row, len(part)-1), args...).Error; err != nil {
			return err
		}
	}
	return nil
}

// insertOf is the statement that writes an event, and its arguments.
func insertOf(e audit.Event) (insert string, args []any) {
	insert = "INSERT INTO audit_events (id, actor_id, actor, via, action, target_kind, target_id, target, reason, " +
		"old_value, new_value, request_id, address) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	return insert, []any{
		int64(e.ID), orNull(e.By.ID), cut(e.By.Name, 255), e.By.Via, string(e.Action), e.Target.Kind, orNull(e.Target.ID),
		cut(e.Target.Name, 255), cut(e.Reason, audit.MaxReason), notNull(e.Old), notNull(e.New),
		cut(e.By.RequestID, 64), cut(e.By.Address, 64),
	}
}

func orNull(id idworker.ID) any {
	if id == 0 {
		return nil
	}
	return int64(id)
}

// notNull is b, for a driver that makes NULL of no bytes.
func notNull(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// cut is the first n characters of s.
func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}

type eventRow struct {
	ID                 int64
	ActorID, TargetID  *int64
	Actor, Via, Action string
	TargetKind, Target string
	Reason             string
	OldValue, NewValue []byte
	RequestID, Address string
}

// List returns events, newest first.
func (a *Audit) List(ctx context.Context, f audit.Filter) ([]audit.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	q := a.DB.gorm.WithContext(ctx).Table("audit_events").Order("id DESC").Limit(f.Limit)
	if f.Action != "" {
		q = q.Where("action = ?", string(f.Action))
	}
	if f.Actor != 0 {
		q = q.Where("actor_id = ?", int64(f.Actor))
	}
	if f.Target != 0 {
		q = q.Where("target_id = ?", int64(f.Target))
	}
	if f.ActorName != "" {
		q = q.Where("actor = ?", f.ActorName)
	}
	if f.TargetName != "" {
		q = q.Where("target = ?", f.TargetName)
	}
	if !f.Since.IsZero() {
		q = q.Where("id >= ?", int64(layout.Smallest(f.Since)))
	}
	if !f.Until.IsZero() {
		q = q.Where("id < ?", int64(layout.Smallest(f.Until)))
	}
	if f.Before != 0 {
		q = q.Where("id < ?", int64(f.Before))
	}
	var rows []eventRow
	if err := q.Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("sqlstore: list events: %w", err)
	}
	events := make([]audit.Event, len(rows))
	for i := range rows {
		events[i] = rows[i].event()
	}
	return events, nil
}

func (r *eventRow) event() audit.Event {
	e := audit.Event{
		ID: idworker.ID(r.ID), Action: audit.Action(r.Action), Reason: r.Reason,
		By:     audit.Actor{Name: r.Actor, Via: r.Via, RequestID: r.RequestID, Address: r.Address},
		Target: audit.Target{Kind: r.TargetKind, Name: r.Target},
	}
	if r.ActorID != nil {
		e.By.ID = idworker.ID(*r.ActorID)
	}
	if r.TargetID != nil {
		e.Target.ID = idworker.ID(*r.TargetID)
	}
	if len(r.OldValue) > 0 {
		e.Old = json.RawMessage(r.OldValue)
	}
	if len(r.NewValue) > 0 {
		e.New = json.RawMessage(r.NewValue)
	}
	return e
}

var (
	_ audit.Batch    = (*Audit)(nil)
	_ audit.Shredder = (*Audit)(nil)
)

// about is the condition of the entries with an action about a user. All users may have been renamed, and the
// past of one may be long: a server looks which of the two indexes has less. SQLite does not, and goes by the action.
func (d *dialect) about() string {
	if d.name == migrations.SQLite {
		return "action = ? AND target_id + 0 = ?"
	}
	return "action = ? AND target_id = ?"
}

// named fills in the name of an actor of whom only the ID is known: the token of an
// impersonation does not have the name of its admin.
func named(db *gorm.DB, by *audit.Actor) error {
	if by.ID == 0 || by.Name != "" {
		return nil
	}
	return db.Raw("SELECT username FROM users WHERE id = ?", int64(by.ID)).Scan(&by.Name).Error
}

// AppendAll writes events that report no change in this database, all or none. It names their
// actors.
func (a *Audit) AppendAll(ctx context.Context, events []audit.Event) error {
	for i := range events {
		if err := named(a.DB.gorm.WithContext(ctx), &events[i].By); err != nil {
			return failed("audit", err)
		}
	}
	return failed("audit", a.DB.transact(ctx, func(tx *gorm.DB) error { return insertEvents(tx, events) }))
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
	return len(ids), failed("delete events", err)
}

// Clock is the clock of the database.
func (a *Audit) Clock(ctx context.Context) (time.Time, error) { return a.DB.Clock(ctx) }
