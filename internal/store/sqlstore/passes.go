package sqlstore

import (
	"context"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/sweep"
)

// keptSweeps is how many passes the history has.
const keptSweeps = 1000

// Take gives the lease to a pass if no other has a fresh one. A lease that would last
// for twice as long as any is one of a database whose clock was ahead: it does
// not count.
func (s *Sweeps) Take(ctx context.Context, r sweep.Report, event *audit.Event, lease time.Duration) (sweep.Cursor, error) {
	var from sweep.Cursor
	var events []audit.Event
	if event != nil {
		events = append(events, *event)
	}
	err := s.DB.write(ctx, func(tx *gorm.DB) (err error) {
		if from, err = s.take(tx, r, lease); err != nil || event == nil {
			return err
		}
		return insertSweep(tx, r)
	}, events...)
	return from, failed("take the lease of the sweep", err)
}

func (s *Sweeps) take(tx *gorm.DB, r sweep.Report, lease time.Duration) (sweep.Cursor, error) {
	now, ms := s.DB.d.now, lease.Milliseconds()
	update := func() *gorm.DB {
		return tx.Exec("UPDATE sweep_state SET pass_id = ?, instance = ?, lease_until = "+now+" + ? "+
			"WHERE id = 1 AND (lease_until <= "+now+" OR lease_until > "+now+" + ?)", int64(r.ID), cut(r.Instance, 255), ms, 2*ms)
	}
	done := update()
	if done.Error != nil {
		return sweep.Cursor{}, done.Error
	}
	var rows []struct{ CursorStage, CursorValue, CursorUser int64 }
	if err := tx.Raw("SELECT cursor_stage, cursor_value, cursor_user FROM sweep_state WHERE id = 1").Scan(&rows).Error; err != nil {
		return sweep.Cursor{}, err
	}
	switch {
	case len(rows) == 0: // the first sweep of all; a second one finds the key taken, and looks again
		if err := tx.Exec("INSERT INTO sweep_state (id, pass_id, instance, lease_until) VALUES (1, 0, '', 0)").Error; err != nil {
			return sweep.Cursor{}, err
		}
		if done := update(); done.Error != nil {
			return sweep.Cursor{}, done.Error
		}
		rows = append(rows, struct{ CursorStage, CursorValue, CursorUser int64 }{})
	case done.RowsAffected == 0:
		return sweep.Cursor{}, sweep.ErrRunning
	}
	// The process that had the lease before has not written an outcome.
	err := tx.Exec("UPDATE sweeps SET outcome = ?, finished_at = "+now+", detail = 'its process ended, or lost the database' "+
		"WHERE finished_at IS NULL", string(sweep.Abandoned)).Error
	c := rows[0]
	return sweep.Cursor{Stage: sweep.Stage(c.CursorStage), Value: c.CursorValue, Row: idworker.ID(c.CursorUser)}, err
}

// Keep makes the lease last from now.
func (s *Sweeps) Keep(ctx context.Context, r sweep.Report, at sweep.Cursor, lease time.Duration) error {
	err := s.DB.transact(ctx, func(tx *gorm.DB) error {
		done := tx.Exec("UPDATE sweep_state SET lease_until = "+s.DB.d.now+" + ?, cursor_stage = ?, cursor_value = ?, cursor_user = ? "+
			"WHERE id = 1 AND pass_id = ?", lease.Milliseconds(), int(at.Stage), at.Value, int64(at.Row), int64(r.ID))
		if err := found(done, sweep.ErrLost); err != nil {
			return err
		}
		_, err := updateSweep(tx, r)
		return err
	})
	return failed("keep the lease of the sweep", err)
}

// Finish ends the lease and keeps the report. A pass that has lost its lease
// leaves the cursor to the pass that has it.
func (s *Sweeps) Finish(ctx context.Context, r sweep.Report, next sweep.Cursor) error {
	err := s.DB.transact(ctx, func(tx *gorm.DB) error {
		err := tx.Exec("UPDATE sweep_state SET lease_until = 0, cursor_stage = ?, cursor_value = ?, cursor_user = ? WHERE id = 1 AND pass_id = ?",
			int(next.Stage), next.Value, int64(next.Row), int64(r.ID)).Error
		if err != nil || !r.Worth() {
			return err
		}
		known, err := updateSweep(tx, r)
		if err != nil || known {
			return err
		}
		return insertSweep(tx, r)
	})
	return failed("end the lease of the sweep", err)
}

// updateSweep brings the row of a pass up to date, and reports whether there is one.
func updateSweep(tx *gorm.DB, r sweep.Report) (known bool, err error) {
	done := tx.Exec("UPDATE sweeps SET finished_at = ?, outcome = ?, cleared = ?, failed_rows = ?, longest_ms = ?, detail = ? WHERE id = ?",
		millisOrNull(r.Finished), string(r.Outcome), r.Cleared, r.FailedRows, r.Longest.Milliseconds(), cut(r.Detail, 1000), int64(r.ID))
	return done.RowsAffected == 1, done.Error
}

// insertSweep adds the row of a pass, and removes the oldest.
func insertSweep(tx *gorm.DB, r sweep.Report) error {
	err := tx.Exec("INSERT INTO sweeps (id, instance, requested_by, started_at, finished_at, outcome, cleared, failed_rows, longest_ms, detail) "+
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", int64(r.ID), cut(r.Instance, 255), cut(r.RequestedBy, 255), r.Started.UnixMilli(), millisOrNull(r.Finished),
		string(r.Outcome), r.Cleared, r.FailedRows, r.Longest.Milliseconds(), cut(r.Detail, 1000)).Error
	if err != nil {
		return err
	}
	var last []int64
	if err := tx.Raw("SELECT id FROM sweeps ORDER BY id DESC LIMIT 1 OFFSET ?", keptSweeps).Scan(&last).Error; err != nil || len(last) == 0 {
		return err
	}
	return tx.Exec("DELETE FROM sweeps WHERE id <= ?", last[0]).Error
}

type sweepRow struct {
	ID                             int64
	Instance, RequestedBy          string
	StartedAt                      int64
	FinishedAt                     *int64
	Outcome, Detail                string
	Cleared, FailedRows, LongestMs int64
}

// Passes returns at most limit passes with IDs below before (0: the newest),
// newest first.
func (s *Sweeps) Passes(ctx context.Context, before idworker.ID, limit int) ([]sweep.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	q := s.DB.gorm.WithContext(ctx).Table("sweeps").Order("id DESC").Limit(limit)
	if before != 0 {
		q = q.Where("id < ?", int64(before))
	}
	var rows []sweepRow
	err := q.Find(&rows).Error
	list := make([]sweep.Report, len(rows))
	for i, row := range rows {
		list[i] = sweep.Report{
			ID: idworker.ID(row.ID), Instance: row.Instance, RequestedBy: row.RequestedBy, Started: fromMillis(row.StartedAt), Finished: timeOrZero(row.FinishedAt),
			Outcome: sweep.Outcome(row.Outcome), Cleared: row.Cleared, FailedRows: row.FailedRows,
			Longest: time.Duration(row.LongestMs) * time.Millisecond, Detail: row.Detail,
		}
	}
	return list, failed("list sweeps", err)
}
