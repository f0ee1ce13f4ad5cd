package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/invalid"
)

// A Service makes accounts and says who someone is. All fields but
// Breached, Elsewhere and RehashFailed are required and set once.
type Service struct {
	Users  Users
	Hasher *Hasher
	IDs    interface {
		Next(context.Context) (idworker.ID, error)
	}
	Now func() time.Time

	// Breached, if set, refuses new passwords that are in a list of stolen ones.
	Breached *Breaches

	// Elsewhere, if set, is asked about passwords that this deployment does not know.
	Elsewhere Elsewhere

	// RehashFailed, if set, is called when a hash could not be renewed after a
	// login. The login has succeeded all the same.
	RehashFailed func(context.Context, error)
}

// New makes an account and returns it. It returns an [*invalid.Error] with
// everything that is wrong with name, password and role; [ErrExists] when the
// name is taken; and [ErrBusy] as [Hasher.Hash] does. An error after which no client
// knows whether the name is free, or before anything was hashed, is [ErrUndecided].
// Storing it, with the event of it, is the caller's.
//
// A taken name is refused before anything is hashed: registration reveals which
// names are taken anyway, and the pool is dear. Who takes the name meanwhile is
// caught when it is stored.
func (s *Service) New(ctx context.Context, by Asker, username string, p Password, role Role) (User, error) {
	name, err := checkNew(username, role, func(name string) []invalid.Field { return s.problems(ctx, name, p) })
	if err != nil {
		return User{}, err
	}
	return s.make(ctx, name, role, func() (PHC, error) { return s.Hasher.Hash(ctx, by, p) })
}

// checkNew checks all fields, so that a person corrects them at once.
// password says what is wrong with the password of the user with that name.
func checkNew(username string, role Role, password func(name string) []invalid.Field) (string, error) {
	var all invalid.Error
	name, err := NormalizeUsername(username)
	all.Take(err)
	all.Fields = append(all.Fields, password(name)...)
	if _, err := ParseRole(string(role)); err != nil {
		all.Add("role", CodeUnknown, "must be user, service or admin")
	}
	return name, all.OrNil()
}

// A Found is what a name that was typed at a login has found: a user, or the zero User for
// a name that no account has.
type Found struct {
	User User
	Name string // its normal form; a name that nobody has for a text that is none
}

// CountedAs is the name under which attempts are counted: that of the account, whichever of
// its names was typed, so that they share one count.
func (f Found) CountedAs() string {
	if f.User.ID == 0 {
		return f.Name
	}
	return f.User.CountedAs()
}

// Find looks up who has a name: a username, or an alias. Also what is no name is asked for,
// and takes as long. An error is [ErrUndecided].
func (s *Service) Find(ctx context.Context, typed string) (Found, error) {
	name, bad := NormalizeLogin(typed)
	if bad != nil {
		name = noName
	}
	u, err := s.Users.ByName(ctx, name)
	switch {
	case errors.Is(err, ErrNotFound), err == nil && bad != nil:
		u = User{}
	case err != nil:
		return Found{}, fmt.Errorf("account: find: %w", Undecided(err))
	}
	return Found{u, name}, nil
}

// Authenticate returns the user whom [Service.Find] has found, if that is the password. It
// returns [ErrWrong] otherwise, after the same hashing
// whether the name is unknown, is no name at all, has no password, or has
// another; [ErrDisabled] only to someone who knows the password; and [ErrBusy]
// as [Hasher.Verify] does. An error from before the comparison is [ErrUndecided],
// too. With [Service.Elsewhere] the user may be one whose row is to be written:
// see [User.Arrival]. A password longer than any account's is ErrWrong
// before it costs anything, whatever the name.
//
// A hash of weaker parameters is replaced after a success. After a failure it
// is not: the extra time would reveal something. If the replacement fails the
// login does not.
//
// An error about a name that an account has is a [*RefusedError].
//
// The answer is about the moment of the lookup. A caller that opens a session for
// the user compares PasswordVersion, and DisabledAt, in the same statement.
func (s *Service) Authenticate(ctx context.Context, by Asker, f Found, p Password) (User, error) {
	if overlong(p) {
		return User{}, fmt.Errorf("account: authenticate: %w", ErrWrong)
	}
	u := f.User
	// The zero User of an unknown name has no password, and is refused as such.
	rehash, err := s.verify(ctx, by, f.Name, u, p)
	if s.Elsewhere != nil && !by.HereOnly && errors.Is(err, ErrWrong) {
		u, err = s.elsewhere(ctx, by, f.Name, u, p)
	}
	if err == nil && u.Disabled() {
		err = ErrDisabled
	}
	if err != nil {
		err = fmt.Errorf("account: authenticate: %w", err)
		if u.ID != 0 {
			err = &RefusedError{UserID: u.ID, Username: u.Username, Role: u.Role, Err: err}
		}
		return User{}, err
	}
	if rehash {
		u = s.rehash(ctx, Asker{Network: by.Network, Known: true}, u, p)
	}
	return u, nil
}

