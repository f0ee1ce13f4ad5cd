package sqlstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
)

// TouchAll writes times of last use, at most some hundred at once. It returns the time of last use
// of each row as it is afterwards: zero if the session has ended, or is over by the policy. Rows
// that another transaction has locked are missing. A row moves only forward, and only by gap or
// more. If gap is at least the shortest touch interval of the policy, the row must also move by the
// touch interval of its own class and role.
//
// The rows are locked first, and judged after by the policy that is in force
// then: a use that comes after a refusal changes nothing, and a refusal that
// comes after a use finds it.
//
// A row that refuses to be written, as a trigger or damage has it, keeps no other from it: the
// answer comes with an error then, and lacks that row.
func (s *Sessions) TouchAll(ctx context.Context, seen map[idworker.ID]time.Time, gap time.Duration) (map[idworker.ID]time.Time, error) {
	var rows map[idworker.ID]time.Time
	err := s.DB.transact(ctx, func(tx *gorm.DB) (err error) {
		rows, err = s.touch(tx, seen, gap)
		return err
	})
	switch {
	case err == nil:
		return rows, nil
	case len(seen) > 1 && ofRow(err) && !MayPass(err) && !Lacking(err):
		return s.touchHalves(ctx, seen, gap)
	}
	return nil, failed("touch", s.DB.demoted(err))
}

func (s *Sessions) touchHalves(ctx context.Context, seen map[idworker.ID]time.Time, gap time.Duration) (map[idworker.ID]time.Time, error) {
	var refused error
	rows := make(map[idworker.ID]time.Time, len(seen))
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(seen)), (len(seen)+1)/2) {
		half := make(map[idworker.ID]time.Time, len(ids))
		for _, id := range ids {
			half[id] = seen[id]
		}
		some, err := s.TouchAll(ctx, half, gap)
		maps.Copy(rows, some)
		refused = cmp.Or(refused, err)
	}
	return rows, refused
}

func (s *Sessions) touch(tx *gorm.DB, seen map[idworker.ID]time.Time, gap time.Duration) (map[idworker.ID]time.Time, error) {
	rows := make(map[idworker.ID]time.Time, len(seen))
	for id := range seen {
		rows[id] = time.Time{}
	}
	var held []tokenRow
	asked := s.DB.tables()
	for _, table := range asked {
		of, locked, err := s.holders(tx, table, seen)
		if err != nil {
			return nil, err
		}
		for _, id := range locked {
			delete(rows, id)
		}
		held = append(held, of...)
	}
	if len(held) == 0 && len(asked) == len(s.DB.tables()) {
		return rows, nil
	}
	now, err := s.DB.scanRules(tx, s.DB.ruleQuery(""))
	if err != nil {
		return nil, err
	}
	if len(asked) != len(s.DB.tables()) {
		return nil, errMoved // there may be further slots, and nobody has looked there
	}
	moved, rule := map[string][]use{}, now.policy()
	shortest := rule.ShortestTouch()
	for i := range held {
		row := &held[i]
		row.GlobalFloor = now.GlobalFloor
		if got := row.current(time.Time{}); got.Alive() {
			if why, _ := now.judge(&got); why != "" {
				continue
			}
			rows[got.ID] = got.Seen
			least := gap
			if gap >= shortest {
				least = max(gap, now.expiry(&got).Touch)
			}
			// No use of an impersonation counts.
			if at := seen[got.ID].UnixMilli(); got.Act == 0 && at >= got.Seen.UnixMilli()+least.Milliseconds() {
				rows[got.ID] = fromMillis(at)
				moved[row.table()] = append(moved[row.table()], use{row.RowID, at})
			}
		}
	}
	for _, table := range asked { // in the order in which all lock them
		if len(moved[table]) == 0 {
			continue
		}
		query, args := touchQuery(table, moved[table])
		if err := tx.Exec(query, args...).Error; err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// A use is a time of last use of the login that a row holds.
type use struct{ row, at int64 }

// holders locks the rows of a table that hold those logins, and returns them. locked are
// the logins whose rows another transaction holds.
func (s *Sessions) holders(tx *gorm.DB, table string, logins map[idworker.ID]time.Time) (held []tokenRow, locked []idworker.ID, err error) {
	// Locked by their keys: see settle.
	var found []struct{ RowID, TokenID int64 }
	err = tx.Raw("SELECT id AS row_id, token_id FROM "+table+" WHERE token_id IN ?", slices.Collect(maps.Keys(logins))).Scan(&found).Error
	if err != nil || len(found) == 0 {
		return nil, nil, err
	}
	of := make(map[int64]idworker.ID, len(found))
	for _, r := range found {
		of[r.RowID] = idworker.ID(r.TokenID)
	}
	err = tx.Raw("SELECT " + columns(table) + " FROM " + table + " WHERE id IN (" + list(slices.Sorted(maps.Keys(of))) + ") ORDER BY id" + s.DB.d.skipLocked).Scan(&held).Error
	if err != nil {
		return nil, nil, err
	}
	held = slices.DeleteFunc(held, func(r tokenRow) bool {
		id := of[r.RowID]
		delete(of, r.RowID)
		return idworker.ID(r.TokenID.Int64) != id
	})
	return held, slices.Collect(maps.Values(of)), nil
}

// touchQuery writes rows that are locked.
func touchQuery(table string, moved []use) (string, []any) {
	var times, rows []any
	for _, u := range moved {
		times, rows = append(times, u.row, u.at), append(rows, u.row)
	}
	return "UPDATE " + table + " SET token_seen_at = CASE id" + strings.Repeat(" WHEN ? THEN ?", len(moved)) + " END WHERE id IN (?" +
		strings.Repeat(", ?", len(moved)-1) + ")", append(times, rows...)
}
