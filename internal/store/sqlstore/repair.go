package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// EndAgain ends what is known to have ended and lives in the rows, which have lost the
// end. If there is any such, it writes event, with their number, in the transaction of the
// first: whatever fails then, it is known that commits were lost. What it returns
// beside an error was ended; the rest is not known.
func (s *Sessions) EndAgain(ctx context.Context, known []session.End, all idworker.ID, event audit.Event) (lost session.Lost, err error) {
	const atOnce = 500
	var missing []session.End
	for some := range slices.Chunk(known, atOnce) {
		more, err := s.missing(ctx, some)
		if err != nil {
			return lost, fmt.Errorf("sqlstore: look for lost ends: %w", err)
		}
		missing = append(missing, more...)
	}
	say := func(tx *gorm.DB) error {
		// Two numbers cannot fail to be JSON.
		event.New, _ = json.Marshal(struct {
			Logins int  `json:"logins"`
			All    bool `json:"all_logins"`
		}{len(missing), lost.All})
		return permit{tx, event.By, event.Need}.record(event)
	}
	err = s.DB.transact(ctx, func(tx *gorm.DB) (err error) {
		if lost.All, err = s.endAllAgain(tx, all); err == nil && lost.All {
			err = say(tx)
		}
		return err
	})
	if err != nil {
		return session.Lost{}, fmt.Errorf("sqlstore: end all again: %w", err)
	}
	for i, end := range missing {
		err := s.DB.transact(ctx, func(tx *gorm.DB) error {
			err := s.endAgain(tx, end)
			if err == nil && i == 0 && !lost.All {
				err = say(tx)
			}
			return err
		})
		if err != nil {
			return lost, fmt.Errorf("sqlstore: end again: %w", err)
		}
		lost.Ends++
	}
	return lost, nil
}

// missing are those of the ends that the rows do not have.
func (s *Sessions) missing(ctx context.Context, known []session.End) (missing []session.End, err error) {
	type place struct {
		user int64
		slot session.Slot
	}
	ids, floors := make([]int64, len(known)), make(map[place]session.End, len(known))
	for i, e := range known {
		ids[i] = int64(e.UserID)
		floors[place{ids[i], e.Slot}] = e
	}
	query := "SELECT id AS user_id, 0 AS slot, token_floor FROM users WHERE id IN (" + list(ids) + ")"
	if s.DB.further.Load() {
		query += " UNION ALL SELECT user_id, slot, token_floor FROM user_slots WHERE user_id IN (" + list(ids) + ")"
	}
	var rows []struct {
		UserID, TokenFloor int64
		Slot               session.Slot
	}
	if err := s.DB.query(ctx, &rows, query); err != nil {
		return nil, err
	}
	// A row of a further slot that is missing holds nothing that could live.
	for _, r := range rows {
		if e, ok := floors[place{r.UserID, r.Slot}]; ok && r.TokenFloor < int64(e.Floor) {
			missing = append(missing, e)
		}
	}
	return missing, nil
}

func (s *Sessions) endAgain(tx *gorm.DB, end session.End) error {
	where, args := "id = ?", []any{int64(end.UserID)}
	table := usersTable
	if end.Slot != 0 {
		table, where, args = slotsTable, "user_id = ? AND slot = ?", append(args, int64(end.Slot))
	}
	row, err := one(tx, "SELECT "+columns(table)+" FROM "+table+" WHERE "+where+s.DB.d.forRead, args...)
	if err != nil {
		return err
	}
	if row.TokenID.Valid && row.TokenID.Int64 <= int64(end.Floor) {
		why := end.Reason
		if row.TokenID.Int64 < int64(end.Floor) {
			why = session.Replaced
		}
		if err := s.end(tx, row, why); err != nil {
			return err
		}
	}
	return tx.Exec("UPDATE "+table+" SET token_floor = ?, token_floor_at = "+s.DB.d.now+" WHERE id = ? AND token_floor < ?",
		int64(end.Floor), row.RowID, int64(end.Floor)).Error
}

// endAllAgain raises the floor of all users, and reports whether it was lower.
func (s *Sessions) endAllAgain(tx *gorm.DB, floor idworker.ID) (lost bool, err error) {
	done := tx.Exec("UPDATE settings SET "+s.DB.d.floorSet()+" WHERE scope = 'global' AND global_floor < ?", int64(floor), int64(floor))
	return done.RowsAffected > 0, done.Error
}
