package login

import (
	"context"
	"errors"
	"fmt"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// arrive stores a user whose password another system has just accepted, with the event of it
// in the same transaction. From then on the password is ours. Of several logins of one user
// at the same time one does so, and the others are compared with what it has stored.
func (s *Service) arrive(ctx context.Context, c *Client, by account.Asker, u account.User, in Credentials) (account.User, error) {
	arrival := u.Arrival
	u.Arrival = account.ArrivesNot
	e, err := s.event(ctx, c.By, &u, audit.NeedsNothing, audit.UsersImported, struct {
		By         string `json:"by"`
		ExternalID string `json:"external_id,omitempty"`
	}{"hook", u.ExternalID})
	switch {
	case err != nil:
	case arrival == account.ArrivesNew:
		err = s.Users.Create(ctx, u, e)
	default:
		err = s.Arrivals.FirstHash(ctx, u, e)
		u.PasswordVersion++
		u.ImportedVersion = u.PasswordVersion
	}
	if errors.Is(err, account.ErrExists) {
		f, err := s.Names.Find(ctx, in.Username)
		if err != nil {
			return account.User{}, err
		}
		user, err := s.Accounts.Authenticate(ctx, by, f, in.Password)
		if err == nil && user.Arrival != account.ArrivesNot {
			err = account.Undecided(fmt.Errorf("login: %w: its user has changed meanwhile", account.ErrElsewhere))
		}
		return user, err
	}
	if err != nil {
		return account.User{}, afterProof("import", err)
	}
	s.log(ctx, c, "user imported by the hook", audit.UsersImported, "user_id", u.ID)
	return u, nil
}
