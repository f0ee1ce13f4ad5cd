package accounttest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// A Store keeps accounts. Create stores a new user with the events of it, or returns
// [account.ErrExists] and changes nothing when the name is taken.
type Store interface {
	account.Users
	Create(ctx context.Context, u account.User, events ...audit.Event) error
}

// Register makes an account with s, and stores it in to.
func Register(ctx context.Context, s *account.Service, to Store, name string, p account.Password, role account.Role) (account.User, error) {
	u, err := s.New(ctx, account.Asker{}, name, p, role)
	if err == nil {
		err = to.Create(ctx, u)
	}
	return u, err
}

// TestUsers holds an implementation of [Store] to the promises in the comments of
// its methods. open returns an empty store.
func TestUsers(t *testing.T, open func(t *testing.T) Store) {
	now := time.UnixMilli(1_700_000_000_123).UTC()
	user := func(id idworker.ID, name string) account.User {
		return account.User{
			ID: id, Username: name, Role: account.RoleUser, PasswordHash: account.NewPHC("$hash$" + name),
			PasswordVersion: 1, CreatedAt: now, UpdatedAt: now,
		}
	}
	same := func(t *testing.T, got, want account.User) {
		t.Helper()
		if got.ID != want.ID || got.Username != want.Username || got.Role != want.Role ||
			!got.PasswordHash.Equal(want.PasswordHash) || got.PasswordVersion != want.PasswordVersion ||
			!got.DisabledAt.Equal(want.DisabledAt) || got.Disabled() != want.Disabled() || !got.CreatedAt.Equal(want.CreatedAt) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	create := func(t *testing.T, s Store, u account.User) {
		t.Helper()
		if err := s.Create(t.Context(), u); err != nil {
			t.Fatalf("Create(%q): %v", u.Username, err)
		}
	}

	t.Run("WhatIsCreatedIsFound", func(t *testing.T) {
		s := open(t)
		alice, bob := user(1, "alice"), user(2, "bob")
		bob.Role, bob.DisabledAt, bob.PasswordVersion = account.RoleAdmin, now, 7
		for _, u := range []account.User{alice, bob} {
			create(t, s, u)
			got, err := s.ByUsername(t.Context(), u.Username)
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, u)
			if got, err = s.ByID(t.Context(), u.ID); err != nil {
				t.Fatal(err)
			}
			same(t, got, u)
		}
	})
	t.Run("UnknownUserIsNotFound", func(t *testing.T) {
		s := open(t)
		create(t, s, user(1, "alice"))
		for _, name := range []string{"", "-", "alic", "alice2", "ALICE", "alice ", "alicé", "0", "%", "a_ice"} {
			if u, err := s.ByUsername(t.Context(), name); !errors.Is(err, account.ErrNotFound) {
				t.Errorf("ByUsername(%q) = %v, %v, want ErrNotFound", name, u.Username, err)
			}
		}
		for _, id := range []idworker.ID{0, 2, -1} {
			if _, err := s.ByID(t.Context(), id); !errors.Is(err, account.ErrNotFound) {
				t.Errorf("ByID(%d): %v, want ErrNotFound", id, err)
			}
		}
	})
	t.Run("TakenNameChangesNothing", func(t *testing.T) {
		s := open(t)
		first := user(1, "alice")
		create(t, s, first)
		second := user(2, "alice")
		second.PasswordHash = account.NewPHC("$other$")
		if err := s.Create(t.Context(), second); !errors.Is(err, account.ErrExists) {
			t.Fatalf("second Create: %v, want ErrExists", err)
		}
		got, err := s.ByUsername(t.Context(), "alice")
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, first)
		if _, err := s.ByID(t.Context(), 2); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("ByID of the refused: %v, want ErrNotFound", err)
		}
	})
	t.Run("NamesDifferByByte", func(t *testing.T) {
		s := open(t)
		for i, name := range []string{"admin", "ädmin", "ad-min", "admin0", "админ", "strase", "strasse", "管理员", "管理人"} {
			create(t, s, user(idworker.ID(i+1), name))
		}
	})
	t.Run("OneOfManyGetsTheName", func(t *testing.T) {
		s := open(t)
		const n = 8
		errs := make([]error, n)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() { errs[i] = s.Create(t.Context(), user(idworker.ID(i+1), "alice")) })
		}
		wg.Wait()
		made := 0
		for _, err := range errs {
			switch {
			case err == nil:
				made++
			case !errors.Is(err, account.ErrExists):
				t.Errorf("Create: %v, want nil or ErrExists", err)
			}
		}
		if made != 1 {
			t.Errorf("%d got the name, want 1", made)
		}
	})
	t.Run("RehashKeepsTheVersion", func(t *testing.T) {
		s := open(t)
		u := user(1, "alice")
		create(t, s, u)
		create(t, s, user(2, "bob"))
		u.PasswordHash = account.NewPHC("$anew$")
		if err := s.Rehash(t.Context(), 1, 1, u.PasswordHash); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[idworker.ID]account.User{1: u, 2: user(2, "bob")} {
			got, err := s.ByID(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, want)
		}
	})
	t.Run("StaleRehashDoesNothing", func(t *testing.T) {
		s := open(t)
		u := user(1, "alice")
		u.PasswordVersion = 2
		create(t, s, u)
		for _, old := range []int64{1, 3} {
			if err := s.Rehash(t.Context(), 1, old, account.NewPHC("$of the password before$")); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Rehash(t.Context(), 9, 1, u.PasswordHash); err != nil {
			t.Errorf("Rehash of no user: %v, want nil", err)
		}
		got, err := s.ByID(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, u)
	})
}
