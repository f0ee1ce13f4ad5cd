package account_test

import (
	"context"
	"crypto/sha1"
	"errors"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
)

// stolen is a list of passwords, or an error.
type stolen struct {
	has   map[[20]byte]bool
	err   error
	asked int
}

func steal(passwords ...string) *stolen {
	s := &stolen{has: map[[20]byte]bool{}}
	for _, p := range passwords {
		s.has[sha1.Sum([]byte(p))] = true
	}
	return s
}

func (s *stolen) Has(_ context.Context, hash [20]byte) (bool, error) {
	s.asked++
	return s.has[hash], s.err
}

const (
	composed   = "gr\u00fcne Z\u00fcge nach Mitternacht"
	decomposed = "gru\u0308ne Zu\u0308ge nach Mitternacht"
)

func TestStolenPasswordIsRefused(t *testing.T) {
	s, _ := newService(t)
	for _, c := range []struct {
		name, listed, typed string
		refused             bool
	}{
		{"as it is", goodPassword, goodPassword, true},
		{"listed as typed", decomposed, decomposed, true},
		{"listed in normal form", composed, decomposed, true},
		{"in normal form both", composed, composed, true},
		{"another one", "brave tin goats", goodPassword, false},
		{"another case", "VIOLET TRAM SINGS AT NOON", "violet tram sings at noon", false},
	} {
		s.Breached = &account.Breaches{List: steal(c.listed)}
		_, registered := s.New(t.Context(), account.Asker{}, "alice", account.NewPassword(c.typed), account.RoleUser)
		_, hashed := s.NewHash(t.Context(), account.Asker{}, "alice", account.NewPassword(c.typed))
		_, beside := s.NewHashBeside(t.Context(), account.Asker{}, "alice", account.NewPassword(c.typed))
		for verb, err := range map[string]error{"Register": registered, "NewHash": hashed, "NewHashBeside": beside} {
			switch {
			case !c.refused && errors.Is(err, account.ErrExists): // of the case before
			case !c.refused && err != nil:
				t.Errorf("%s: %s: %v, want none", c.name, verb, err)
			case c.refused && code(t, err, "password") != account.CodeBreached:
				t.Errorf("%s: %s: %v, want breached", c.name, verb, err)
			}
		}
	}
}

// Beside a second factor 8 characters are enough, and one that thieves have is
// not.
func TestStolenShortPasswordIsRefused(t *testing.T) {
	s, _ := newService(t)
	s.Breached = &account.Breaches{List: steal("xk7 Vrtl")}
	if _, err := s.NewHashBeside(t.Context(), account.Asker{}, "alice", account.NewPassword("xk7 Vrtl")); code(t, err, "password") != account.CodeBreached {
		t.Errorf("NewHashBeside: %v, want breached", err)
	}
}

// A list that cannot be read refuses no password, and is reported.
func TestUnreadableListRefusesNoPassword(t *testing.T) {
	s, _ := newService(t)
	list := steal(goodPassword)
	list.err = errors.New("bad sector")
	var reported []error
	s.Breached = &account.Breaches{List: list, Unread: func(_ context.Context, err error) { reported = append(reported, err) }}
	if _, err := s.New(t.Context(), account.Asker{}, "alice", account.NewPassword(goodPassword), account.RoleUser); err != nil {
		t.Errorf("New: %v", err)
	}
	if len(reported) != 1 || !errors.Is(reported[0], list.err) {
		t.Errorf("reported %v", reported)
	}
	s.Breached.Unread = nil
	if _, err := s.NewHash(t.Context(), account.Asker{}, "alice", account.NewPassword(goodPassword)); err != nil {
		t.Errorf("NewHash: %v", err)
	}
}

// What another rule refuses costs no look-up, and neither does a login.
func TestListIsAskedAboutNewPasswordsOnly(t *testing.T) {
	s, _ := newService(t)
	u := register(t, s, "alice")
	list := steal(goodPassword, "short")
	s.Breached = &account.Breaches{List: list}
	if _, err := s.NewHash(t.Context(), account.Asker{}, "alice", account.NewPassword("short")); code(t, err, "password") != account.CodeTooShort {
		t.Errorf("NewHash: %v", err)
	}
	if _, err := s.NewHashBeside(t.Context(), account.Asker{}, "alice", account.NewPassword("short")); code(t, err, "password") != account.CodeTooShort {
		t.Errorf("NewHashBeside: %v", err)
	}
	if _, err := authenticate(s, t.Context(), account.Asker{}, "alice", account.NewPassword(goodPassword)); err != nil {
		t.Errorf("login: %v", err)
	}
	if err := s.VerifyPassword(t.Context(), account.Asker{}, u, account.NewPassword(goodPassword)); err != nil {
		t.Errorf("VerifyPassword: %v", err)
	}
	if list.asked != 0 {
		t.Errorf("the list was asked %d times", list.asked)
	}
}
