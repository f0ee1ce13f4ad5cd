package sqlstore

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// The kinds of the rows of user_names: a name that is the username and an alias of one user is an
// alias there, for then it is verified.
const (
	kindUsername = "username"
	kindMail     = "mail"
	kindPhone    = "phone"
)

// one is the user u whom that join finds, if there is one, or [account.ErrNotFound]. It fails if the server
// takes no writes, as [DB.find] does.
func (u *Users) one(ctx context.Context, also, join string, args ...any) (foundUser, error) {
	row, err := ask[foundUser](ctx, u.DB, account.ErrNotFound, "SELECT u.*"+also+", "+u.DB.d.readOnly+" AS read_only FROM (SELECT 1 AS one) o "+join, args...)
	switch {
	case err == nil && row.ReadOnly:
		err = u.DB.demoted(ErrReadOnly)
	case err == nil && row.User.ID == 0:
		return foundUser{}, account.ErrNotFound
	}
	return row, failed("user", err)
}

// ByName finds a user by a normalised username or alias, or [account.ErrNotFound]. It is
// one statement, which looks in the same indexes for every name. A username comes
// first: one that an instance of the previous release has made is not among the aliases.
// It also finds a user who was deleted, as one who is disabled and has no password: the
// name is taken until the purge.
func (u *Users) ByName(ctx context.Context, name string) (account.User, error) {
	row, err := u.one(ctx, ", COALESCE(a.name, '') AS alias", "LEFT JOIN users n ON n.username = ?"+
		" LEFT JOIN user_names a ON a.name = ? LEFT JOIN users u ON u.id = COALESCE(n.id, a.user_id, 0)", name, name)
	switch {
	case err != nil:
		return account.User{}, err
	case row.User.Username != name && row.Alias != name: // MySQL disregards spaces at the end
		return account.User{}, account.ErrNotFound
	}
	return row.User.user(), nil
}

// AliasesOf are the aliases of a user, sorted.
func (u *Users) AliasesOf(ctx context.Context, id idworker.ID) (names []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	err = u.DB.latest(ctx, func(conn *gorm.DB) error {
		names, err = aliasesOf(conn, id)
		return err
	})
	return names, failed("aliases", err)
}

func aliasesOf(conn *gorm.DB, id idworker.ID) ([]string, error) {
	user := []account.User{{ID: id}}
	err := withAliases(conn, user)
	return user[0].Aliases, err
}

// ChangeNames makes the username and the aliases of a user what decide makes of them, and
// writes the events, in one transaction in which by has what need says, or the scope
// write:users if by is a service key. It returns the user as it was and as it is. No login
// ends. decide may be called more than once; if it changes nothing, nothing is written.
//
// It fails with [account.ErrNotFound], and with [account.ErrExists] or [account.ErrAliasTaken]
// if another user has one of the names.
func (u *Users) ChangeNames(ctx context.Context, by audit.Actor, need audit.Need, id idworker.ID,
	decide func(account.User) (account.User, []audit.Event, error)) (before, after account.User, err error) {
	var start time.Time
	err = u.DB.transact(ctx, func(tx *gorm.DB) error {
		start = time.Now()
		may, err := u.mayName(tx, by, need)
		if err != nil {
			return err
		}
		if before, err = u.named(tx, id); err != nil {
			return err
		}
		var events []audit.Event
		if after, events, err = decide(before); err != nil {
			return err
		}
		if len(events) == 0 {
			return u.DB.decided(tx, nil)
		}
		if err := u.rename(tx, &before, &after); err != nil {
			return err
		}
		if err := u.DB.lockUser(tx, id); err != nil {
			return err
		}
		return may.record(events...)
	})
	if err == nil && before.Username != after.Username && time.Since(start) >= u.DB.late {
		// The polls of other instances may have passed the stamp by now. A rename of which
		// that cannot be repaired is not acknowledged.
		err = u.RenamedAgain(context.WithoutCancel(ctx), id)
	}
	return before, after, failed("change names", err)
}

// RenamedAgain stamps the rename of a user anew, if there was one.
func (u *Users) RenamedAgain(ctx context.Context, id idworker.ID) error {
	return failed("stamp a rename", u.DB.exec(ctx, "UPDATE users SET renamed_at = "+u.DB.d.now+" WHERE id = ? AND renamed_at IS NOT NULL", int64(id)))
}

func (u *Users) mayName(tx *gorm.DB, by audit.Actor, need audit.Need) (permit, error) {
	if by.Key != 0 {
		return u.DB.authorizeKey(tx, by, need, servicekey.WriteUsers)
	}
	return u.DB.authorize(tx, by, need)
}

// named reads a user with the aliases, and keeps the row as it is.
func (u *Users) named(tx *gorm.DB, id idworker.ID) (account.User, error) {
	row, err := first[userRow](tx, account.ErrNotFound, "SELECT * FROM users WHERE id = ? AND "+notDeleted+u.DB.d.forRead, int64(id))
	if err != nil {
		return account.User{}, err
	}
	user := row.user()
	user.Aliases, err = aliasesOf(tx, id)
	return user, err
}

