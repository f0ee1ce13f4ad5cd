//go:build unix

package sqlstore_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// A hundred logins of one user, from four instances whose clocks differ by
// seconds, follow each other in one chain of growing IDs.
func TestLoginVsLogin(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		stop := w.watch(t)
		instances := make([]*world, 4)
		for i := range instances {
			db := open(t, w.options)
			db.SQL().SetMaxOpenConns(8) // each; MariaDB on two cores breaks down when a hundred connections wait for one row
			instances[i] = &world{DB: db, sessions: &sqlstore.Sessions{DB: db}, ids: &minter{skew: time.Duration(i) * time.Second}}
		}
		begun := make([]session.Begun, 100)
		var unsure atomic.Int64
		atOnce(len(begun), func(i int) {
			on := instances[i%len(instances)]
			late, err := untilInTime(t, func() (err error) { begun[i], err = on.login(t.Context(), on.opening(user)); return err })
			if unsure.Add(late); err != nil {
				t.Errorf("login %d: %v", i, err)
			}
		})
		stop()
		w.sound(t)

		// What each one replaced gives the order in which they were committed.
		slices.SortFunc(begun, func(a, b session.Begun) int { return int(sqlstore.One(a.Replaced).ID - sqlstore.One(b.Replaced).ID) })
		var before session.Session
		for i, b := range begun {
			old := sqlstore.One(b.Replaced)
			if (old.ID != before.ID || old.Hash != before.Hash) && (old.ID <= before.ID || unsure.Add(-1) < 0) {
				t.Fatalf("login %d replaced %v, want %v", i, old.ID, before.ID)
			}
			if i > 0 && old.Ended != session.Replaced {
				t.Errorf("login %d: the one before ended as %q", i, old.Ended)
			}
			if b.Session.ID <= before.ID {
				t.Errorf("login %d has ID %d, and came after %d", i, b.Session.ID, before.ID)
			}
			before = b.Session
		}
		r := w.row(t, user)
		if unsure.Load() > 0 {
			return // the last one may be none that was told
		}
		if r.Token.Int64 != int64(before.ID) || r.Floor != int64(sqlstore.One(begun[len(begun)-1].Replaced).ID) {
			t.Errorf("token %d above floor %d, want %d above %d", r.Token.Int64, r.Floor, before.ID, sqlstore.One(begun[len(begun)-1].Replaced).ID)
		}
		for _, b := range begun[:len(begun)-1] {
			if got, err := w.sessions.Get(t.Context(), b.Session.ID, session.Hash{}); err == nil && got.Alive() {
				t.Errorf("%d is alive beside %d", got.ID, before.ID)
			}
		}
	})
}

// untilInTime calls act again while it is too late, as on a busy machine where the last ones
// wait long, and counts how often it was: each of these may be committed all the same.
func untilInTime(t *testing.T, act func() error) (late int64, err error) {
	for err = act(); tooLate(err) && t.Context().Err() == nil; err = act() {
		late++
	}
	return late, err
}

// tooLate: the lock was not to be had in time.
func tooLate(err error) bool {
	const lockWaitTimeout = 1205
	e, ok := errors.AsType[*mysql.MySQLError](err)
	return errors.Is(err, context.DeadlineExceeded) || ok && e.Number == lockWaitTimeout
}

func TestLogoutVsLogin(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		for range 20 {
			old := w.begin(t, user)
			var newer session.Begun
			atOnce(6, func(i int) {
				var err error
				if i == 0 {
					newer, err = w.login(t.Context(), w.opening(user))
				} else {
					_, err = w.sessions.End(t.Context(), logout(old))
				}
				if err != nil {
					t.Errorf("%d: %v", i, err)
				}
			})
			if got, err := w.sessions.Get(t.Context(), newer.Session.ID, session.Hash{}); err != nil || !got.Alive() {
				t.Fatalf("the newer login: %q, %v; an old logout ended it", got.Ended, err)
			}
			if got, err := w.sessions.Get(t.Context(), old.ID, session.Hash{}); err != nil || got.Alive() {
				t.Fatalf("the old login: alive, or %v", err)
			}
		}
		w.sound(t)
	})
}

func TestPasswordChangeVsLogin(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for round := range 10 {
			user := w.user(t, "ada"+string(rune('a'+round)))
			if round%2 == 0 {
				w.begin(t, user)
			}
			var begun [8]session.Begun
			var errs [8]error
			var ended []session.Session
			atOnce(9, func(i int) {
				if i < 8 {
					begun[i], errs[i] = w.login(t.Context(), w.opening(user))
					return
				}
				var err error
				if ended, err = w.newPassword(t.Context(), user, 1, "$second"); err != nil {
					t.Errorf("change of password: %v", err)
				}
			})
			for i, err := range errs {
				if err != nil && !errors.Is(err, account.ErrStale) {
					t.Errorf("login %d: %v", i, err)
				}
				if err == nil && begun[i].Session.ID > sqlstore.One(ended).ID {
					t.Errorf("login %d began with the old password after the change ended %d", begun[i].Session.ID, sqlstore.One(ended).ID)
				}
			}
			if r := w.row(t, user); r.Token.Valid || r.Version != 2 || r.PasswordHash != "$second" {
				t.Errorf("after the change: token %v, version %d, hash %q", r.Token, r.Version, r.PasswordHash)
			}
		}
		w.sound(t)
	})
}

func TestPasswordChangesOnceForEachVersion(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		var won atomic.Int32
		atOnce(9, func(i int) {
			_, err := w.newPassword(t.Context(), user, 1, "$second")
			switch {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, account.ErrStale):
				t.Errorf("%d: %v", i, err)
			}
		})
		if r := w.row(t, user); won.Load() != 1 || r.Version != 2 {
			t.Errorf("%d changes of version 1 won; the version is now %d", won.Load(), r.Version)
		}
	})
}

func TestDisableVsLogin(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for round := range 10 {
			user := w.user(t, "ada"+string(rune('a'+round)))
			atOnce(9, func(i int) {
				if i == 8 {
					if _, err := w.users.Disable(t.Context(), user, start); err != nil {
						t.Errorf("disable: %v", err)
					}
					return
				}
				if _, err := w.login(t.Context(), w.opening(user)); err != nil && !errors.Is(err, account.ErrDisabled) {
					t.Errorf("login %d: %v", i, err)
				}
			})
			if r := w.row(t, user); r.Token.Valid || !r.DisabledAt.Valid {
				t.Errorf("disabled at %v with token %v", r.DisabledAt, r.Token)
			}
		}
		w.sound(t)
	})
}
