package account_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
)

// elsewhere is another system. It notes who was asked about.
type elsewhere struct {
	said   account.Said
	err    error                           // of Ask
	pass   func(ctx context.Context) error // nil returns at once
	asked  []account.Question
	passed atomic.Int64
}

func (e *elsewhere) Ask(_ context.Context, _ account.Asker, q account.Question) (account.Said, error) {
	e.asked = append(e.asked, q)
	return e.said, e.err
}

func (e *elsewhere) Pass(ctx context.Context, _ account.Asker) error {
	e.passed.Add(1)
	if e.pass != nil {
		return e.pass(ctx)
	}
	return nil
}

func withElsewhere(t *testing.T) (*account.Service, *elsewhere) {
	t.Helper()
	s, _ := newService(t)
	e := &elsewhere{}
	s.Elsewhere = e
	return s, e
}

// outside is a user with that state who has no password here.
func outside(t *testing.T, s *account.Service, name string, change func(*account.User)) account.User {
	t.Helper()
	id, _ := s.IDs.Next(t.Context())
	u := account.User{ID: id, Username: name, Role: account.RoleUser, ExternalID: "7", PasswordVersion: 1, CreatedAt: now, UpdatedAt: now}
	if change != nil {
		change(&u)
	}
	if err := s.Users.(*store).Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	return u
}

// TestOnlyStrangersAndImportedUsersAreAskedAbout: another system opens no account that it has
// nothing to do with, whatever it says, and is asked once.
func TestOnlyStrangersAndImportedUsersAreAskedAbout(t *testing.T) {
	s, e := withElsewhere(t)
	e.said = account.Said{Right: true, ExternalID: "7"}
	register(t, s, "native")
	brought(t, s, "foreign", bcryptOf(t, goodPassword))
	outside(t, s, "imported", nil)
	outside(t, s, "invited", func(u *account.User) { u.ExternalID = "" })
	outside(t, s, "changed", func(u *account.User) { u.PasswordVersion = 2 })
	outside(t, s, "machine", func(u *account.User) { u.Role = account.RoleService })
	outside(t, s, "chief", func(u *account.User) { u.Role = account.RoleAdmin })
	outside(t, s, "gone", func(u *account.User) { u.DisabledAt = now })
	for _, c := range []struct {
		name, password string
		asked          int
	}{
		{"Nobody", goodPassword, 1}, {"imported", goodPassword, 1}, {"nobody", "tïny", 1},
		{"native", "not the password", 0}, {"foreign", "not the password", 0}, {"invited", goodPassword, 0}, {"changed", goodPassword, 0},
		{"machine", goodPassword, 0}, {"chief", goodPassword, 0}, {"gone", goodPassword, 0},
		{"no such\x00name", goodPassword, 0}, {"nobody", "", 0}, {"nobody", "\xff", 0},
	} {
		e.asked = nil
		e.passed.Store(0)
		u, err := authenticate(s, t.Context(), account.Asker{}, c.name, account.NewPassword(c.password))
		if len(e.asked) != c.asked || e.passed.Load() != int64(1-c.asked) || (err == nil) != (c.asked == 1) || err != nil && !errors.Is(err, account.ErrWrong) {
			t.Errorf("%q, %q: asked %d times, passed %d times, %v", c.name, c.password, len(e.asked), e.passed.Load(), err)
		}
		if c.asked == 0 {
			continue
		}
		q := e.asked[0]
		if q.Username != strings.ToLower(c.name) || q.Reveal() != c.password || strings.Contains(fmt.Sprintf("%v %+v %#v", q, q, q), c.password) {
			t.Errorf("asked about %+v", q)
		}
		if ok, rehash, err := s.Hasher.Verify(t.Context(), account.Asker{}, account.NewPassword(c.password), u.PasswordHash); !ok || rehash || err != nil {
			t.Errorf("%q: the hash is not of the password: %v, %v", c.name, rehash, err)
		}
		want := account.ArrivesNew
		if c.name == "imported" {
			want = account.ArrivesHere
		}
		if u.Arrival != want || u.ID == 0 || u.Role != account.RoleUser || u.ExternalID != "7" || u.PasswordVersion != 1 || !u.BroughtPassword() || u.Disabled() || u.CreatedAt.IsZero() {
			t.Errorf("%q arrives as %+v", c.name, u)
		}
	}
}

