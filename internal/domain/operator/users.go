// Package operator is what an operator can do: look at users, logins, the policy,
// the sweep and the record, and change them. The HTTP API, the command line and
// the console call the same verbs.
//
// Every change is an event, written with it in one transaction.
package operator

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Accounts are the users that there are, newest first, or those whose names
// begin with a prefix, in the order of their names.
//
// Newest returns users older than before, or the newest if before is 0. Named
// begins behind the name after. WithLogins returns a user and the logins that are kept, the
// newest first, or [account.ErrNotFound].
type Accounts interface {
	Newest(ctx context.Context, before idworker.ID, limit int) ([]account.User, error)
	Named(ctx context.Context, prefix, after string, limit int) ([]account.User, error)
	WithLogins(ctx context.Context, id idworker.ID) (account.User, []session.Session, error)
}

// A UserStore changes users. Each method writes its events in the transaction of
// the change.
//
// Create adds a user, or returns [account.ErrExists]. Change makes of a
// user what decide says, which may be called more than once, and ends the logins;
// it returns the user as it was and as it is, and the sessions that ended.
// If decide changes nothing, nothing changes, and sessions
// that ended when the same was asked before may be returned once more. It fails
// with [account.ErrNotFound] or [account.ErrLastAdmin]. ResetPassword returns
// [account.ErrStale] unless the password is of that version. Delete marks a user with that
// name as deleted, and ends all that could log in; it fails with [account.ErrNotFound],
// [account.ErrNotNamed] or [account.ErrLastAdmin].
type UserStore interface {
	Create(ctx context.Context, u account.User, events ...audit.Event) error
	Change(ctx context.Context, id idworker.ID, decide func(account.User) (account.User, []audit.Event, error)) (
		before, after account.User, ended []session.Session, err error)
	ResetPassword(ctx context.Context, id idworker.ID, version int64, hash account.PHC, e audit.Event) ([]session.Session, error)
	Delete(ctx context.Context, id idworker.ID, username string, e audit.Event) ([]session.Session, error)
}

// Users are the verbs about people. Set the fields once, before use.
//
// A verb that ends a login returns an error wrapping [session.ErrUnpublished] if it
// is done, but reaches other instances within the bound only.
type Users struct {
	Accounts Accounts
	Store    UserStore
	Resets   ResetStore
	Open     OpenResets
	// Known are the accounts by their names; Making makes accounts that are not stored
	// yet, and hashes passwords.
	Known  account.Users
	Making *account.Service
	// Factors are the second factors; nil where none are removed.
	Factors Factors
	Keys    KeyStore
	// Impersonations, if set, are allowed.
	Impersonations Impersonations
	Names          NameStore
	// Revoked, if set, is called with each service key that was revoked here.
	Revoked func(key idworker.ID)
	// Renamed, if set, is called when a user was renamed here. It must not block.
	Renamed func()

	Sessions *Sessions // ends logins, and knows the policy
	IDs      audit.IDs
	Now      func() time.Time
}

// A Person is a user, and the logins that live, the newest first.
type Person struct {
	account.User
	Logins []session.Login
}

// List returns at most limit users, newest first, or, with a prefix, those whose names
// begin with it, in the order of their names: behind the [UserCursor] after, or from the
// beginning if that is "". Who has the whole prefix as an alias comes after all these. It
// fails with an [*invalid.Error] if after is none of that list.
func (u *Users) List(ctx context.Context, prefix, after string, limit int) ([]account.User, error) {
	bad := invalid.Of("cursor", "malformed", "must be the next_cursor of the page before, of the same list")
	if prefix == "" {
		before, err := idworker.ParseID(after)
		if err != nil && after != "" {
			return nil, bad
		}
		return u.Accounts.Newest(ctx, before, limit)
	}
	typed := prefix
	prefix, ok := account.NormalizePrefix(typed)
	if !ok { // no username begins so
		return u.withAlias(ctx, nil, typed, limit)
	}
	last, err := cursors.DecodeString(after)
	if form, is := account.NormalizePrefix(string(last)); after != "" && (err != nil || !is || form != string(last) || !strings.HasPrefix(form, prefix) ||
		cursors.EncodeToString(last) != after) { // which disregards the ends of lines
		return nil, bad
	}
	page, err := u.Accounts.Named(ctx, prefix, string(last), limit)
	if err != nil {
		return nil, err
	}
	return u.withAlias(ctx, page, typed, limit)
}

// withAlias adds to the last page of a list by name who has that name as an alias, unless
// the list has this user by the username.
func (u *Users) withAlias(ctx context.Context, page []account.User, name string, limit int) ([]account.User, error) {
	alias, err := account.NormalizeAlias(name)
	if err != nil || len(page) >= limit {
		return page, nil //nolint:nilerr // nobody has such an alias
	}
	user, err := u.Find(ctx, NameQuery{Alias: alias})
	switch {
	case errors.Is(err, account.ErrNotFound):
	case err != nil:
		return nil, err
	case !strings.HasPrefix(user.Username, alias):
		user.Aliases = nil // as in the rest of a list
		page = append(page, user)
	}
	return page, nil
}