// Impossible returns [ErrWrong] for a name that no account can have, or a password
// longer than any account's, and nil for all others. It asks no store and hashes
// nothing, so a caller that counts attempts need not count such a one: it is no guess.
func Impossible(username string, p Password) error {
	if _, err := NormalizeLogin(username); err != nil || overlong(p) {
		return fmt.Errorf("account: impossible name or password: %w", ErrWrong)
	}
	return nil
}

// Unacceptable returns an [*invalid.Error] with what is wrong with a new name and
// password as such, and nil for all others. It asks no store, neither for the name nor
// in the list of stolen passwords, and hashes nothing: a caller that counts registrations
// need not count such a one.
func Unacceptable(username string, p Password) error {
	_, err := checkNew(username, RoleUser, func(name string) []invalid.Field { return passwordProblems(name, p.reveal(), minPassword) })
	return err
}

// noName is looked up in the place of a text that is no name. It is none
// either, so no account has it.
const noName = "-"

// verify returns ErrWrong unless p is the password of u, and ErrUndecided if it
// did not come to comparing them.
func (s *Service) verify(ctx context.Context, by Asker, name string, u User, p Password) (rehash bool, err error) {
	if u.PasswordHash.IsZero() {
		if err := s.Hasher.Decoy(ctx, by, name, p); err != nil {
			return false, Undecided(err)
		}
		return false, ErrWrong
	}
	ok, rehash, err := s.Hasher.Verify(ctx, by, p, u.PasswordHash)
	switch {
	case err != nil:
		err = Undecided(err) // nothing was compared
	case !ok:
		err = ErrWrong
	}
	return rehash, err
}

func (s *Service) rehash(ctx context.Context, by Asker, u User, p Password) User {
	phc, err := s.Hasher.Hash(ctx, by, p)
	if err == nil {
		err = s.Users.Rehash(ctx, u.ID, u.PasswordVersion, phc)
	}
	if err != nil {
		if s.RehashFailed != nil {
			s.RehashFailed(ctx, fmt.Errorf("account: rehash: %w", err))
		}
		return u
	}
	u.PasswordHash = phc
	return u
}

// problems is what is wrong with p as the password of that account.
func (s *Service) problems(ctx context.Context, username string, p Password) []invalid.Field {
	return s.stolen(ctx, passwordProblems(username, p.reveal(), minPassword), p)
}

// stolen is problems, or that p is stolen. The list of stolen passwords is asked
// about those only that nothing else is wrong with: it is on a disk.
func (s *Service) stolen(ctx context.Context, problems []invalid.Field, p Password) []invalid.Field {
	if len(problems) > 0 {
		return problems
	}
	if f, bad := s.Breached.problem(ctx, p); bad {
		return []invalid.Field{f}
	}
	return nil
}

// NewHash checks and hashes p as the new password of the account with that
// name. It returns an [*invalid.Error] as [CheckPassword] does, or for a stolen
// password, and [ErrBusy] as
// [Hasher.Hash] does. Storing it, and raising the version, is the caller's.
func (s *Service) NewHash(ctx context.Context, by Asker, username string, p Password) (PHC, error) {
	if problems := s.problems(ctx, username, p); len(problems) > 0 {
		return PHC{}, &invalid.Error{Fields: problems}
	}
	return s.Hasher.Hash(ctx, by, p)
}

// VerifyPassword returns nil if p is the password of u, and [ErrWrong] if it is
// not or u has none. It is for someone already logged in who must show the
// password again, and does not ask whether u is disabled.
func (s *Service) VerifyPassword(ctx context.Context, by Asker, u User, p Password) error {
	if overlong(p) {
		return fmt.Errorf("account: verify password: %w", ErrWrong)
	}
	if _, err := s.verify(ctx, by, u.Username, u, p); err != nil {
		return fmt.Errorf("account: verify password: %w", err)
	}
	return nil
}

// ErrUndecided is in an error of a login if no client has learnt from it that the password is
// wrong. Either the password was compared with nothing, because the store or the pool was not
// available or the caller had left. Or the password was right, and something else failed. Such an
// attempt is no guess. After any other error the attempt is a guess. So it is if the caller leaves
// during the comparison of a wrong password: the comparison goes on, and ends with [ErrWrong].
var ErrUndecided = errors.New("whether the password is right was not found out, or does not matter")

// Undecided is err, in which errors.Is finds [ErrUndecided] as well.
func Undecided(err error) error { return undecided{err} }

type undecided struct{ error }

func (u undecided) Unwrap() error { return u.error }

func (undecided) Is(target error) bool { return target == ErrUndecided }
