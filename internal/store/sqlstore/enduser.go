package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// EndUser ends all sessions of a user, or those on one class of devices, except the session keep:
// see [session.Writer]. Without a class it also ends the sessions in which the user acts for
// others. It holds the user's row in one transaction. If the user has no further slots, the first
// try ends the one session by a compare-and-set instead. If nothing ends, EndUser returns the
// sessions that an earlier call may have ended, or none, or fails with [session.ErrNotFound].
func (s *Sessions) EndUser(ctx context.Context, e session.Ending, keep idworker.ID) ([]session.Session, error) {
	if e.Reason == "" {
		return nil, errNoReason
	}
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	var ended []session.Session
	var start time.Time
	again := false
	err := s.DB.retry(ctx, func() (err error) {
		start = time.Now()
		ended, err = s.endUser(ctx, e, keep, again)
		again = true
		return err
	})
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		return nil, fmt.Errorf("sqlstore: end of a user: %w", err)
	}
	if len(ended) == 0 || ended[0].Before {
		// That nothing of this user lives is an answer about all instances: it is not given
		// without a stamp. The call that ended it may have been cut off long after the stamp.
		start = time.Time{}
	}
	if failed := s.restampAll(ctx, e.UserID, ended, start); failed != nil {
		err = failed
	}
	if err != nil {
		return nil, fmt.Errorf("sqlstore: end of a user: %w", err)
	}
	return ended, nil
}

// endUser compares the row with what was read without a lock, if there is no further slot.
// Somebody who logs in all the time would win against each such try: again locks the row.
func (s *Sessions) endUser(ctx context.Context, e session.Ending, keep idworker.ID, again bool) ([]session.Session, error) {
	asOf, db := s.now(), s.DB.gorm.WithContext(ctx)
	row, err := s.DB.find(db, e.UserID)
	if err != nil {
		return nil, err
	}
	if row.Slots > 0 || again {
		return s.endSlotsOf(db, row, e, keep, asOf)
	}
	now := row.current(asOf)
	switch {
	case now.ID == 0 || !now.Alive():
		return endedBefore([]tokenRow{row}, e, asOf)
	case now.ID == keep || !now.Of(e.Class):
		return nil, nil
	}
	if err := s.endNow(ctx, row, now, e); err != nil {
		return nil, err // errMoved: look again
	}
	now.Ended = e.Reason
	return []session.Session{now}, nil
}

// endSlotsOf is endUser where there may be further slots, and wherever the row has to be locked.
func (s *Sessions) endSlotsOf(db *gorm.DB, row tokenRow, e session.Ending, keep idworker.ID, asOf time.Time) (was []session.Session, err error) {
	var rows []tokenRow
	var again []session.Session
	err = s.DB.transaction(db, func(tx *gorm.DB) error {
		may := permit{tx: tx}
		if e.Record != nil {
			if may, err = s.DB.authorize(tx, e.Record.By, e.Record.Need); err != nil {
				return err
			}
		}
		// No login begins while the row of the user is held.
		if row, err = one(tx, "SELECT "+tokenColumns+" FROM users WHERE id = ?"+s.DB.d.forRead, row.UserID); err != nil {
			return err
		}
		if rows, _, err = s.rowsOf(tx, row); err != nil {
			return err
		}
		if err := s.DB.lockUser(tx, e.UserID); err != nil {
			return err
		}
		if was, err = s.endSlots(tx, rows, e, keep, asOf); err != nil {
			return err
		}
		if e.Class == "" {
			var acts []session.Session
			if acts, again, err = s.endActs(tx, row.UserID, asOf); err != nil {
				return err
			}
			was = append(was, acts...)
		}
		if len(was) == 0 {
			return s.DB.decided(tx, nil) // what did not end here is stamped anew after this
		}
		if err := s.stamp(tx, rows); err != nil || e.Record == nil {
			return err
		}
		event, err := e.EventOfUser(was)
		if err != nil {
			return err
		}
		return may.record(event)
	})
	switch {
	case err != nil:
		return nil, err
	case len(was) == 0 && keep == 0:
		if was, err = endedBefore(rows, e, asOf); len(again) > 0 {
			err = nil
		}
		return append(was, again...), err
	}
	for i := range was {
		if was[i].Alive() { // else it was one of another user
			was[i].Ended = e.Reason
		}
	}
	return append(was, again...), nil
}

// endedBefore are the last sessions in rows of which none lives that e is about, as far as
// they ended for its reason: those that the same call may have ended before; or
// [session.ErrNotFound].
func endedBefore(rows []tokenRow, e session.Ending, asOf time.Time) (ended []session.Session, err error) {
	for i := range rows {
		row := &rows[i]
		now := row.current(asOf)
		if !row.TokenID.Valid {
			now = row.ended(asOf)
		}
		same := row.TokenID.Valid || row.EndedReason.String == string(e.Reason)
		if same && !now.Alive() && now.Of(e.Class) {
			now.Before = true
			ended = append(ended, now)
		}
	}
	if len(ended) == 0 {
		return nil, session.ErrNotFound
	}
	newestFirst(ended)
	return ended, nil
}

func newestFirst(list []session.Session) {
	slices.SortFunc(list, func(a, b session.Session) int { return cmp.Compare(b.ID, a.ID) })
}