// rename writes what differs. Rows are deleted before others are written, for a name may become
// one of another kind.
func (u *Users) rename(tx *gorm.DB, before, after *account.User) error {
	was, is := namesOf(before), namesOf(after)
	for name, kind := range was {
		if is[name] != kind {
			if err := tx.Exec("DELETE FROM user_names WHERE name = ? AND user_id = ?", name, int64(before.ID)).Error; err != nil {
				return err
			}
		}
	}
	if before.Username != after.Username {
		// Two renames of a user never have the same stamp: the second could be taken for the first.
		err := tx.Exec("UPDATE users SET username = ?, counted_by_id = 1, renamed_at = "+u.DB.d.max+"(COALESCE(renamed_at, 0) + 1, "+u.DB.d.now+"), "+
			u.DB.d.changed()+" WHERE id = ?", after.Username, int64(before.ID)).Error
		if errors.Is(err, gorm.ErrDuplicatedKey) {
			return account.ErrExists
		}
		if err == nil && !before.CountedByID { // places are kept under hashes of the old name
			err = tx.Exec("DELETE FROM known_places WHERE user_id = ?", int64(before.ID)).Error
		}
		if err == nil && before.Role == account.RoleAdmin { // a name is no right: the open links go on
			err = tx.Exec("UPDATE password_resets SET issuer_changed_at = (SELECT updated_at FROM users WHERE id = ?) WHERE issued_by = ? AND issuer_changed_at = ?",
				int64(before.ID), int64(before.ID), before.UpdatedAt.UnixMilli()).Error
		}
		if err != nil {
			return err
		}
	}
	fresh := map[string]string{}
	for name, kind := range is {
		if was[name] != kind {
			fresh[name] = kind
		}
	}
	return claim(tx, after.ID, fresh)
}

// namesOf are the rows of user_names of a user: the kind of each name.
func namesOf(u *account.User) map[string]string {
	kinds := make(map[string]string, 1+len(u.Aliases))
	if account.CouldBeAlias(u.Username) {
		kinds[u.Username] = kindUsername
	}
	for _, alias := range u.Aliases {
		if kinds[alias] = kindMail; account.IsPhone(alias) {
			kinds[alias] = kindPhone
		}
	}
	return kinds
}

// claim writes names of a user, in the order of the names, so that two who want the same do
// not wait for each other. It fails with [account.ErrExists] or
// [account.ErrAliasTaken] if somebody has one. An alias is also looked for among the
// usernames: an instance of the previous release writes those nowhere else.
func claim(tx *gorm.DB, id idworker.ID, kinds map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		taken, kind := account.ErrAliasTaken, kinds[name]
		if kind == kindUsername {
			taken = account.ErrExists
		}
		var others []int64
		if err := tx.Raw("SELECT id FROM users WHERE username = ? AND id <> ?", name, int64(id)).Scan(&others).Error; err != nil {
			return err
		}
		if len(others) > 0 {
			return taken
		}
		err := tx.Exec("INSERT INTO user_names (name, user_id, kind) VALUES (?, ?, ?)", name, int64(id), kind).Error
		if errors.Is(err, gorm.ErrDuplicatedKey) {
			return taken
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// insertNames adds what new users have in user_names, with one statement; empty if nothing.
func insertNames(users []account.User) (statement string, args []any) {
	const row = "(?, ?, ?)"
	for i := range users {
		for name, kind := range namesOf(&users[i]) {
			args = append(args, name, int64(users[i].ID), kind)
		}
	}
	if len(args) == 0 {
		return "", nil
	}
	return "INSERT INTO user_names (name, user_id, kind) VALUES " + strings.Repeat(row+", ", len(args)/3-1) + row, args
}

// renames are the users who got another username at since or later.
func (s *Sessions) renames(conn *gorm.DB, since time.Time) ([]session.Rename, error) {
	var rows []struct{ ID, RenamedAt int64 }
	if err := conn.Raw("SELECT id, renamed_at FROM users WHERE renamed_at >= ?", since.UnixMilli()).Scan(&rows).Error; err != nil {
		return nil, err
	}
	all := make([]session.Rename, len(rows))
	for i, r := range rows {
		all[i] = session.Rename{UserID: idworker.ID(r.ID), At: fromMillis(r.RenamedAt)}
	}
	return all, nil
}

// ByExternalID finds a user by what another system calls the user, or
// [account.ErrNotFound].
func (u *Users) ByExternalID(ctx context.Context, externalID string) (account.User, error) {
	user, err := u.by(ctx, "external_id = ?", externalID)
	if err == nil && user.ExternalID != externalID { // MySQL disregards spaces at the end
		return account.User{}, account.ErrNotFound
	}
	return user, err
}