// TestWhatAnotherSystemDecides: "wrong" is the answer for all names, "disabled" is only for who
// knows the password, and no answer is none: it is never a wrong password.
func TestWhatAnotherSystemDecides(t *testing.T) {
	lost := fmt.Errorf("%w: lost", account.ErrElsewhere)
	for name, c := range map[string]struct {
		user      string
		said      account.Said
		err, want error
		undecided bool
	}{
		"wrong":              {"nobody", account.Said{ExternalID: "7"}, nil, account.ErrWrong, false},
		"disabled there":     {"nobody", account.Said{Right: true, Disabled: true}, nil, account.ErrDisabled, false},
		"no answer":          {"nobody", account.Said{Right: true}, lost, account.ErrElsewhere, false},
		"not asked":          {"nobody", account.Said{}, account.Undecided(lost), account.ErrElsewhere, true},
		"wrong here":         {"imported", account.Said{ExternalID: "7"}, nil, account.ErrWrong, false},
		"another person":     {"imported", account.Said{Right: true, ExternalID: "8"}, nil, account.ErrElsewhere, true},
		"nobody knows":       {"imported", account.Said{Right: true}, nil, account.ErrElsewhere, true},
		"no answer for here": {"imported", account.Said{}, lost, account.ErrElsewhere, false},
	} {
		s, e := withElsewhere(t)
		outside(t, s, "imported", nil)
		e.said, e.err = c.said, c.err
		u, err := authenticate(s, t.Context(), account.Asker{}, c.user, account.NewPassword(goodPassword))
		if !errors.Is(err, c.want) || errors.Is(err, account.ErrUndecided) != c.undecided || (name == "wrong" || name == "wrong here") != errors.Is(err, account.ErrWrong) || u.ID != 0 {
			t.Errorf("%s: %+v, %v", name, u, err)
		}
	}
}

// TestRefusalTakesTheTimeOfAnAnswer: a wrong password of an account is refused when a question could have
// been answered, and in the same way if none could have been asked; nobody else waits, and who
// waits takes no hash from others.
func TestRefusalTakesTheTimeOfAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := withElsewhere(t)
		s.Hasher = account.NewCheapHasher(t, account.CheapParams, 1, 0)
		register(t, s, "alice")
		full := fmt.Errorf("%w: full", account.ErrElsewhere)
		e.pass = func(context.Context) error { return full }
		if _, err := authenticate(s, t.Context(), account.Asker{}, "alice", account.NewPassword("wrong")); !errors.Is(err, full) || errors.Is(err, account.ErrWrong) || errors.Is(err, account.ErrUndecided) {
			t.Errorf("without a place: %v", err)
		}
		var left atomic.Int64
		e.pass = func(ctx context.Context) error {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				left.Add(1)
			}
			return nil
		}
		began, refused := time.Now(), make(chan error, 1)
		go func() {
			_, err := authenticate(s, t.Context(), account.Asker{}, "alice", account.NewPassword("wrong"))
			refused <- err
		}()
		synctest.Wait() // it has compared, and would hold the only place
		if _, err := authenticate(s, t.Context(), account.Asker{}, "alice", account.NewPassword(goodPassword)); err != nil || time.Since(began) != 0 {
			t.Errorf("the right password: %v after %v", err, time.Since(began))
		}
		synctest.Wait()
		if left.Load() != 1 {
			t.Error("the question of the right password is not over")
		}
		if err := <-refused; !errors.Is(err, account.ErrWrong) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// TestAFirstLoginOfAForeignHashAsksNobody, while its hash is replaced. It is for the race detector, too.
func TestAFirstLoginOfAForeignHashAsksNobody(t *testing.T) {
	s, e := withElsewhere(t)
	brought(t, s, "foreign", bcryptOf(t, goodPassword))
	for range 50 {
		if u, err := authenticate(s, t.Context(), account.Asker{}, "foreign", account.NewPassword(goodPassword)); err != nil || u.Arrival != account.ArrivesNot || len(e.asked) != 0 {
			t.Fatalf("%+v, %v", u, err)
		}
	}
}

// TestBusyEndsTheQuestion: what is not compared here is not waited for there.
func TestBusyEndsTheQuestion(t *testing.T) {
	s, e := withElsewhere(t)
	register(t, s, "alice")
	ctx, leave := context.WithCancel(t.Context())
	leave()
	e.pass = func(ctx context.Context) error { <-ctx.Done(); return nil }
	if _, err := authenticate(s, ctx, account.Asker{}, "alice", account.NewPassword("wrong")); !errors.Is(err, account.ErrBusy) {
		t.Error(err)
	}
}
