package sqlstore

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/migrations"
)

// errAlready means that there is nothing to change.
var errAlready = errors.New("already so")

// An accountChange is a change of an account that ends its logins in the same
// transaction, that of slot 0 in the same statement, so that no login survives it and none begins with what was before.
// Its events are written in the same transaction.
type accountChange struct {
	set    string
	args   []any
	reason session.Reason
	events []audit.Event
	// What is done first in that transaction, if anything. Nothing is changed if it fails.
	first func(*gorm.DB) error
	// An enabled admin is one no longer.
	losesAdmin bool
	// It is the deletion of the account. No other change finds one that is deleted.
	deletes bool
}

// change does to the user with that ID what decide makes of the row, and returns
// the sessions that ended with it, all that the user had, and those in which the user acted
// for others. decide may be
// called more than once; it returns errAlready to leave the row as it is. Sessions
// that ended when this was asked for the first time are returned again
// then, with Before, for the first answer may have been lost.
//
// The first try compares the row with what was read without a lock. If it has lost to a login,
// further tries lock the row, and do what decide makes of it then: somebody who logs in all the
// time would win against each of them.
func (db *DB) change(ctx context.Context, id idworker.ID, decide func(tokenRow) (accountChange, error)) ([]session.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	s := &Sessions{DB: db}
	var ended, again []session.Session
	var start time.Time
	tries := 0
	err := db.retry(ctx, func() error {
		ended, again, start = nil, nil, time.Now()
		tries++
		asOf := s.now()
		row, err := db.find(db.gorm.WithContext(ctx), id)
		if errors.Is(err, session.ErrNotFound) {
			return account.ErrNotFound
		}
		if err != nil {
			return err
		}
		c, err := decide(row)
		if row.DeletedAt.Valid && !c.deletes {
			return account.ErrNotFound
		}
		if errors.Is(err, errAlready) {
			start = time.Time{} // the first call may have been cut off
			if ended, err = s.endedWith(ctx, row, c.reason, asOf); err != nil {
				return err
			}
			again, err = s.endedActs(db.gorm.WithContext(ctx), row.UserID, asOf)
			ended = append(ended, again...)
			return err
		}
		if err != nil {
			return err
		}
		return db.transaction(db.gorm.WithContext(ctx), func(tx *gorm.DB) error {
			if err := db.holdSettings(tx, c.losesAdmin, tries > 1 && row.Slots == 0); err != nil {
				return err
			}
			may, err := db.authorizeAll(tx, c.events)
			if err == nil && tries > 1 {
				row, c, err = db.hold(tx, row, decide)
			}
			if err == nil {
				ended, again, err = s.make(tx, &c, row, asOf)
			}
			if err == nil {
				err = may.record(c.events...)
			}
			return err
		})
	})
	if err == nil {
		err = s.restampAll(ctx, id, append(again, ended...), start)
	}
	if err != nil {
		return nil, err
	}
	return ended, nil
}

// ends is the session of slot 0 as it is after the change, if there was one.
func (c *accountChange) ends(row tokenRow, asOf time.Time) []session.Session {
	if !row.TokenID.Valid {
		return nil
	}
	was := row.current(asOf)
	was.Ended = c.reason
	return []session.Session{was}
}

// endFurther ends the sessions of a user in further slots. The transaction has changed the
// row of the user: no login begins meanwhile.
func (s *Sessions) endFurther(tx *gorm.DB, row tokenRow, why session.Reason, asOf time.Time) ([]session.Session, error) {
	rows, _, err := s.rowsOf(tx, row)
	if err != nil {
		return nil, err
	}
	ended, err := s.endSlots(tx, rows[1:], session.Ending{Reason: why}, 0, asOf)
	for i := range ended {
		ended[i].Ended = why
	}
	if err != nil {
		return nil, err
	}
	return ended, s.stamp(tx, rows[1:])
}

// endedWith are the last sessions in the slots of a user, those that ended for that reason
// and that nothing has followed.
func (s *Sessions) endedWith(ctx context.Context, row tokenRow, why session.Reason, asOf time.Time) (ended []session.Session, err error) {
	rows := []tokenRow{row}
	if row.Slots > 0 {
		if rows, _, err = s.rowsOf(s.DB.gorm.WithContext(ctx), row); err != nil {
			return nil, err
		}
	}
	for i := range rows {
		if rows[i].EndedReason.Valid && rows[i].EndedReason.String == string(why) {
			was := rows[i].ended(asOf)
			was.Before = true
			ended = append(ended, was)
		}
	}
	return ended, nil
}

