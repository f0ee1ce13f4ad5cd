package account

import (
	"context"
	"errors"
	"fmt"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"time"
)

// NewInvited is [Service.New] for an account without a password. No login to it succeeds
// before its owner has set one. NewInvited hashes nothing, and fails as New does. The
// caller gives the owner a way to set the password.
func (s *Service) NewInvited(ctx context.Context, username string, role Role) (User, error) {
	name, err := checkNew(username, role, func(string) []invalid.Field { return nil })
	if err != nil {
		return User{}, err
	}
	return s.make(ctx, name, role, func() (PHC, error) { return PHC{}, nil })
}

// NewIssued is NewInvited for a user of whom an issuer says what it calls the user. Without a
// username the account gets one that is made of its ID, such as user-7301234567890123456.
func (s *Service) NewIssued(ctx context.Context, username, externalID string) (User, error) {
	var u User
	var err error
	if username != "" {
		u, err = s.NewInvited(ctx, username, RoleUser)
	} else if u.ID, err = s.IDs.Next(ctx); err == nil {
		now := s.Now().UTC().Truncate(time.Millisecond)
		u = User{ID: u.ID, Username: "user-" + u.ID.String(), Role: RoleUser, CountedByID: true, PasswordVersion: 1, CreatedAt: now, UpdatedAt: now}
	}
	if err != nil {
		return User{}, err
	}
	u.ExternalID = externalID
	return u, nil
}

// make makes an account with a hash that is made once the name is known to be
// free.
func (s *Service) make(ctx context.Context, name string, role Role, hash func() (PHC, error)) (User, error) {
	switch _, err := s.Users.ByName(ctx, name); {
	case err == nil:
		return User{}, fmt.Errorf("account: new: %w", ErrExists)
	case !errors.Is(err, ErrNotFound):
		return User{}, fmt.Errorf("account: new: %w", Undecided(err))
	}
	phc, err := hash()
	if err != nil {
		return User{}, Undecided(err)
	}
	id, err := s.IDs.Next(ctx)
	if err != nil {
		return User{}, fmt.Errorf("account: new: %w", Undecided(err))
	}
	now := s.Now().UTC().Truncate(time.Millisecond) // as it is stored
	return User{
		ID: id, Username: name, Role: role, CountedByID: true,
		PasswordHash: phc, PasswordVersion: 1,
		CreatedAt: now, UpdatedAt: now,
	}, nil
}
