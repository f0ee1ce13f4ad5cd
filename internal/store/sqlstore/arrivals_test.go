//go:build unix

package sqlstore_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/activity"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/accounttest"
)

// An old system knows one person. It answers when all logins of a race have asked.
type oldSystem struct {
	externalID string
	logins     int64 // of a race
	asked      atomic.Int64
	all        chan struct{} // closed when they have asked
}

// race has that many logins wait for each other.
func (o *oldSystem) race(n int64) {
	o.logins, o.all = n, make(chan struct{})
	o.asked.Store(0)
}

func (o *oldSystem) Ask(ctx context.Context, _ account.Asker, _ account.Question) (account.Said, error) {
	if o.asked.Add(1) == o.logins {
		close(o.all)
	}
	select {
	case <-o.all:
		return account.Said{Right: true, ExternalID: o.externalID}, nil
	case <-ctx.Done(): // another failed before it asked
		return account.Said{}, ctx.Err()
	}
}

// unlimited counts nothing.
type unlimited struct{ login.Attempts }

func (unlimited) Login(context.Context, ratelimit.Attempt) (t ratelimit.Taken, err error) {
	return t, nil
}
func (unlimited) LoggedIn(context.Context, ratelimit.Taken, idworker.ID) (n ratelimit.Notice) {
	return n
}
func (unlimited) Return(context.Context, ratelimit.Taken)                    {}
func (unlimited) NewDevice(ratelimit.Attempt) (c ratelimit.DeviceCredential) { return c }

// opens counts the logins of each user.
type opens struct {
	login.Sessions
	mu      sync.Mutex
	ids     map[idworker.ID]int
	version int64 // of the password of the last one
}

func (o *opens) Open(_ context.Context, _ audit.Actor, user idworker.ID, version int64, _ *session.Device, _ session.Place) (got session.Opened, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ids[user]++
	o.version = version
	return got, nil
}

// TestTenLoginsOfOneNameMakeOneUser: all of a race begin, one of them writes the user or the hash,
// with one event.
func TestTenLoginsOfOneNameMakeOneUser(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		old, began := &oldSystem{externalID: "7"}, &opens{ids: map[idworker.ID]int{}}
		accounts := &account.Service{Users: w.users, Hasher: accounttest.NewHasher(t), IDs: w.ids, Now: time.Now, Elsewhere: old}
		own := &login.Service{Accounts: accounts, Names: accounts, Users: w.users, Arrivals: w.users, Sessions: began, Attempts: unlimited{}, Counts: &activity.Counter{}, IDs: w.ids, Now: time.Now,
			Log: slog.New(slog.DiscardHandler)}
		here := account.User{ID: w.ids.next(0), Username: "imported", ExternalID: "7b", Role: account.RoleUser, PasswordVersion: 1, CreatedAt: time.Now(), UpdatedAt: time.Now()}
		if err := w.users.Create(t.Context(), here); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"newcomer", "imported"} {
			if name == "imported" {
				old.externalID = "7b"
			}
			old.race(10)
			ctx, stop := context.WithCancel(t.Context())
			var all sync.WaitGroup
			for range 10 {
				all.Go(func() {
					c := &login.Client{By: audit.Actor{Via: audit.ViaAPI}}
					if _, err := own.Login(ctx, c, login.Credentials{Username: name, Password: account.NewPassword("tïny")}); err != nil {
						t.Errorf("%s: %v", name, err)
						stop()
					}
				})
			}
			all.Wait()
			stop()
			u, err := w.users.ByUsername(t.Context(), name)
			if err != nil || began.ids[u.ID] != 10 || old.asked.Load() != 10 || u.ExternalID != old.externalID || !u.BroughtPassword() || u.PasswordHash.IsZero() || name == "imported" && u.ID != here.ID {
				t.Errorf("%s: %+v, %v; logins %v, asked %d times", name, u, err, began.ids, old.asked.Load())
			}
		}
		if n := w.recorded(t, audit.UsersImported); n != 2 {
			t.Errorf("%d events of 2 users", n)
		}
		if n := w.number(t, "SELECT COUNT(*) FROM users WHERE username IN ('newcomer', 'imported')"); n != 2 {
			t.Errorf("%d users", n)
		}
	})
}

