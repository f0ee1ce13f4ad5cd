package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Accounts are the users that there are, newest first, or those whose names
// begin with a prefix, in the order of their names.
//
// Newest returns users older than before, or the newest if before is 0. Named
// begins behind the name after. WithLogin returns a user and the login that is
// kept for it, whose ID is 0 if there is none, or [account.ErrNotFound].
type Accounts interface {
	Newest(ctx context.Context, before idworker.ID, limit int) ([]account.User, error)
	Named(ctx context.Context, prefix, after string, limit int) ([]account.User, error)
	WithLogin(ctx context.Context, id idworker.ID) (account.User, session.Session, error)
}

// A Register changes users. Each verb writes its events in the transaction of
// the change.
//
// CreateRecorded adds a user, or returns [account.ErrExists]. Change makes of a
// user what decide says, which may be called more than once, and ends the login;
// it returns the user as it was and as it is, and the session that ended, whose
// ID is 0 if none did. If decide changes nothing, nothing changes, and a session
// that ended when the same was asked before may be returned once more. It fails
// with [account.ErrNotFound] or [account.ErrLastAdmin]. ResetPassword returns
// [account.ErrStale] unless the password is of that version.
type Register interface {
	CreateRecorded(ctx context.Context, u account.User, events ...audit.Event) error
	Change(ctx context.Context, id idworker.ID, decide func(account.User) (account.User, []audit.Event, error)) (
		before, after account.User, ended session.Session, err error)
	ResetPassword(ctx context.Context, id idworker.ID, version int64, hash account.PHC, e audit.Event) (session.Session, error)
}

// A Hearer is told of a session that has ended, after that was committed. An
// error wrapping [session.ErrUntold] means that other instances could not be
// told, and learn of it within the bound.
type Hearer interface {
	Hear(ctx context.Context, ended session.Session) error
}

// Users are the verbs about people. Set the fields once, before use.
//
// A verb that ends a login returns an error wrapping [session.ErrUntold] if it
// is done, and other instances learn of it within the bound only.
type Users struct {
	Accounts Accounts
	Register Register
	Resets   ResetStore
	Open     OpenResets
	// Known are the accounts by their names, and Hasher hashes passwords.
	Known  account.Users
	Hasher *account.Hasher
	// Breached refuses stolen passwords; nil refuses none.
	Breached *account.Breaches
	// Factors are the second factors; nil where nobody removes any.
	Factors Factors

	Sessions *Sessions // ends logins, and knows the policy
	IDs      audit.IDs
	Now      func() time.Time
}

// A Person is a user, and the login that lives; its ID is 0 if there is none.
type Person struct {
	account.User
	Login Login
}

// List returns at most limit users: those that came before the user after,
// newest first, or the newest if after is 0. With a prefix it returns those
// whose names begin with it, in the order of their names, and goes on behind
// that user. It fails with an [*account.InvalidError] if after is no user that
// such a list has.
func (u *Users) List(ctx context.Context, prefix string, after idworker.ID, limit int) ([]account.User, error) {
	if prefix == "" {
		return u.Accounts.Newest(ctx, after, limit)
	}
	prefix, ok := account.NormalizePrefix(prefix)
	if !ok {
		return nil, nil // nobody has such a name
	}
	last := ""
	if after != 0 {
		// Names do not change and users do not go, so the ID stands for the name.
		user, err := u.Known.ByID(ctx, after)
		if errors.Is(err, account.ErrNotFound) || err == nil && !strings.HasPrefix(user.Username, prefix) {
			return nil, &account.InvalidError{Fields: []account.FieldError{
				{Field: "cursor", Code: "malformed", Message: "must be the next_cursor of the page before, of the same list"},
			}}
		}
		if err != nil {
			return nil, fmt.Errorf("operator: list users: %w", err)
		}
		last = user.Username
	}
	return u.Accounts.Named(ctx, prefix, last, limit)
}

// Get returns one user, or [account.ErrNotFound].
func (u *Users) Get(ctx context.Context, id idworker.ID) (Person, error) {
	user, login, err := u.Accounts.WithLogin(ctx, id)
	if err != nil {
		return Person{}, fmt.Errorf("operator: get user: %w", err)
	}
	p := Person{User: user}
	if rule := u.Sessions.Policy.Current(); lives(&login, rule, u.Sessions.clock()) {
		p.Login = loginOf(login, rule)
	}
	return p, nil
}