// changed sets when an account was last changed, by the database's clock. It grows
// with each change, whatever the clock does: a link or a proof of before the change
// is known by it.
func (d *dialect) changed() string {
	return "updated_at = " + d.max + "(updated_at + 1, " + d.now + ")"
}

// make changes the row, after what has to be done or looked at first, and ends the sessions
// that are not on it. It returns what ended, and what had ended with an earlier call.
func (s *Sessions) make(tx *gorm.DB, c *accountChange, row tokenRow, asOf time.Time) (ended, again []session.Session, err error) {
	if c.losesAdmin {
		if err := s.DB.otherAdmin(tx, row.UserID); err != nil {
			return nil, nil, err
		}
	}
	if c.first != nil {
		if err := c.first(tx); err != nil {
			return nil, nil, err
		}
	}
	ended = c.ends(row, asOf)
	if err := c.write(tx, &s.DB.d, row); err != nil || row.Slots == 0 {
		return ended, nil, err
	}
	further, err := s.endFurther(tx, row, c.reason, asOf)
	if err != nil {
		return nil, nil, err
	}
	acts, again, err := s.endActs(tx, row.UserID, asOf)
	return append(append(ended, further...), acts...), again, err
}

// write changes the row if it is as it was read.
func (c *accountChange) write(tx *gorm.DB, d *dialect, row tokenRow) error {
	set, args := c.set, append([]any{}, c.args...)
	if row.TokenID.Valid {
		set += ", " + d.endSet()
		args = append(args, endArgs(row, c.reason)...)
	} else {
		set += ", " + d.stampNow()
	}
	// A login that began and ended since leaves another last one, and no other trace here.
	where := unmoved + " AND COALESCE(ended_token_id, 0) = ? AND password_version = ? AND COALESCE(role, '') = ? AND COALESCE(disabled_at, 0) = ?"
	if row.Slots == 0 {
		// The policy may have allowed a second session since the row was read, and one may have
		// begun with what was before. The settings stay as they are read here until the commit.
		where += " AND (SELECT slots FROM settings WHERE scope = 'global'" + d.forShare + ") = 0"
	}
	return found(tx.Exec("UPDATE users SET "+set+", "+d.changed()+" WHERE "+where,
		append(args, row.RowID, row.TokenID.Int64, row.EndedTokenID.Int64, row.PasswordVersion, row.Role, row.DisabledAt.Int64)...), errMoved)
}

// otherAdmin returns [account.ErrLastAdmin] unless another user is an enabled
// admin, and has a password: one who was invited may never come. The caller has
// locked the settings.
func (db *DB) otherAdmin(tx *gorm.DB, id int64) error {
	_, err := first[int64](tx, account.ErrLastAdmin,
		"SELECT id FROM users WHERE role = ? AND disabled_at IS NULL AND password_hash <> '' AND id <> ? LIMIT 1", string(account.RoleAdmin), id)
	return err
}

// lockSettings holds a lock until the transaction ends, so that two admins who
// disable each other do not both succeed, nor two who become the first: on MySQL that of a row that is always
// there and that no transaction holds for long, in SQLite that of the database.
// The row changes: of two transactions on two servers that both take writes, one
// fails then.
func (db *DB) lockSettings(tx *gorm.DB) error {
	if db.d.name == migrations.SQLite {
		return nil
	}
	return found(tx.Exec("UPDATE settings SET lock_version = lock_version + 1 WHERE scope = 'global'"), errNoSettings)
}

// holdUser locks the row of a user, if there is one, until the transaction ends.
func (db *DB) holdUser(tx *gorm.DB, id idworker.ID) error {
	var held []int64
	return tx.Raw("SELECT id FROM users WHERE id = ?"+db.d.forRead, int64(id)).Scan(&held).Error
}

// lockUser makes the transaction fail at its commit if another server changes the row of
// a user meanwhile, on which it rests. Where there is one server that takes writes, the
// lock that the caller holds is enough.
func (db *DB) lockUser(tx *gorm.DB, id idworker.ID) error {
	return db.lockRow(tx, usersTable, int64(id))
}

// lockRow is lockUser for any slot.
func (db *DB) lockRow(tx *gorm.DB, table string, key int64) error {
	if !db.galera() {
		return nil
	}
	return tx.Exec("UPDATE "+table+" SET lock_version = lock_version + 1 WHERE id = ?", key).Error
}
