package sqlstore

import (
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
	if before == 0 {
		before = math.MaxInt64
	}
	return u.page(ctx, "id < ?", []any{int64(before)}, "id DESC", limit)
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
	if err := u.DB.gorm.WithContext(ctx).Where(where, args...).Order(order).Limit(limit).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("sqlstore: list users: %w", err)
	}
	users := make([]account.User, len(rows))
	for i := range rows {
		users[i] = rows[i].user()
	}
	return users, nil
}

// WithLogin finds a user and the login that the row holds, whose ID is 0 if
// there is none, or [account.ErrNotFound]. Whether the login is over by the
// policy is not asked.
func (u *Users) WithLogin(ctx context.Context, id idworker.ID) (account.User, session.Session, error) {
	user, err := u.ByID(ctx, id)
	if err != nil {
		return account.User{}, session.Session{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	s := &Sessions{DB: u.DB}
	asOf := s.now()
	var row tokenRow
	err = u.DB.latest(ctx, func(conn *gorm.DB) (err error) {
		row, err = u.DB.find(conn, "id = ?", id)
		return err
	})
	switch {
	case errors.Is(err, session.ErrNotFound):
		return account.User{}, session.Session{}, account.ErrNotFound
	case err != nil:
		return account.User{}, session.Session{}, fmt.Errorf("sqlstore: user: %w", err)
	case !row.TokenID.Valid:
		return user, session.Session{}, nil
	}
	return user, row.current(asOf), nil
}

// Change makes the role and the state of a user what decide makes of them, ends
// the login, and writes the events, all in one transaction. It returns the user
// as it was and as it is, and the session that ended, whose ID is 0 if there was
// none. If decide changes nothing, nothing changes, and no event is written.
//
// decide sees no password and no times but DisabledAt, and may be called more
// than once. What it returned as an error is returned. Change fails with
// [account.ErrNotFound], and with [account.ErrLastAdmin] if no enabled admin would
// be left.
func (u *Users) Change(ctx context.Context, id idworker.ID,
	decide func(account.User) (account.User, []audit.Event, error)) (before, after account.User, ended session.Session, err error) {
	ended, err = u.DB.change(ctx, id, func(row tokenRow) (accountChange, error) {
		before = row.user()
		var events []audit.Event
		var err error
		after, events, err = decide(before)
		if err != nil {
			return accountChange{}, err
		}
		c := accountChange{
			set: "role = ?, disabled_at = ?", args: []any{string(after.Role), orNever(after)},
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
	if err != nil {
		return before, before, session.Session{}, fmt.Errorf("sqlstore: change user: %w", err)
	}
	return before, after, ended, nil
}

// serves reports whether u is an admin who can do something about it.
func serves(u account.User) bool { return u.Role == account.RoleAdmin && !u.Disabled() }

func orNever(u account.User) any {
	if !u.Disabled() {
		return nil
	}
	return u.DisabledAt.UnixMilli()
}

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

// Logins are [Sessions] for lists: no answer is older than an end that was acknowledged
// before, also while one server takes the place of another.
type Logins struct{ *Sessions }

// Get reads a session, as that of Sessions does.
func (l Logins) Get(ctx context.Context, id idworker.ID) (got session.Session, err error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	err = l.DB.latest(ctx, func(conn *gorm.DB) error {
		got, _, err = l.loginOf(conn, id)
		return err
	})
	return got, err
}

// Newest is a page of the logins that rows hold, newest first: at most limit,
// with IDs above above and below below, and none that the global floor has
// ended. Whether they are over by the policy is not asked.
func (l Logins) Newest(ctx context.Context, above, below idworker.ID, limit int) ([]session.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	asOf := l.now()
	var rows []tokenRow
	err := l.DB.latest(ctx, func(conn *gorm.DB) error {
		var floor int64
		if err := conn.Raw(globalFloor).Scan(&floor).Error; err != nil {
			return err
		}
		return conn.Raw("SELECT "+tokenColumns+" FROM users WHERE token_id > ? AND token_id < ? ORDER BY token_id DESC LIMIT ?",
			max(int64(above), floor), int64(below), limit).Scan(&rows).Error
	})
	if err != nil {
		return nil, fmt.Errorf("sqlstore: list logins: %w", err)
	}
	logins := make([]session.Session, len(rows))
	for i := range rows {
		logins[i] = rows[i].current(asOf)
	}
	return logins, nil
}

// placesKept is how many places are kept of each user.
const placesKept = 20

// Remember notes that a user has logged in at a place, by the database's clock.
func (l *LoginRecords) Remember(ctx context.Context, user idworker.ID, place []byte) error {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	err := l.DB.inTurn(ctx, func() error { return l.add(l.DB.gorm.WithContext(ctx), int64(user), place) })
	if err != nil {
		return fmt.Errorf("sqlstore: remember place: %w", err)
	}
	return nil
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
