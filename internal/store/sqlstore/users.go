package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Users are the accounts.
type Users struct{ DB *DB }

var _ account.Users = (*Users)(nil)

// ByUsername finds a user by a normalised name, or [account.ErrNotFound].
func (u *Users) ByUsername(ctx context.Context, username string) (account.User, error) {
	user, err := u.by(ctx, "username = ?", username)
	if err == nil && user.Username != username { // MySQL disregards spaces at the end
		return account.User{}, account.ErrNotFound
	}
	return user, err
}

// ByID finds a user, or [account.ErrNotFound].
func (u *Users) ByID(ctx context.Context, id idworker.ID) (account.User, error) {
	return u.by(ctx, "id = ?", int64(id))
}

func (u *Users) by(ctx context.Context, where string, key any) (account.User, error) {
	row, err := u.one(ctx, "", "LEFT JOIN users u ON "+where+" AND "+notDeleted, key)
	if err != nil {
		return account.User{}, err
	}
	return row.User.user(), nil
}

// Create adds a user with the events of it, in one transaction, or returns
// [account.ErrExists] if the name is taken. If another user has the external ID, it is
// [account.ErrOtherPerson], in an [*account.RefusedError] about that user.
func (u *Users) Create(ctx context.Context, user account.User, events ...audit.Event) error {
	return created("create user", u.DB.write(ctx, func(tx *gorm.DB) error { return u.create(tx, user) }, events...))
}

// created is failed, but for a name that is taken.
func created(verb string, err error) error {
	if errors.Is(err, account.ErrExists) {
		return err
	}
	return failed(verb, err)
}

// CreateFirstAdmin is Create for an admin, if there is none yet. Otherwise it
// changes nothing and returns [account.ErrHasAdmin]; a user of another role is
// [account.ErrRole]. After any other error the user may be stored all the same.
//
// Every instance that starts on an empty database offers a link to make the first
// admin. So the database decides, in transactions that lock the settings and run
// one at a time: there is no row to lock of an admin who does not exist.
func (u *Users) CreateFirstAdmin(ctx context.Context, user account.User, events ...audit.Event) error {
	if user.Role != account.RoleAdmin {
		return fmt.Errorf("sqlstore: create the first admin: %w: not an admin", account.ErrRole)
	}
	err := u.DB.transact(ctx, func(tx *gorm.DB) error {
		if err := u.DB.lockSettings(tx); err != nil {
			return err
		}
		if has, err := hasAdmin(tx); err != nil || has {
			return cmp.Or(err, account.ErrHasAdmin)
		}
		return u.DB.recorded(tx, func(tx *gorm.DB) error { return u.create(tx, user) }, events...)
	})
	if err == nil || errors.Is(err, account.ErrHasAdmin) || errors.Is(err, account.ErrExists) {
		return err
	}
	// The transaction may be committed although its answer was lost.
	if stored, lookup := u.ByUsername(ctx, user.Username); lookup == nil && stored.ID == user.ID {
		return nil
	}
	return fmt.Errorf("sqlstore: create the first admin: %w", err)
}

func (u *Users) create(db *gorm.DB, user account.User) error {
	row := rowOf(&user)
	err := db.Create(&row).Error
	if err == nil {
		return claim(db, user.ID, namesOf(&user))
	}
	if !errors.Is(err, gorm.ErrDuplicatedKey) {
		return err
	}
	var ids []int64 // the duplicate key may be the ID, and not the name
	if found := db.Raw("SELECT id FROM users WHERE username = ?", user.Username).Scan(&ids); found.Error == nil && len(ids) > 0 {
		return account.ErrExists
	}
	var other userRow
	if user.ExternalID != "" && db.Where("external_id = ?", user.ExternalID).Take(&other).Error == nil {
		held := other.user()
		return &account.RefusedError{UserID: held.ID, Username: held.Username, Role: held.Role, Err: account.ErrOtherPerson}
	}
	return errTaken // not the error of the key: to try again would not help
}

var errTaken = errors.New("another user has that ID")

