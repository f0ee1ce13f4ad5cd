package sessiontest

import (
	"errors"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// reasons are all that a session can end for.
var reasons = []session.Reason{
	session.LoggedOut, session.Replaced, session.Revoked, session.PasswordChanged,
	session.Disabled, session.Expired, session.Idle,
}

func unknown(t *testing.T, w *world) {
	user, _ := w.AddUser(t)
	id := w.mint(0)
	for range 3 {
		if _, err := w.Store.Get(t.Context(), id, session.Hash{}); !errors.Is(err, session.ErrNotFound) {
			t.Fatalf("Get of an unknown session: %v, want ErrNotFound", err)
		}
	}
	// An attacker guessed the ID before it was minted. Its owner does not suffer.
	token := flakepass.NewToken(flakepass.ID(id))
	_, err := w.Writer.Begin(t.Context(), session.Opening{
		ID: id, Hash: session.HashOf(token), UserID: user, PasswordVersion: 1, Seen: time.Now(),
	})
	if err != nil {
		t.Fatalf("Begin: %v", err)
	}
	if got, err := w.Store.Get(t.Context(), id, session.HashOf(token)); err != nil || !got.Alive() {
		t.Errorf("Get once it began: ended %q, error %v; want it alive", got.Ended, err)
	}
}

func begun(t *testing.T, w *world) {
	user, name := w.AddUser(t)
	// Later than its ID says that it was issued: a store may hold that nobody is
	// seen before that.
	seen := time.Now().Add(time.Second).Truncate(time.Millisecond)
	l, err := w.begin(t.Context(), user, seen)
	if err != nil {
		t.Fatalf("Begin: %v", err)
	}
	check := func(what string, got session.Session) {
		t.Helper()
		if got.UserID != user || got.Username != name || got.Role != "user" || got.ID != l.id() || !got.Alive() {
			t.Errorf("%s: %v of user %v (%s, %s), ended %q; want %v of user %v (%s, user), alive",
				what, got.ID, got.UserID, got.Username, got.Role, got.Ended, l.id(), user, name)
		}
		if want := session.HashOf(l.token); got.Hash != want {
			t.Errorf("%s: not the hash of its token", what)
		}
		if got.Device.ClassName() != "tablet" {
			t.Errorf("%s: of class %s, want tablet", what, got.Device.ClassName())
		}
		if got.Auth == nil || *got.Auth != bySMS {
			t.Errorf("%s: its user was authenticated by %+v, want %+v", what, got.Auth, bySMS)
		}
		if !got.Seen.Equal(seen) {
			t.Errorf("%s: seen %v, want %v", what, got.Seen, seen)
		}
		// In a shared memory an as-of has whole milliseconds.
		if first, last := l.from.Truncate(time.Millisecond), time.Now(); got.AsOf.Before(first) || got.AsOf.After(last) {
			t.Errorf("%s: as of %v, want between %v and %v", what, got.AsOf, first, last)
		}
	}
	check("Begin", l.Session)
	if len(l.Replaced) != 0 {
		t.Errorf("the first login replaced %v, want none", l.Replaced)
	}
	for _, what := range []string{"first Get", "second Get", "third Get"} {
		got, err := w.Store.Get(t.Context(), l.id(), l.hash())
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		check(what, got)
	}
}

func replaced(t *testing.T, w *world) {
	first := w.user(t)
	w.wantAlive(t, first) // so that every tier knows it
	second, err := w.begin(t.Context(), first.Session.UserID, time.Now())
	if err != nil {
		t.Fatalf("Begin: %v", err)
	}
	if len(second.Replaced) != 1 {
		t.Fatalf("Begin replaced %d sessions, want 1", len(second.Replaced))
	}
	old := second.Replaced[0]
	if want := session.HashOf(first.token); old.ID != first.id() || old.Ended != session.Replaced ||
		old.UserID != first.Session.UserID || old.Hash != want {
		t.Errorf("Begin replaced %v of %v, ended %q; want %v of %v, replaced, with its hash",
			old.ID, old.UserID, old.Ended, first.id(), first.Session.UserID)
	}
	w.hear(t, old)
	w.wantEnded(t, first, session.Replaced)
	w.wantAlive(t, second)
}

func ended(t *testing.T, w *world) {
	for _, why := range reasons {
		for _, known := range []string{"known", "never asked for"} {
			l := w.user(t)
			if known == "known" {
				w.wantAlive(t, l)
			}
			s := w.end(t, l, why)
			if s.Ended != why || s.ID != l.id() || s.UserID != l.Session.UserID {
				t.Errorf("End: %v of %v, ended %q; want %v of %v, ended %q", s.ID, s.UserID, s.Ended, l.id(), l.Session.UserID, why)
			}
			w.hear(t, s)
			w.wantEnded(t, l, why)
			if err := w.Store.Touch(t.Context(), l.id(), time.Now().Add(time.Hour)); err != nil {
				t.Errorf("Touch of an ended session: %v", err)
			}
			w.settle(t)
			w.wantEnded(t, l, why)
			w.hear(t, s)
			w.wantEnded(t, l, why)
		}
	}
}

func outOfOrder(t *testing.T, w *world) {
	first := w.user(t)
	w.wantAlive(t, first)
	user := first.Session.UserID
	second, err := w.begin(t.Context(), user, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	w.wantAlive(t, second)
	over := w.end(t, second, session.LoggedOut)
	w.hear(t, over)
	w.hear(t, second.Replaced...) // the older end arrives last
	w.hear(t, over)
	w.hear(t, second.Replaced...)
	w.wantDead(t, first)
	w.wantEnded(t, second, session.LoggedOut)
	third := w.login(t, user)
	w.wantAlive(t, third)
	w.hear(t, over)
	w.hear(t, second.Replaced...)
	w.wantAlive(t, third)
	w.wantDead(t, first)
	w.wantDead(t, second)
}

func oldEnd(t *testing.T, w *world) {
	first := w.user(t)
	w.wantAlive(t, first)
	second := w.login(t, first.Session.UserID)
	w.wantAlive(t, second)
	s := w.end(t, first, session.LoggedOut)
	if s.ID != first.id() || s.Ended != session.Replaced {
		t.Errorf("End of a replaced session: %v, ended %q; want %v, replaced", s.ID, s.Ended, first.id())
	}
	w.hear(t, s)
	w.wantAlive(t, second)
	w.wantEnded(t, first, session.Replaced)
}

func wrongHash(t *testing.T, w *world) {
	l := w.user(t)
	guess := session.Ending{ID: l.id(), Hash: session.HashOf(flakepass.NewToken(flakepass.ID(l.id()))), Reason: session.LoggedOut}
	if _, err := w.Writer.End(t.Context(), guess); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("End with another hash: %v, want ErrNotFound", err)
	}
	w.wantAlive(t, l)
	w.hear(t, w.end(t, l, session.LoggedOut))
	if _, err := w.Writer.End(t.Context(), guess); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("End of an ended session with another hash: %v, want ErrNotFound", err)
	}
}

