package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/internal/domain/session"
)

// endSet ends the login of a row. The floor only grows; its time is the
// database's own, for the instances compare it with each other's. What ended is
// kept beside it, so that the answer to its token can say why.
func (d *dialect) endSet() string {
	return "token_floor = " + d.max + "(token_floor, ?), token_floor_at = " + d.now + ", " +
		"ended_token_id = ?, ended_token_hash = ?, ended_reason = ?, " +
		"token_id = NULL, token_hash = NULL, token_seen_at = NULL"
}

func endArgs(row tokenRow, why session.Reason) []any {
	return []any{row.TokenID.Int64, row.TokenID.Int64, row.TokenHash, string(why)}
}

// unmoved is the comparison of each compare-and-set: the row of that user still
// has that token, or still has none if it is 0. The COALESCE also hides the
// column from the planner, which could otherwise walk the index of tokens, where
// all who are logged out are NULL, and lock what others write.
const unmoved = "id = ? AND COALESCE(token_id, 0) = ?"

// failed is err with the verb that failed, and nil if it did not.
func failed(verb string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sqlstore: %s: %w", verb, err)
}

// found is what a statement about one row failed with, and none if there was no such row.
func found(done *gorm.DB, none error) error {
	if done.Error == nil && done.RowsAffected != 1 {
		return none
	}
	return done.Error
}

// end ends the login that the row held when it was read, and no other.
func (s *Sessions) end(tx *gorm.DB, row tokenRow, why session.Reason) error {
	return found(tx.Exec("UPDATE "+row.table()+" SET "+s.DB.d.endSet()+" WHERE "+unmoved,
		append(endArgs(row, why), row.RowID, row.TokenID.Int64)...), errMoved)
}

// End ends one session with one compare-and-set. A login that began meanwhile
// is another session, and is left alone.
//
// With a Record it writes the event in the same transaction, unless nothing ends.
// The caller need not have the token then: an Ending without a hash names the session
// by its ID.
func (s *Sessions) End(ctx context.Context, e session.Ending) (session.Session, error) {
	if e.Reason == "" {
		return session.Session{}, errNoReason
	}
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	var ended session.Session
	var start time.Time // zero if it had ended before
	err := s.DB.retry(ctx, func() (err error) {
		begin := time.Now()
		var before bool
		if ended, before, err = s.endOne(ctx, e); before {
			// The call that ended it may have been cut off before it returned, and long
			// after the stamp.
			begin = time.Time{}
		}
		start = begin
		ended.Before = before
		return err
	})
	if err == nil {
		err = s.restamp(ctx, int64(ended.UserID), start)
	}
	if err != nil {
		return session.Session{}, fmt.Errorf("sqlstore: end: %w", err)
	}
	return ended, nil
}

var errNoReason = errors.New("sqlstore: end: no reason given")

// endOne reports, beside the session, whether it had ended before.
func (s *Sessions) endOne(ctx context.Context, e session.Ending) (_ session.Session, before bool, err error) {
	asOf := s.now()
	row, over, err := s.DB.findLogin(s.DB.gorm.WithContext(ctx), e.ID)
	if err != nil {
		return session.Session{}, false, err
	}
	if over {
		ended, err := meant(&e, row.ended(asOf))
		return ended, true, err
	}
	now, err := meant(&e, row.current(asOf))
	if err != nil || !now.Alive() {
		return now, true, err
	}
	if err := s.endNow(ctx, row, now, e); err != nil {
		return session.Session{}, false, err // errMoved: look again
	}
	now.Ended = e.Reason
	return now, false, nil
}

// endNow ends the login that the row held when it was read, and writes the event
// in the same transaction if there is one.
func (s *Sessions) endNow(ctx context.Context, row tokenRow, now session.Session, e session.Ending) error {
	db := s.DB.gorm.WithContext(ctx)
	if e.Record == nil {
		return s.end(db, row, e.Reason)
	}
	event, err := e.Event(now)
	if e.ID == 0 {
		event, err = e.EventOfUser([]session.Session{now})
	}
	if err != nil {
		return err
	}
	if err := named(db, &event.By); err != nil {
		return err
	}
	return s.DB.transaction(db, func(tx *gorm.DB) error {
		return s.DB.recorded(tx, func(tx *gorm.DB) error {
			if err := s.end(tx, row, e.Reason); err != nil || e.ID != 0 {
				return err
			}
			return s.stillInOneSlot(tx)
		}, event)
	})
}

// meant is s if it is the session that e means. An operator names it by its ID
// alone; a token that is shown must match.
func meant(e *session.Ending, s session.Session) (session.Session, error) {
	byID := e.Record != nil && e.Hash == session.Hash{}
	if s.ID == 0 || (!byID && !s.Hash.Equal(&e.Hash)) {
		return session.Session{}, session.ErrNotFound
	}
	return s, nil
}

// Publish does nothing: the end was committed here.
func (s *Sessions) Publish(context.Context, ...session.Session) error { return nil }