var cursors = base64.RawURLEncoding.Strict()

// UserCursor is the place behind that user in the list of a prefix. By name it is the name
// that the page shows, and not who has it: this user may be renamed or deleted before the
// next page is asked for.
func UserCursor(prefix string, u *account.User) string {
	if prefix == "" {
		return u.ID.String()
	}
	return cursors.EncodeToString([]byte(u.Username))
}

// Get returns one user, or [account.ErrNotFound].
func (u *Users) Get(ctx context.Context, id idworker.ID) (Person, error) {
	user, logins, err := u.Accounts.WithLogins(ctx, id)
	if err != nil {
		return Person{}, fmt.Errorf("operator: get user: %w", err)
	}
	p := Person{User: user}
	rule, now := u.Sessions.Policy.Current(), u.Sessions.clock()
	for i := range logins {
		if l, lives := session.LoginOf(logins[i], rule, now); lives {
			p.Logins = append(p.Logins, l)
		}
	}
	return p, nil
}

// Create adds a user. It fails as [account.Service.New] does, with
// [account.ErrExists], and with an [*invalid.Error] about the reason.
func (u *Users) Create(ctx context.Context, by audit.Actor, username string, p account.Password, role account.Role, reason string) (account.User, error) {
	if err := CheckReason(reason); err != nil {
		return account.User{}, err
	}
	user, err := u.Making.New(ctx, operator, username, p, role)
	if err != nil {
		return account.User{}, err
	}
	e, err := created(ctx, u.IDs, by, needs[create(role)], &user, reason)
	if err == nil {
		err = u.Store.Create(ctx, user, e)
	}
	if err != nil {
		return account.User{}, fmt.Errorf("operator: create user: %w", err)
	}
	logAct(ctx, u.Sessions.Log, by, nil, "user created", "user_id", user.ID, "role", user.Role)
	return user, nil
}

// operator is an operator who waits for a hash. Operators are few and logged in, so
// that one network is enough for all of them.
var operator = account.Asker{Known: true}

// created is the event of a user who was made.
func created(ctx context.Context, ids audit.IDs, by audit.Actor, need audit.Need, user *account.User, reason string) (audit.Event, error) {
	return audit.New(ctx, ids, by, need, audit.UserCreated, userTarget(user), reason, nil, state{Role: user.Role})
}

// SetPassword gives a user another password and ends the logins. It fails with
// [account.ErrNotFound], an [*invalid.Error], [account.ErrBusy], and
// [account.ErrStale] if another changed it meanwhile. It returns the sessions that ended.
func (u *Users) SetPassword(ctx context.Context, by audit.Actor, id idworker.ID, p account.Password, reason string) ([]session.Session, error) {
	if err := CheckReason(reason); err != nil {
		return nil, err
	}
	user, err := u.Known.ByID(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("operator: set password: %w", err)
	}
	hash, err := u.Making.NewHash(ctx, operator, user.Username, p)
	if err != nil {
		return nil, err
	}
	e, err := audit.New(ctx, u.IDs, by, needs[setPassword], audit.PasswordReset, userTarget(&user), reason, nil, nil)
	if err != nil {
		return nil, err
	}
	ended, err := u.Store.ResetPassword(ctx, id, user.PasswordVersion, hash, e)
	if err != nil {
		return nil, fmt.Errorf("operator: set password: %w", err)
	}
	ended, err = u.Sessions.publish(ctx, ended)
	logAct(ctx, u.Sessions.Log, by, err, "password set", "user_id", id)
	return ended, err
}

// Logout ends all logins of a user, or those on devices of a class unless that is "", or
// does nothing if there is none. It returns the sessions that ended, as [Sessions.End]
// does. It fails with [account.ErrNotFound], and with an [*invalid.Error] about the class
// or the reason.
func (u *Users) Logout(ctx context.Context, by audit.Actor, id idworker.ID, class, reason string) ([]session.Session, error) {
	if err := cmp.Or(checkClass(class), CheckReason(reason)); err != nil {
		return nil, err
	}
	if _, err := u.Known.ByID(ctx, id); err != nil {
		return nil, fmt.Errorf("operator: logout: %w", err)
	}
	ended, err := u.Sessions.end(ctx, by, session.Ending{UserID: id, Class: class}, reason)
	if errors.Is(err, session.ErrNotFound) || err == nil && len(ended) == 0 {
		return nil, u.Sessions.knowsClass(class)
	}
	return ended, err
}

func userTarget(u *account.User) audit.Target {
	return audit.Target{Kind: "user", ID: u.ID, Name: u.Username}
}
