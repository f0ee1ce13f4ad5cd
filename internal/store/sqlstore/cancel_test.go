//go:build unix

package sqlstore_test

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

// changes are all that a request or the sweep may do to a user's row.
func (w *world) changes(user idworker.ID, s session.Session) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Begin": func(ctx context.Context) error { _, err := w.login(ctx, w.opening(user)); return err },
		"End":   func(ctx context.Context) error { _, err := w.sessions.End(ctx, logout(s)); return err },
		"ChangePassword": func(ctx context.Context) error {
			_, err := w.newPassword(ctx, user, 1, "$second")
			return err
		},
		"Disable": func(ctx context.Context) error { _, err := w.users.Disable(ctx, user, start); return err },
		"Touch":   func(ctx context.Context) error { return w.sessions.Touch(ctx, s.ID, s.Seen.Add(24*time.Hour)) },
		"Sweep": func(ctx context.Context) error {
			_, err := w.clear(ctx, time.Now().Add(time.Hour), longAgo, 10)
			return err
		},
	}
}

func TestCancelledChangesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		s := w.begin(t, user)
		before := w.row(t, user)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		for name, change := range w.changes(user, s) {
			if err := change(over); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v, want context.Canceled", name, err)
			}
		}
		// Half-way through a login, when the old one is about to end.
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		undo := w.afterCheck(t, cancel)
		if _, err := w.login(ctx, w.opening(user)); !errors.Is(err, context.Canceled) {
			t.Errorf("Begin, cancelled half-way: %v, want context.Canceled", err)
		}
		undo()
		if diff := cmp.Diff(w.row(t, user), before); diff != "" {
			t.Errorf("the row changed:\n%s", diff)
		}
		// The connections that were cut off are of no harm to who comes next.
		w.begin(t, user)
	})
}

// A row that somebody holds for long is an error in time, and never "no such
// session".
func TestHeldRowIsAnErrorInTime(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		s := w.begin(t, user)
		before := w.row(t, user)
		other := open(t, w.options)
		tx, err := other.SQL().BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), "UPDATE users SET role = 'admin' WHERE id = ?", int64(user)); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for name, change := range w.changes(user, s) {
			all.Go(func() {
				begin := time.Now()
				err := change(t.Context())
				// The next pass finds the row again, and the use is tried again.
				passed := (name == "Sweep" || name == "Touch") && w.Dialect() == migrations.MySQL
				if err == nil && !passed || errors.Is(err, session.ErrNotFound) || errors.Is(err, account.ErrNotFound) {
					t.Errorf("%s of a held row: %v", name, err)
				}
				// Only what does not give up at all takes so long.
				const limit = 10 * sqlstore.SlowestChange
				if took := time.Since(begin); took > limit {
					t.Errorf("%s gave up only after %v", name, took)
				}
			})
		}
		if got, err := w.sessions.Get(t.Context(), s.ID, session.Hash{}); err != nil || !got.Alive() {
			t.Errorf("Get of a held row: %v, %v; want what is committed", got.Ended, err)
		}
		all.Wait()
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
		w.begin(t, user)
		after := w.row(t, user)
		if after.Version != before.Version || after.DisabledAt != before.DisabledAt {
			t.Errorf("what failed was done later: %+v", after)
		}
	})
}

// What waits for a file that another process writes to goes when its context
// does, and not when SQLite has waited long enough: before somebody who began
// to wait earlier, for as long as a change may take.
func TestBusyFileIsLeftWhenTheContextEnds(t *testing.T) {
	onSQLite(t, func(t *testing.T, w *world) { // only SQLite waits without looking at the context
		user := w.user(t, "ada")
		s := w.begin(t, user)
		other := open(t, w.options)
		tx, err := other.SQL().BeginTx(t.Context(), nil) // holds the write lock
		if err != nil {
			t.Fatal(err)
		}
		patient, err := open(t, w.options).SQL().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer patient.Close()
		if _, err := patient.ExecContext(t.Context(), "PRAGMA busy_timeout = "+strconv.FormatInt(sqlstore.SlowestChange.Milliseconds(), 10)); err != nil {
			t.Fatal(err)
		}
		waited := make(chan struct{})
		go func() { _, _ = patient.ExecContext(t.Context(), "BEGIN IMMEDIATE"); close(waited) }()

		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { _, err := w.sessions.End(ctx, logout(s)); done <- err }()
		for !w.Taken() {
			runtime.Gosched()
		}
		cancel()
		select {
		case err := <-done:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("End: %v, want context.Canceled", err)
			}
		case <-waited:
			t.Error("End still waits, and who has waited for longer has given up")
		}
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
		<-waited
		if _, err := w.sessions.Get(t.Context(), s.ID, session.Hash{}); err != nil {
			t.Error(err)
		}
	})
}
