//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package account_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
)

// elsewhere is another system. It notes who was asked about.
type elsewhere struct {
	said  account.Said
	err   error  // of Ask
	work  func() // before each answer, if set
	mu    sync.Mutex
	asked []account.Question
}

func (e *elsewhere) Ask(_ context.Context, _ account.Asker, q account.Question) (account.Said, error) {
	e.mu.Lock()
	e.asked = append(e.asked, q)
	e.mu.Unlock()
	if e.work != nil {
		e.work()
	}
	return e.said, e.err
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
		asked          int // 0: about a made-up name
	}{
		{"Nobody", goodPassword, 1}, {"imported", goodPassword, 1}, {"nobody", "tïny", 1},
		{"native", "not the password", 0}, {"foreign", "not the password", 0}, {"invited", goodPassword, 0}, {"changed", goodPassword, 0},
		{"machine", goodPassword, 0}, {"chief", goodPassword, 0}, {"gone", goodPassword, 0},
		{"no such\x00name", goodPassword, 0}, {"nobody", "", 0}, {"nobody", "\xff", 0},
	} {
		e.asked = nil
		u, err := authenticate(s, t.Context(), account.Asker{}, c.name, account.NewPassword(c.password))
		if len(e.asked) != 1 || (err == nil) != (c.asked == 1) || err != nil && !errors.Is(err, account.ErrWrong) {
			t.Fatalf("%q, %q: asked %d times, %v", c.name, c.password, len(e.asked), err)
		}
		q := e.asked[0]
		if c.asked == 0 {
			if len(q.Username) < 26 || q.ExternalID != "" || c.password != "" && q.Reveal() == c.password || u.ID != 0 {
				t.Errorf("%q, %q: asked about %q, %q", c.name, c.password, q.Username, q.Reveal())
			}
			continue
		}
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
		"no answer, native":  {"native", account.Said{Right: true}, lost, account.ErrElsewhere, false},
		"right, native":      {"native", account.Said{Right: true, ExternalID: "7"}, nil, account.ErrWrong, false},
		"wrong here":         {"imported", account.Said{ExternalID: "7"}, nil, account.ErrWrong, false},
		"another person":     {"imported", account.Said{Right: true, ExternalID: "8"}, nil, account.ErrElsewhere, true},
		"nobody knows":       {"imported", account.Said{Right: true}, nil, account.ErrElsewhere, true},
		"no answer for here": {"imported", account.Said{}, lost, account.ErrElsewhere, false},
	} {
		s, e := withElsewhere(t)
		outside(t, s, "imported", nil)
		register(t, s, "native")
		e.said, e.err = c.said, c.err
		u, err := authenticate(s, t.Context(), account.Asker{}, c.user, account.NewPassword("another "+goodPassword))
		if !errors.Is(err, c.want) || errors.Is(err, account.ErrUndecided) != c.undecided || errors.Is(c.want, account.ErrWrong) != errors.Is(err, account.ErrWrong) || u.ID != 0 {
			t.Errorf("%s: %+v, %v", name, u, err)
		}
	}
}

// TestRefusalTakesTheTimeOfAnAnswer: whatever the load of the other system is at the moment, a wrong password of an account waits as
// long as that of a name that nobody has, in the same queue. The right one waits for nobody, and who
// waits takes no hash from others.
func TestRefusalTakesTheTimeOfAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := withElsewhere(t)
		s.Hasher = account.NewCheapHasher(t, account.CheapParams, 1, 0)
		register(t, s, "alice")
		queue := make(chan struct{}, 1) // it answers one question after another, each in a second
		e.work = func() {
			queue <- struct{}{}
			time.Sleep(time.Second)
			<-queue
		}
		for _, burst := range []int{0, 7} {
			var took []time.Duration
			for _, name := range []string{"alice", "nobody"} {
				var all sync.WaitGroup
				for i := range burst {
					all.Go(func() {
						_, _ = authenticate(s, t.Context(), account.Asker{}, fmt.Sprint("made.up.", i), account.NewPassword("wrong"))
					})
					synctest.Wait()
				}
				began := time.Now()
				if name == "alice" {
					if _, err := authenticate(s, t.Context(), account.Asker{}, name, account.NewPassword(goodPassword)); err != nil || time.Since(began) != 0 {
						t.Errorf("the right password: %v after %v", err, time.Since(began))
					}
				}
				if _, err := authenticate(s, t.Context(), account.Asker{}, name, account.NewPassword("wrong")); !errors.Is(err, account.ErrWrong) {
					t.Error(err)
				}
				took = append(took, time.Since(began))
				all.Wait()
			}
			if took[0] != took[1] || took[0] != time.Duration(burst+1)*time.Second {
				t.Errorf("behind %d questions: %v", burst, took)
			}
		}
	})
}

// TestMadeUpNameIsLikeTheOther, as far as another system may treat names and passwords in different ways, and is another each time.
func TestMadeUpNameIsLikeTheOther(t *testing.T) {
	s, e := withElsewhere(t)
	register(t, s, "ada@old.example.org")
	for range 2 {
		if _, err := authenticate(s, t.Context(), account.Asker{}, "ada@old.example.org", account.NewPassword("p\x00é€😀 7")); !errors.Is(err, account.ErrWrong) {
			t.Error(err)
		}
	}
	a, b := e.asked[0], e.asked[1]
	if a.Username == b.Username || !strings.HasSuffix(a.Username, "@old.example.org") || strings.Contains(a.Username, "ada@") || a.Reveal() != "x\x00é中🔑xx" {
		t.Errorf("%q %q, %q", a.Username, b.Username, a.Reveal())
	}
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

// TestWhatHasNoHashAsksNobody: an attempt that is given back because the pool has no place has asked nobody, whoever it is about.
func TestWhatHasNoHashAsksNobody(t *testing.T) {
	s, e := withElsewhere(t)
	register(t, s, "alice")
	ctx, leave := context.WithCancel(t.Context())
	leave()
	for _, name := range []string{"alice", "nobody"} {
		if _, err := authenticate(s, ctx, account.Asker{}, name, account.NewPassword("wrong")); !errors.Is(err, account.ErrBusy) || !errors.Is(err, account.ErrUndecided) || len(e.asked) != 0 {
			t.Errorf("%s: %v, asked %d times", name, err, len(e.asked))
		}
	}
}
