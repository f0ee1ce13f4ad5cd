package account

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Invite makes an account that has no password, which no password opens, and
// returns it: its owner is to set the first one. It fails as [Service.Register]
// does. Giving the owner a way to do so is the caller's; it hashes nothing.
func (s *Service) Invite(ctx context.Context, username string, role Role) (User, error) {
	var all InvalidError
	name, err := NormalizeUsername(username)
	if bad, ok := errors.AsType[*InvalidError](err); ok {
		all.Fields = append(all.Fields, bad.Fields...)
	}
	if _, err := ParseRole(string(role)); err != nil {
		all.Fields = append(all.Fields, FieldError{"role", CodeUnknown, "must be user, service or admin"})
	}
	if len(all.Fields) > 0 {
		return User{}, &all
	}
	u, err := s.make(ctx, name, role, func() (PHC, error) { return PHC{}, nil })
	if err == nil {
		err = s.store(ctx, u)
	}
	if err != nil {
		return User{}, err
	}
	return u, nil
}

// store adds a user who was made.
func (s *Service) store(ctx context.Context, u User) error {
	if err := s.Users.Create(ctx, u); err != nil {
		return fmt.Errorf("account: register: %w", err)
	}
	return nil
}

// make makes an account with a hash that is made once the name is known to be
// free.
func (s *Service) make(ctx context.Context, name string, role Role, hash func() (PHC, error)) (User, error) {
	switch _, err := s.Users.ByUsername(ctx, name); {
	case err == nil:
		return User{}, fmt.Errorf("account: register: %w", ErrExists)
	case !errors.Is(err, ErrNotFound):
		return User{}, fmt.Errorf("account: register: %w", Undecided(err))
	}
	phc, err := hash()
	if err != nil {
		return User{}, Undecided(err)
	}
	id, err := s.IDs.Next(ctx)
	if err != nil {
		return User{}, fmt.Errorf("account: register: %w", Undecided(err))
	}
	now := s.Now().UTC().Truncate(time.Millisecond) // as it is stored
	return User{
		ID: id, Username: name, Role: role,
		PasswordHash: phc, PasswordVersion: 1,
		CreatedAt: now, UpdatedAt: now,
	}, nil
}