// Create adds a user. It fails as [account.Service.Register] does, and with an
// [*account.InvalidError] about the reason.
func (u *Users) Create(ctx context.Context, by audit.Actor, username string, p account.Password, role account.Role, reason string) (account.User, error) {
	if err := CheckReason(reason); err != nil {
		return account.User{}, err
	}
	s := &account.Service{Users: recorder{u.Known, u, by, reason}, Hasher: u.Hasher, Breached: u.Breached, IDs: u.IDs, Now: u.Now}
	user, err := s.Register(ctx, operator, username, p, role)
	acted(ctx, u.Sessions.Log, by, err, "user created", "user_id", user.ID, "role", user.Role)
	return user, err
}

// operator is an operator who waits for a hash. Operators are few and logged in, so
// that one network is enough for all of them.
var operator = account.Asker{Known: true}

// A recorder makes users with the event of it.
type recorder struct {
	account.Users
	verbs  *Users
	by     audit.Actor
	reason string
}

// Create is what [account.Service.Register] calls last.
func (r recorder) Create(ctx context.Context, user account.User) error {
	e, err := audit.New(ctx, r.verbs.IDs, r.by, needs[create(user.Role)], audit.UserCreated, userTarget(&user), r.reason, nil, state{Role: user.Role})
	if err != nil {
		return err
	}
	return r.verbs.Register.CreateRecorded(ctx, user, e)
}

// SetPassword gives a user another password and ends the login. It fails with
// [account.ErrNotFound], an [*account.InvalidError], [account.ErrBusy], and
// [account.ErrStale] if somebody else changed it meanwhile. The session that
// ended has the ID 0 if there was none.
func (u *Users) SetPassword(ctx context.Context, by audit.Actor, id idworker.ID, p account.Password, reason string) (session.Session, error) {
	if err := CheckReason(reason); err != nil {
		return session.Session{}, err
	}
	user, err := u.Known.ByID(ctx, id)
	if err != nil {
		return session.Session{}, fmt.Errorf("operator: set password: %w", err)
	}
	hash, err := (&account.Service{Users: u.Known, Hasher: u.Hasher, Breached: u.Breached}).NewHash(ctx, operator, user.Username, p)
	if err != nil {
		return session.Session{}, err
	}
	e, err := audit.New(ctx, u.IDs, by, needs[setPassword], audit.PasswordReset, userTarget(&user), reason, nil, nil)
	if err != nil {
		return session.Session{}, err
	}
	ended, err := u.Register.ResetPassword(ctx, id, user.PasswordVersion, hash, e)
	if err != nil {
		return session.Session{}, fmt.Errorf("operator: set password: %w", err)
	}
	ended, err = u.Sessions.tell(ctx, ended)
	acted(ctx, u.Sessions.Log, by, err, "password set", "user_id", id)
	return ended, err
}

// Logout ends the login of a user, or does nothing if there is none. It returns
// the session that ended, whose ID is 0 if there was none, as [Sessions.End]
// does. It fails with [account.ErrNotFound].
func (u *Users) Logout(ctx context.Context, by audit.Actor, id idworker.ID, reason string) (session.Session, error) {
	if err := CheckReason(reason); err != nil {
		return session.Session{}, err
	}
	user, err := u.Known.ByID(ctx, id)
	if err != nil {
		return session.Session{}, fmt.Errorf("operator: logout: %w", err)
	}
	ended, err := u.Sessions.end(ctx, by, session.Ending{UserID: id}, userTarget(&user), reason)
	if errors.Is(err, session.ErrNotFound) {
		return session.Session{}, nil
	}
	return ended, err
}

func userTarget(u *account.User) audit.Target {
	return audit.Target{Kind: "user", ID: u.ID, Name: u.Username}
}

// lives reports whether s is a login that a request could still use.
func lives(s *session.Session, rule *policy.Policy, now time.Time) bool {
	return s.ID != 0 && s.Alive() && !session.OverBefore(*s, rule, now).Before
}
