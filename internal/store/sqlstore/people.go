package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Newest is a page of users, newest first: at most limit, older than before, or
// the newest if before is 0.
func (u *Users) Newest(ctx context.Context, before idworker.ID, limit int) ([]account.User, error) {
	return u.page(ctx, "id < ?", []any{cmp.Or(int64(before), math.MaxInt64)}, "id DESC", limit)
}

// Named is a page of the users whose names begin with prefix, in the order of
// the bytes of their names: at most limit, behind the name after, if that is not
// empty.
func (u *Users) Named(ctx context.Context, prefix, after string, limit int) ([]account.User, error) {
	// U+10FFFF is in no name, and comes after all that are.
	const last = "\U0010FFFF"
	if after == "" {
		return u.page(ctx, "username >= ? AND username < ?", []any{prefix, prefix + last}, "username", limit)
	}
	return u.page(ctx, "username > ? AND username < ?", []any{after, prefix + last}, "username", limit)
}

func (u *Users) page(ctx context.Context, where string, args []any, order string, limit int) ([]account.User, error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	var rows []userRow
	err := u.DB.gorm.WithContext(ctx).Where(where, args...).Where("COALESCE(deleted_at, 0) = 0").Order(order).Limit(limit).Find(&rows).Error
	return usersOf(rows), failed("list users", err)
}

// WithLogins finds a user and the logins that are kept, the newest first, or
// [account.ErrNotFound]. Whether one is over by the times of the policy is not asked. Those
// that are too many end.
func (u *Users) WithLogins(ctx context.Context, id idworker.ID) (account.User, []session.Session, error) {
	user, err := u.ByID(ctx, id)
	if err == nil {
		user.Aliases, err = u.AliasesOf(ctx, id)
	}
	if err != nil {
		return account.User{}, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	s := &Sessions{DB: u.DB}
	asOf := s.now()
	var rows []tokenRow
	many := false
	read := func(conn *gorm.DB) error {
		row, err := u.DB.find(conn, id)
		if err != nil || row.Slots == 0 {
			rows = []tokenRow{row}
			return err
		}
		var now ruleRow
		if rows, now, err = s.rowsOf(conn, row); err != nil {
			return err
		}
		rule := now.policy()
		many = len(session.Excess(held(rows, asOf), &rule, overBy(now))) > 0
		return nil
	}
	if err = u.DB.latest(ctx, read); err == nil && many {
		if _, err = s.reduce(ctx, id); err == nil {
			err = u.DB.latest(ctx, read)
		}
	}
	switch {
	case errors.Is(err, session.ErrNotFound):
		return account.User{}, nil, account.ErrNotFound
	case err != nil:
		return account.User{}, nil, fmt.Errorf("sqlstore: user: %w", err)
	}
	var logins []session.Session
	for i := range rows {
		if rows[i].TokenID.Valid {
			logins = append(logins, rows[i].current(asOf))
		}
	}
	newestFirst(logins)
	return user, logins, nil
}

// Change makes the role and the state of a user what decide makes of them, ends
// all logins, and writes the events, all in one transaction. It returns the user
// as it was and as it is, and the sessions that ended. If decide changes nothing, nothing changes, and no event is written.
//
// decide sees no password and no times but DisabledAt, and may be called more
// than once. What it returned as an error is returned. Change fails with
// [account.ErrNotFound], and with [account.ErrLastAdmin] if no enabled admin would
// be left.
func (u *Users) Change(ctx context.Context, id idworker.ID,
	decide func(account.User) (account.User, []audit.Event, error)) (before, after account.User, ended []session.Session, err error) {
	ended, err = u.DB.change(ctx, id, func(row tokenRow) (accountChange, error) {
		before = row.user()
		var events []audit.Event
		var err error
		after, events, err = decide(before)
		if err != nil {
			return accountChange{}, err
		}
		c := accountChange{
			set: "role = ?, disabled_at = ?", args: []any{string(after.Role), millisOrNull(after.DisabledAt)},
			reason: session.Revoked, events: events,
			losesAdmin: serves(before) && !serves(after),
		}
		if after.Role != before.Role {
			// What was given out or shown for the role of before ends with it: one-time
			// links, and passwords whose login has not opened yet.
			c.set += ", password_version = password_version + 1"
		}
		if before.Disabled() || after.Disabled() {
			c.reason = session.Disabled
		}
		if after.Role == before.Role && after.DisabledAt.Equal(before.DisabledAt) {
			return c, errAlready
		}
		return c, nil
	})
	return before, after, ended, failed("change user", err)
}

// serves reports whether u is an admin who can do something about it.
func serves(u account.User) bool { return u.Role == account.RoleAdmin && !u.Disabled() }

// user is the account half of the row, as far as the token half needs it.
func (r *tokenRow) user() account.User {
	u := account.User{
		ID: idworker.ID(r.UserID), Username: r.Username, Role: account.Role(r.Role), PasswordVersion: r.PasswordVersion,
	}
	if r.DisabledAt.Valid {
		u.DisabledAt = fromMillis(r.DisabledAt.Int64)
	}
	return u
}

// placesKept is how many places are kept of each user.
const placesKept = 20

// Remember notes that a user has logged in at a place, by the database's clock.
func (l *LoginRecords) Remember(ctx context.Context, user idworker.ID, place []byte) error {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	return failed("remember place", l.DB.inTurn(ctx, func() error { return l.add(l.DB.gorm.WithContext(ctx), int64(user), place) }))
}

// add notes a place, and forgets the oldest ones beyond those kept.
func (l *LoginRecords) add(db *gorm.DB, user int64, place []byte) error {
	err := db.Exec("INSERT INTO known_places (user_id, place, seen_at) VALUES (?, ?, "+l.DB.d.now+")", user, place).Error
	if errors.Is(err, gorm.ErrDuplicatedKey) { // it is old, or another login from there came first
		return db.Exec("UPDATE known_places SET seen_at = "+l.DB.d.now+" WHERE user_id = ? AND place = ?", user, place).Error
	}
	if err != nil {
		return err
	}
	var beyond []int64
	err = db.Raw("SELECT seen_at FROM known_places WHERE user_id = ? ORDER BY seen_at DESC LIMIT 1 OFFSET ?", user, placesKept).Scan(&beyond).Error
	if err != nil || len(beyond) == 0 {
		return err
	}
	return db.Exec("DELETE FROM known_places WHERE user_id = ? AND seen_at <= ?", user, beyond[0]).Error
}