func endTwice(t *testing.T, w *world) {
	l := w.user(t)
	if first := w.end(t, l, session.LoggedOut); first.Before {
		t.Error("first End: says that it had ended before")
	}
	s := w.end(t, l, session.Revoked)
	if s.Ended != session.LoggedOut || !s.Before {
		t.Errorf("second End: ended %q, before: %v; want %q, before", s.Ended, s.Before, session.LoggedOut)
	}
	w.hear(t, s) // the instance that ended it first may have died before it published this
	w.wantEnded(t, l, session.LoggedOut)
}

func endUser(t *testing.T, w *world) {
	l := w.user(t)
	w.wantAlive(t, l)
	all := session.Ending{UserID: l.Session.UserID, Reason: session.Revoked}
	if kept, err := w.Writer.EndUser(t.Context(), all, l.id()); err != nil || len(kept) != 0 {
		t.Fatalf("EndUser of all but the one session: %v, error %v; want none", kept, err)
	}
	w.wantAlive(t, l)
	ended, err := w.Writer.EndUser(t.Context(), all, 0)
	if err != nil || len(ended) != 1 || ended[0].ID != l.id() || ended[0].Ended != session.Revoked || ended[0].Before {
		t.Fatalf("EndUser: %+v, error %v; want %v, revoked", ended, err, l.id())
	}
	w.hear(t, ended...)
	w.wantEnded(t, l, session.Revoked)
	again, err := w.Writer.EndUser(t.Context(), all, 0)
	if !errors.Is(err, session.ErrNotFound) && (err != nil || len(again) != 1 || !again[0].Before) {
		t.Errorf("EndUser of a user without a session: %+v, %v; want ErrNotFound, or the session that had ended before", again, err)
	}
	if _, err := w.Writer.End(t.Context(), session.Ending{ID: w.mint(0), Reason: session.Revoked}); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("End of an unknown session: %v, want ErrNotFound", err)
	}
}

func failedBegin(t *testing.T, w *world) {
	l := w.user(t)
	for _, id := range []idworker.ID{0, l.id() - 1, l.id()} {
		o := session.Opening{ID: id, UserID: l.Session.UserID, PasswordVersion: 1, Seen: time.Now()}
		_, err := w.Writer.Begin(t.Context(), o)
		if refused, ok := errors.AsType[*session.IDError](err); !ok || refused.Above < l.id() {
			t.Errorf("Begin with the ID %v after %v: %v, want an IDError of one that is not less", id, l.id(), err)
		}
		o.PasswordVersion = 2
		if _, err := w.Writer.Begin(t.Context(), o); err == nil || errors.As(err, new(*session.IDError)) {
			t.Errorf("Begin with another password's version: %v, want a refusal, whatever the ID is", err)
		}
	}
	w.wantAlive(t, l)
}