// TestAnExternalIDOfAnotherUserIsSaid: the other system calls somebody by another name than this one does, or another
// person by the same name. Nobody logs in, and the log says whose row an operator has to look at.
func TestAnExternalIDOfAnotherUserIsSaid(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		var log bytes.Buffer
		old, began := &oldSystem{}, &opens{ids: map[idworker.ID]int{}}
		accounts := &account.Service{Users: w.users, Hasher: accounttest.NewHasher(t), IDs: w.ids, Now: time.Now, Elsewhere: old}
		own := &login.Service{Accounts: accounts, Names: accounts, Users: w.users, Arrivals: w.users, Sessions: began, Attempts: unlimited{}, Counts: &activity.Counter{}, IDs: w.ids, Now: time.Now,
			Log: slog.New(slog.NewJSONHandler(&log, nil))}
		ids := map[string]idworker.ID{}
		for name, externalID := range map[string]string{"present": "7", "other": "8"} {
			u := account.User{ID: w.ids.next(0), Username: name, ExternalID: externalID, Role: account.RoleUser, PasswordVersion: 1, CreatedAt: time.Now(), UpdatedAt: time.Now()}
			if err := w.users.Create(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			ids[name] = u.ID
		}
		old.externalID = "7"
		for name, owner := range map[string]string{"renamed": "present", "other": "other"} {
			log.Reset()
			old.race(1)
			_, err := own.Login(t.Context(), &login.Client{By: audit.Actor{Via: audit.ViaAPI}}, login.Credentials{Username: name, Password: account.NewPassword("tïny")})
			if !errors.Is(err, account.ErrOtherPerson) || !errors.Is(err, account.ErrElsewhere) || !errors.Is(err, account.ErrUndecided) || len(began.ids) != 0 || old.asked.Load() != 1 {
				t.Errorf("%s: %v, asked %d times", name, err, old.asked.Load())
			}
			if said := log.String(); !strings.Contains(said, `"level":"WARN"`) || !strings.Contains(said, `"user_id":"`+ids[owner].String()+`"`) {
				t.Errorf("%s: the log has %s", name, said)
			}
		}
	})
}

// TestFirstHashIsOfAUserWhoHasNone: what an operator has done to an account since it was read wins.
func TestFirstHashIsOfAUserWhoHasNone(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for name, change := range map[string]string{
			"disabled": "disabled_at = 1", "promoted": "role = 'admin'", "changed": "password_version = 2", "has": "password_hash = '$first'",
		} {
			u := account.User{ID: w.ids.next(0), Username: name, ExternalID: name, Role: account.RoleUser, PasswordVersion: 1, CreatedAt: time.Now(), UpdatedAt: time.Now()}
			if err := w.users.Create(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			w.exec(t, "UPDATE users SET "+change+" WHERE id = ?", int64(u.ID))
			before, err := w.users.ByID(t.Context(), u.ID)
			if err != nil {
				t.Fatal(err)
			}
			u.PasswordHash = account.NewPHC("$another")
			if err := w.users.FirstHash(t.Context(), u, w.eventOf(audit.UsersImported, u.ID)); !errors.Is(err, account.ErrExists) {
				t.Errorf("%s: %v", name, err)
			}
			if after, err := w.users.ByID(t.Context(), u.ID); err != nil || !after.PasswordHash.Equal(before.PasswordHash) || after.ImportedVersion != 0 {
				t.Errorf("%s: %+v, %v", name, after, err)
			}
		}
		if n := w.recorded(t, audit.UsersImported); n != 0 {
			t.Errorf("%d events", n)
		}
	})
}

// TestLinkEndsWithTheFirstHash: a user who was imported and invited logs in with the password of the old system. That is the
// password from then on, and the link sets no other; the login that has shown it begins.
func TestLinkEndsWithTheFirstHash(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		old, began := &oldSystem{externalID: "7"}, &opens{ids: map[idworker.ID]int{}}
		old.race(1)
		accounts := &account.Service{Users: w.users, Hasher: accounttest.NewHasher(t), IDs: w.ids, Now: time.Now, Elsewhere: old}
		own := &login.Service{Accounts: accounts, Names: accounts, Users: w.users, Arrivals: w.users, Sessions: began, Attempts: unlimited{}, Counts: &activity.Counter{}, IDs: w.ids, Now: time.Now,
			Log: slog.New(slog.DiscardHandler)}
		u := account.User{ID: w.ids.next(0), Username: "imported", ExternalID: "7", Role: account.RoleUser, PasswordVersion: 1, CreatedAt: time.Now(), UpdatedAt: time.Now()}
		if err := w.users.Create(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		r := w.reset(t, u.ID)
		if _, err := own.Login(t.Context(), &login.Client{By: audit.Actor{Via: audit.ViaAPI}}, login.Credentials{Username: "imported", Password: account.NewPassword("tïny")}); err != nil {
			t.Fatal(err)
		}
		after, err := w.users.ByID(t.Context(), u.ID)
		if err != nil || began.version != after.PasswordVersion || !after.BroughtPassword() {
			t.Errorf("%+v, %v; the login is of version %d", after, err, began.version)
		}
		if _, _, err := w.users.ByReset(t.Context(), r.Hash, start); !errors.Is(err, account.ErrReset) {
			t.Errorf("ByReset: %v, want ErrReset", err)
		}
		for version := range int64(4) {
			if _, err := w.useAt(t, r, version, "$of the link", start); !errors.Is(err, account.ErrReset) {
				t.Errorf("UseReset of version %d: %v, want ErrReset", version, err)
			}
		}
	})
}