// Rehash replaces the hash of a password that stays the same, unless the
// password has changed since.
func (u *Users) Rehash(ctx context.Context, id idworker.ID, version int64, hash account.PHC) error {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	err := u.DB.inTurn(ctx, func() error {
		return u.DB.gorm.WithContext(ctx).Exec("UPDATE users SET password_hash = ? WHERE id = ? AND password_version = ?",
			hash.Reveal(), int64(id), version).Error
	})
	return failed("rehash", err)
}

// FirstHash stores the hash of user, marked as imported, for a user without a hash, with
// the event in the same transaction. It returns [account.ErrExists], and changes nothing, if
// the row is not that of an enabled user without a hash whose password has that version. The
// version is raised: a one-time link of before finds it stale.
func (u *Users) FirstHash(ctx context.Context, user account.User, e audit.Event) error {
	err := u.DB.write(ctx, func(tx *gorm.DB) error {
		return found(tx.Exec("UPDATE users SET password_hash = ?, imported_version = password_version + 1, password_version = password_version + 1, updated_at = ? "+
			"WHERE id = ? AND password_hash = '' AND password_version = ? AND role = ? AND disabled_at IS NULL",
			user.PasswordHash.Reveal(), user.UpdatedAt.UnixMilli(), int64(user.ID), user.PasswordVersion, string(account.RoleUser)), account.ErrExists)
	}, e)
	return failed("first hash", err)
}

// ResetPassword sets the hash of a new password, ends the user's logins and writes the event, in
// one transaction, if the password is still of that version; otherwise it
// returns [account.ErrStale] and changes nothing.
func (u *Users) ResetPassword(ctx context.Context, id idworker.ID, version int64, hash account.PHC, e audit.Event) ([]session.Session, error) {
	ended, err := u.DB.change(ctx, id, func(row tokenRow) (accountChange, error) {
		if row.PasswordVersion != version {
			return accountChange{}, account.ErrStale
		}
		return accountChange{
			set: "password_hash = ?, password_version = password_version + 1, " + noPending, args: []any{hash.Reveal()},
			reason: session.PasswordChanged, events: []audit.Event{e},
		}, nil
	})
	return ended, failed("change password", err)
}

// List is a page of users in the order of their IDs, which is the order in
// which they came, beginning after the ID after.
func (u *Users) List(ctx context.Context, after idworker.ID, limit int) ([]account.User, error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	users, err := u.page(ctx, "id > ?", []any{int64(after)}, "id", limit)
	if err != nil {
		return nil, err
	}
	return users, failed("list aliases", withAliases(u.DB.gorm.WithContext(ctx), users))
}

// withAliases reads the aliases of users, sorted.
func withAliases(conn *gorm.DB, users []account.User) error {
	if len(users) == 0 {
		return nil
	}
	at, ids := make(map[int64]int, len(users)), make([]int64, len(users))
	for i := range users {
		ids[i] = int64(users[i].ID)
		at[ids[i]] = i
	}
	var rows []struct {
		UserID int64
		Name   string
	}
	if err := conn.Raw("SELECT user_id, name FROM user_names WHERE user_id IN ? AND kind <> ?", ids, kindUsername).Scan(&rows).Error; err != nil {
		return err
	}
	for _, r := range rows {
		u := &users[at[r.UserID]]
		u.Aliases = append(u.Aliases, r.Name)
	}
	for i := range users {
		slices.Sort(users[i].Aliases)
	}
	return nil
}

// HasAdmin reports whether any user is an admin.
func (u *Users) HasAdmin(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	has, err := hasAdmin(u.DB.gorm.WithContext(ctx))
	return has, failed("look for an admin", err)
}

func hasAdmin(db *gorm.DB) (bool, error) {
	var ids []int64 // one is enough: the first admin is found among the oldest users
	err := db.Raw("SELECT id FROM users WHERE role = ? LIMIT 1", string(account.RoleAdmin)).Scan(&ids).Error
	return len(ids) > 0, err
}
