package accounttest

import (
	"context"
	"sync"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// Users is an [account.Users] in memory. The zero Users is empty and ready.
type Users struct {
	mu     sync.Mutex
	byID   map[idworker.ID]account.User
	byName map[string]idworker.ID
}

var _ Store = (*Users)(nil)

// ByUsername implements [account.Users].
func (s *Users) ByUsername(_ context.Context, username string) (account.User, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.byName[username]
	if !ok {
		return account.User{}, account.ErrNotFound
	}
	return s.byID[id], nil
}

// ByExternalID finds the user that another system calls so, or fails with
// [account.ErrNotFound].
func (s *Users) ByExternalID(_ context.Context, id string) (account.User, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.byID {
		if u.ExternalID == id && id != "" {
			return u, nil
		}
	}
	return account.User{}, account.ErrNotFound
}

// ByName implements [account.Users]. No user here has an alias.
func (s *Users) ByName(ctx context.Context, name string) (account.User, error) {
	return s.ByUsername(ctx, name)
}

// ByID implements [account.Users].
func (s *Users) ByID(_ context.Context, id idworker.ID) (account.User, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, ok := s.byID[id]
	if !ok {
		return account.User{}, account.ErrNotFound
	}
	return u, nil
}

// Create implements [Store]. It keeps no events.
func (s *Users) Create(_ context.Context, u account.User, _ ...audit.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.byName[u.Username]; taken {
		return account.ErrExists
	}
	if s.byID == nil {
		s.byID, s.byName = map[idworker.ID]account.User{}, map[string]idworker.ID{}
	}
	s.byID[u.ID], s.byName[u.Username] = u, u.ID
	return nil
}

// Rehash implements [account.Users].
func (s *Users) Rehash(_ context.Context, id idworker.ID, oldVersion int64, phc account.PHC) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u, ok := s.byID[id]; ok && u.PasswordVersion == oldVersion {
		u.PasswordHash = phc
		s.byID[id] = u
	}
	return nil
}

// Change replaces a user by what f makes of it, as an operator would: to
// disable it, or to give it another password. The name and ID stay. It does
// nothing if there is no such user.
func (s *Users) Change(id idworker.ID, f func(*account.User)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u, ok := s.byID[id]; ok {
		name := u.Username
		f(&u)
		u.ID, u.Username = id, name
		s.byID[id] = u
	}
}
