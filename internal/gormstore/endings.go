package gormstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/account"
	"github.com/flakepass/flakepass/internal/session"
)

// endSet ends the login of a row. The floor only grows; its time is the
// database's own, for the instances compare it with each other's. What ended is
// kept beside it, so that its holder can be told why.
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

// end ends the login that the row held when it was read, and no other.
func (s *Sessions) end(tx *gorm.DB, row tokenRow, why session.Reason) error {
	done := tx.Exec("UPDATE users SET "+s.DB.d.endSet()+" WHERE "+unmoved,
		append(endArgs(row, why), row.UserID, row.TokenID.Int64)...)
	if done.Error == nil && done.RowsAffected != 1 {
		return errMoved
	}
	return done.Error
}

// End ends one session with one compare-and-set. A login that began meanwhile
// is another session, and is left alone.
func (s *Sessions) End(ctx context.Context, e session.Ending) (session.Session, error) {
	return s.endAnd(ctx, e, nil)
}

// endAnd does also, if that is not nil, in the transaction of the end.
func (s *Sessions) endAnd(ctx context.Context, e session.Ending, also func(*gorm.DB, session.Session) error) (session.Session, error) {
	if e.Reason == "" {
		return session.Session{}, errors.New("gormstore: end: no reason given")
	}
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	var ended session.Session
	var start time.Time // zero if it had ended before
	err := s.DB.retry(ctx, func() (err error) {
		begin := time.Now()
		var before bool
		if ended, before, err = s.endOne(ctx, e, also); before {
			// Whoever ended it may have been cut off before it knew, and long after
			// the stamp.
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
		return session.Session{}, fmt.Errorf("gormstore: end: %w", err)
	}
	return ended, nil
}

// endOne reports, beside the session, whether it had ended before.
func (s *Sessions) endOne(ctx context.Context, e session.Ending, also func(*gorm.DB, session.Session) error) (_ session.Session, before bool, err error) {
	asOf := s.now()
	where, id := "token_id = ?", e.ID
	if e.ID == 0 {
		where, id = "id = ?", e.UserID
	}
	row, err := s.find(ctx, where, id)
	if e.ID != 0 && errors.Is(err, session.ErrNotFound) {
		if row, err = s.find(ctx, "ended_token_id = ?", e.ID); err == nil {
			ended, err := known(row.ended(asOf), e)
			return ended, true, err
		}
	}
	if err != nil {
		return session.Session{}, false, err
	}
	now, err := known(row.current(asOf), e)
	if err != nil || !now.Alive() {
		return now, true, err
	}
	now.Ended = e.Reason
	db := s.DB.gorm.WithContext(ctx)
	if also == nil {
		err = s.end(db, row, e.Reason)
	} else {
		err = db.Transaction(func(tx *gorm.DB) error {
			if err := s.end(tx, row, e.Reason); err != nil {
				return err
			}
			return also(tx, now)
		})
	}
	if err != nil {
		return session.Session{}, false, err // errMoved: look again
	}
	return now, false, nil
}

// known is s if it is the session that e means.
func known(s session.Session, e session.Ending) (session.Session, error) {
	if s.ID == 0 || (e.ID != 0 && !s.Hash.Equal(&e.Hash)) {
		return session.Session{}, session.ErrNotFound
	}
	return s, nil
}

// errAlready means that there is nothing to change.
var errAlready = errors.New("already so")

// An accountChange is a change of an account that ends its login in the same
// statement, so that no login survives it and none begins with what was before.
type accountChange struct {
	set    string
	args   []any
	reason session.Reason
}

// change makes c to the user with that ID and returns the session that ended
// with it; its ID is 0 if there was none. ok refuses a row as it is, or returns
// errAlready to leave it so.
func (db *DB) change(ctx context.Context, id idworker.ID, c accountChange, ok func(tokenRow) error) (session.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	s := &Sessions{DB: db}
	var ended session.Session
	var start time.Time
	err := db.retry(ctx, func() error {
		asOf := s.now()
		start = time.Now()
		row, err := s.find(ctx, "id = ?", id)
		if errors.Is(err, session.ErrNotFound) {
			return account.ErrNotFound
		}
		if err != nil {
			return err
		}
		if err := ok(row); errors.Is(err, errAlready) {
			ended = session.Session{}
			return nil
		} else if err != nil {
			return err
		}
		set, args := c.set, c.args
		ended = session.Session{}
		if row.TokenID.Valid {
			ended = row.current(asOf)
			ended.Ended = c.reason
			set += ", " + db.d.endSet()
			args = append(append([]any{}, args...), endArgs(row, c.reason)...)
		}
		done := db.gorm.WithContext(ctx).Exec(
			"UPDATE users SET "+set+", updated_at = "+db.d.now+
				" WHERE "+unmoved+" AND password_version = ?",
			append(args, row.UserID, row.TokenID.Int64, row.PasswordVersion)...)
		if done.Error == nil && done.RowsAffected != 1 {
			return errMoved
		}
		return done.Error
	})
	if err == nil && ended.ID != 0 {
		err = s.restamp(ctx, int64(id), start)
	}
	return ended, err
}
