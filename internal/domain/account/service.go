package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// A Service registers people and says who someone is. All fields but
// Breached and RehashFailed are required and set once.
type Service struct {
	Users  Users
	Hasher *Hasher
	IDs    interface {
		Next(context.Context) (idworker.ID, error)
	}
	Now func() time.Time

	// Breached, if set, refuses new passwords that are in a list of stolen ones.
	Breached *Breaches

	// RehashFailed, if set, is told when a hash could not be renewed after a
	// login. The login has succeeded all the same.
	RehashFailed func(context.Context, error)
}

// Register makes an account as [Service.New] does, and stores it.
func (s *Service) Register(ctx context.Context, by Asker, username string, p Password, role Role) (User, error) {
	u, err := s.New(ctx, by, username, p, role)
	if err == nil {
		err = s.store(ctx, u)
	}
	if err != nil {
		return User{}, err
	}
	return u, nil
}

// New makes an account and returns it. It returns an [*InvalidError] with
// everything that is wrong with name, password and role; [ErrExists] when the
// name is taken; and [ErrBusy] as [Hasher.Hash] does. An error after which nobody
// knows whether the name is free, or before anything was hashed, is [ErrUndecided].
// Storing it is the caller's.
//
// A taken name is refused before anything is hashed: registration tells which
// names are taken anyway, and the pool is dear. Who takes the name meanwhile is
// caught when it is stored.
func (s *Service) New(ctx context.Context, by Asker, username string, p Password, role Role) (User, error) {
	name, err := s.checkNew(ctx, username, p, role)
	if err != nil {
		return User{}, err
	}
	return s.make(ctx, name, role, func() (PHC, error) { return s.Hasher.Hash(ctx, by, p) })
}

// checkNew checks all fields, so that a person corrects them at once.
func (s *Service) checkNew(ctx context.Context, username string, p Password, role Role) (string, error) {
	var all InvalidError
	name, err := NormalizeUsername(username)
	if bad, ok := errors.AsType[*InvalidError](err); ok {
		all.Fields = append(all.Fields, bad.Fields...)
	}
	all.Fields = append(all.Fields, s.problems(ctx, name, p)...)
	if _, err := ParseRole(string(role)); err != nil {
		all.Fields = append(all.Fields, FieldError{"role", CodeUnknown, "must be user, service or admin"})
	}
	if len(all.Fields) > 0 {
		return "", &all
	}
	return name, nil
}

// Authenticate returns the user with that name and password. It returns
// [ErrWrong] when there is none, after the same lookup and the same hashing
// whether the name is unknown, is no name at all, has no password, or has
// another; [ErrDisabled] only to someone who knows the password; and [ErrBusy]
// as [Hasher.Verify] does. An error from before the comparison is [ErrUndecided],
// too. A password longer than any account's is ErrWrong
// before it costs anything, whatever the name.
//
// A hash of weaker parameters is replaced after a success. After a failure it
// is not: the extra time would tell something. If the replacement fails the
// login does not.
//
// An error about a name that somebody has is a [*RefusedError].
//
// The answer is about the moment of the lookup. Whoever opens a session for
// the user compares PasswordVersion, and DisabledAt, in the same statement.
func (s *Service) Authenticate(ctx context.Context, by Asker, username string, p Password) (User, error) {
	if overlong(p) {
		return User{}, fmt.Errorf("account: authenticate: %w", ErrWrong)
	}
	u, err := s.lookup(ctx, username)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return User{}, fmt.Errorf("account: authenticate: %w", Undecided(err))
	}
	// The zero User of an unknown name has no password, and is refused as such.
	rehash, err := s.verify(ctx, by, u, p)
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

// Impossible returns [ErrWrong] for a name that nobody can have, or a password
// longer than any account's, and nil for all others. It asks nobody and hashes
// nothing, so whoever counts attempts need not count such a one: it is no guess.
func Impossible(username string, p Password) error {
	if _, err := NormalizeUsername(username); err != nil || overlong(p) {
		return fmt.Errorf("account: impossible name or password: %w", ErrWrong)
	}
	return nil
}

// Unacceptable returns an [*InvalidError] with what is wrong with a new name and
// password as such, and nil for all others. It asks nobody, neither for the name nor
// in the list of stolen passwords, and hashes nothing: whoever counts registrations
// need not count such a one.
func Unacceptable(username string, p Password) error {
	var all InvalidError
	name, err := NormalizeUsername(username)
	if bad, ok := errors.AsType[*InvalidError](err); ok {
		all.Fields = append(all.Fields, bad.Fields...)
	}
	if all.Fields = append(all.Fields, passwordProblems(name, p.reveal(), minPassword)...); len(all.Fields) > 0 {
		return &all
	}
	return nil
}

// lookup asks the store also for what is no name. Nobody has it, and the
// question takes as long as for a name.
func (s *Service) lookup(ctx context.Context, username string) (User, error) {
	name, err := NormalizeUsername(username)
	if err != nil {
		name = noName
	}
	u, lookupErr := s.Users.ByUsername(ctx, name)
	if err != nil && lookupErr == nil {
		return User{}, ErrNotFound
	}
	return u, lookupErr
}

// noName is looked up in the place of a text that is no name. It is none
// either, so nobody has it.
const noName = "-"

// verify returns ErrWrong unless p is the password of u, and ErrUndecided if it
// did not come to comparing them.
func (s *Service) verify(ctx context.Context, by Asker, u User, p Password) (rehash bool, err error) {
	if u.PasswordHash.IsZero() {
		if err := s.Hasher.Decoy(ctx, by, p); err != nil {
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
func (s *Service) problems(ctx context.Context, username string, p Password) []FieldError {
	return s.stolen(ctx, passwordProblems(username, p.reveal(), minPassword), p)
}

// stolen is problems, or that p is stolen. The list of stolen passwords is asked
// about those only that nothing else is wrong with: it is on a disk.
func (s *Service) stolen(ctx context.Context, problems []FieldError, p Password) []FieldError {
	if len(problems) > 0 {
		return problems
	}
	if f, bad := s.Breached.problem(ctx, p); bad {
		return []FieldError{f}
	}
	return nil
}

// NewHash checks and hashes p as the new password of the account with that
// name. It returns an [*InvalidError] as [CheckPassword] does, or for a stolen
// password, and [ErrBusy] as
// [Hasher.Hash] does. Storing it, and raising the version, is the caller's.
func (s *Service) NewHash(ctx context.Context, by Asker, username string, p Password) (PHC, error) {
	if problems := s.problems(ctx, username, p); len(problems) > 0 {
		return PHC{}, &InvalidError{Fields: problems}
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
	if _, err := s.verify(ctx, by, u, p); err != nil {
		return fmt.Errorf("account: verify password: %w", err)
	}
	return nil
}
