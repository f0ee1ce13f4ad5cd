package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-sql-driver/mysql"
	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/sweep"
)

var layout = idworker.Default()

// Sweeps clear ended logins, and keep the lease and the history of the passes.
type Sweeps struct{ DB *DB }

var (
	_ sweep.Store    = (*Sweeps)(nil)
	_ sweep.RunStore = (*Sweeps)(nil)
)

// Head reads the clock and the global floor.
func (s *Sweeps) Head(ctx context.Context) (now time.Time, floor idworker.ID, err error) {
	head, err := ask[struct {
		Now, GlobalFloor int64
		Slots            int
	}](ctx, s.DB, errNoSettings, "SELECT "+s.DB.d.now+" AS now, global_floor, slots FROM settings WHERE scope = 'global'")
	s.DB.allows(head.Slots)
	return fromMillis(head.Now), idworker.ID(head.GlobalFloor), failed("sweep", err)
}

// Clear clears logins in one transaction. It first locks those of the rows that
// are as they were listed and that no other transaction has locked: so it waits for
// no login, and no login that is under way waits for it. The condition is in the
// UPDATE as well, which clears no login that has not ended.
//
// Floors rise without a stamp: the feed need not carry what every instance
// works out by itself from the policy.
func (s *Sweeps) Clear(ctx context.Context, m sweep.Marks, stage sweep.Stage, logins []sweep.Login, events []idworker.ID) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	cleared := 0
	mayWin := lostOrUnsettled()
	// A duplicate key is not tried again: the caller finds it, one row at a time.
	again := func(err error) bool { return !errors.Is(err, gorm.ErrDuplicatedKey) && mayWin(err) }
	err := s.DB.retryIf(ctx, again, func() error {
		return s.DB.gorm.WithContext(ctx).Transaction(func(tx *gorm.DB) (err error) {
			cleared, err = s.clear(tx, m, stage, logins, events)
			return err
		})
	})
	if err != nil {
		if ctx.Err() == nil && ofRow(err) {
			return 0, fmt.Errorf("sqlstore: sweep: %w: %w", sweep.ErrUnclearable, err)
		}
		return 0, fmt.Errorf("sqlstore: sweep: %w", ended(ctx, err))
	}
	return cleared, nil
}

// ended is err, with the end of the context if that is what it is about.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		return errors.Join(ctx.Err(), err)
	}
	return err
}

func (s *Sweeps) clear(tx *gorm.DB, m sweep.Marks, stage sweep.Stage, found []sweep.Login, events []idworker.ID) (int, error) {
	// The policy is held as it is until this is committed, and has the last word: by
	// one that was replaced meanwhile a login may be over that lives by its successor.
	now, err := s.DB.rulesNow(tx, "")
	if err != nil {
		return 0, err
	}
	if !now.steady {
		return 0, errPolicyChanges // to wait here would hold up others if its commit hangs
	}
	m, same := now.within(m)
	if !same {
		return 0, errPolicyChanges
	}
	column, mark, why := clearedBy(m, stage)
	still := " AND " + column + " + 0 <= ?"
	event := make(map[idworker.ID]idworker.ID, len(events)) // by token
	for i, id := range events {
		event[found[i].Token] = id
	}
	var held []sweep.Login
	for _, table := range []string{usersTable, slotsTable} {
		if table == slotsTable && stage == sweep.Idle {
			still += fmt.Sprintf(" AND (token_seen_at > 0 OR token_id + 0 <= %d)", oldestAct(fromMillis(now.Now)))
		}
		of, err := s.clearIn(tx, table, found, still, mark, why)
		if err != nil {
			return 0, err
		}
		held = append(held, of...)
	}
	if len(events) == 0 {
		return len(held), nil
	}
	return len(held), recordExpiry(tx, held, why, func(l sweep.Login) idworker.ID { return event[l.Token] })
}

// oldestAct is the ID up to which impersonations are over. None was ever used, and each lives for
// its time.
func oldestAct(now time.Time) int64 {
	return int64(sweep.MarksOf(now.Add(-session.ActLife), time.Time{}, 0).Issued)
}

// clearIn clears those of the logins that a table still has, and returns them.
func (s *Sweeps) clearIn(tx *gorm.DB, table string, found []sweep.Login, still string, mark int64, why session.Reason) ([]sweep.Login, error) {
	tokens := make(map[idworker.ID]idworker.ID, len(found)) // by row
	ids := make([]int64, 0, len(found))
	for _, l := range found {
		if l.Further == (table == slotsTable) {
			ids = append(ids, int64(l.Row))
			tokens[l.Row] = l.Token
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	user, reason := "user_id", "?"
	switch {
	case table == usersTable:
		user = "id"
	case why == session.Idle: // an impersonation is never idle
		reason = "CASE WHEN token_seen_at = 0 THEN '" + string(session.Expired) + "' ELSE ? END"
	}
	rows, err := tx.Raw("SELECT id, "+user+", token_id, COALESCE(token_seen_at, 0) AS value FROM "+table+" WHERE id IN ("+list(ids)+")"+still+s.DB.d.skipLocked, mark).Rows()
	if err != nil {
		return nil, err
	}
	held, err := logins(rows, table)
	if err != nil {
		return nil, err
	}
	held = slices.DeleteFunc(held, func(l sweep.Login) bool { return tokens[l.Row] != l.Token })
	if len(held) == 0 {
		return nil, nil
	}
	ids = ids[:0]
	for _, l := range held {
		ids = append(ids, int64(l.Row))
	}
	// Every column reads only columns that are set after it: MySQL works through
	// SET from left to right. The sum hides the column from the planner, which
	// could otherwise walk all that is stale for each batch.
	done := tx.Exec("UPDATE "+table+" SET token_floor = "+s.DB.d.max+"(token_floor, token_id), "+
		"ended_token_id = token_id, ended_token_hash = token_hash, ended_reason = "+reason+", "+
		"token_id = NULL, token_hash = NULL, token_seen_at = NULL WHERE id IN ("+list(ids)+")"+still, string(why), mark)
	if done.Error == nil && done.RowsAffected != int64(len(held)) {
		return nil, errMoved
	}
	return held, done.Error
}

var errPolicyChanges = fmt.Errorf("%w: %w; the next pass goes on", sweep.ErrChanged, session.ErrUnsettled)

// list is numbers as SQL has them. A placeholder for each costs more than the
// row.
func list(ids []int64) string {
	b := make([]byte, 0, 20*len(ids))
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, id, 10)
	}
	return string(b)
}

// ofRow reports whether a database that works says no to what is in a row, or in
// a trigger on it.
func ofRow(err error) bool {
	if errors.Is(err, gorm.ErrDuplicatedKey) || errors.Is(err, gorm.ErrForeignKeyViolated) || errors.Is(err, gorm.ErrCheckConstraintViolated) {
		return true
	}
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		// Of SQLSTATE's classes: 21 to 23 are about data, 44 is a check, and 45 is
		// what a trigger says.
		class := string(e.SQLState[:2])
		return slices.Contains([]string{"21", "22", "23", "44", "45"}, class) || means(err, badRow)
	}
	const constraint, mismatch, tooBig = 19, 20, 18
	return slices.Contains([]int{constraint, mismatch, tooBig}, SQLiteCode(err))
}
