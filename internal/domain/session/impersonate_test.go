package session_test

import (
	"errors"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// actedFor makes the session of w an impersonation that began that long ago.
func (w *world) actedFor(age time.Duration) {
	issued := w.now.Add(-age)
	w.token = flakepass.NewToken(flakepass.ID(idworker.Default().Smallest(issued)))
	of := func(s *session.Session) {
		s.ID, s.Hash, s.Act, s.Slot, s.Seen = session.IDOf(w.token), session.HashOf(w.token), 7, session.SlotOfAct, issued
	}
	w.near.change(of)
	w.truth.change(of)
}

// TestAnImpersonationIsOverAfterAnHour, or earlier by a shorter policy, whether or not it was
// used: no use is noted, also near its end.
func TestAnImpersonationIsOverAfterAnHour(t *testing.T) {
	short := policy.Default()
	short.Absolute, short.Idle = 10*time.Minute, 5*time.Minute
	for _, c := range []struct {
		rule policy.Policy
		most time.Duration
	}{{policy.Default(), time.Hour}, {short, 10 * time.Minute}} {
		for _, age := range []time.Duration{0, c.most / 2, c.most - 5*time.Second, c.most - time.Millisecond, c.most, 2 * c.most} {
			w := newWorld(t)
			w.service.Policy = policy.Fixed(c.rule)
			w.actedFor(age)
			got, err := w.service.Verify(t.Context(), w.token)
			used, failed := w.service.Used(t.Context(), session.Use{ID: session.IDOf(w.token), Hash: session.HashOf(w.token), At: w.now})
			if age >= c.most {
				refusedWith(t, err, flakepass.ErrExpired)
				if used || failed != nil {
					t.Errorf("%v of %v: used %v, %v", age, c.most, used, failed)
				}
				continue
			}
			end := w.now.Add(c.most - age)
			if err != nil || !used || failed != nil || got.Act != 7 || !got.ExpiresAt.Equal(end) || !got.IdleExpiresAt.Equal(end) || !got.LastSeenAt.Equal(got.IssuedAt) {
				t.Errorf("%v of %v: %+v, %v, used %v, %v", age, c.most, got, err, used, failed)
			}
			w.wantCalls(t, "near.Get near.Get ")
		}
	}
}

// TestAnImpersonationInLists: it is over after its hour, and no override has set its time.
func TestAnImpersonationInLists(t *testing.T) {
	w := newWorld(t)
	rule := policy.Default()
	rule.Overrides = []policy.Override{{Scope: policy.Scope{Role: "user"}, Absolute: 2 * time.Hour}}
	rule = w.rule().Succeed(rule, w.now)
	for age, lives := range map[time.Duration]bool{59 * time.Minute: true, time.Hour: false} {
		w.actedFor(age)
		if l, ok := session.LoginOf(w.near.s, &rule, w.now); ok != lives || !l.ExpiresAt.Equal(w.now.Add(time.Hour-age)) || l.ExpiresBy != (policy.Scope{}) {
			t.Errorf("%v: %+v, %v", age, l, ok)
		}
	}
}

// TestImpersonateAsksTheWriter with the admin, the need and the reason, also where logins are
// not on record; and says what it was told.
func TestImpersonateAsksTheWriter(t *testing.T) {
	w := newWorld(t)
	root := audit.Actor{ID: 7, Session: 8, Name: "root", Via: audit.ViaAPI}
	opened, err := w.service.Impersonate(t.Context(), session.Act{User: 42, By: root, Need: audit.NeedsProof, Reason: "ticket 7"})
	o := w.rows.tried[len(w.rows.tried)-1]
	if err != nil || o.Act != 7 || o.UserID != 42 || o.Record == nil || o.Record.By != root || o.Record.Need != audit.NeedsProof || o.Record.Reason != "ticket 7" || o.Hash != session.HashOf(opened.Token) {
		t.Fatalf("%+v, %v", o, err)
	}
	e, err := o.Event(session.Begun{Session: session.Session{ID: o.ID, UserID: 42, Username: "ada", Act: 7}, Replaced: []session.Session{{ID: 5, Act: 9, Ended: session.Replaced}}})
	if err != nil || e.By != root || e.Action != audit.ImpersonationBegan || e.Target != audit.AboutUser(42, "ada") || e.Reason != "ticket 7" || e.Need != audit.NeedsProof {
		t.Errorf("event %+v, %v", e, err)
	}
	w.rows.err = session.ErrNotUser
	if _, err := w.service.Impersonate(t.Context(), session.Act{User: 42, By: root}); !errors.Is(err, session.ErrNotUser) {
		t.Errorf("got %v", err)
	}
	w.known.clock = time.Time{}
	if _, err := w.service.Impersonate(t.Context(), session.Act{User: 42, By: root}); err == nil {
		t.Error("by no clock")
	}
}

// TestAnImpersonationIsEndedWithoutAProof by its user: that locks nobody out.
func TestAnImpersonationIsEndedWithoutAProof(t *testing.T) {
	o, s := newOwner()
	o.held[1].Act, o.held[1].Slot = 7, session.SlotOfAct
	o.denied[audit.NeedsOwnProof] = audit.ErrUnproven
	ended, err := s.EndOwn(t.Context(), here, owned(2*time.Hour))
	if err != nil || ended.ID != owned(2*time.Hour) || o.endings[0].Record.Need != audit.NeedsLogin {
		t.Errorf("%+v, %v, %+v", ended, err, o.endings)
	}
}

// TestAnOverrideIsNamedWhereItEndsAnImpersonation: one of less than an hour does, and no other.
func TestAnOverrideIsNamedWhereItEndsAnImpersonation(t *testing.T) {
	now := time.Now()
	id := idworker.Default().Smallest(now)
	for lifetime, want := range map[time.Duration]policy.Scope{10 * time.Minute: {Role: "user"}, 2 * time.Hour: {}} {
		next := policy.Default()
		next.Overrides = []policy.Override{{Scope: policy.Scope{Role: "user"}, Idle: 5 * time.Minute, Absolute: lifetime}}
		inForce := policy.Default()
		rule := inForce.Succeed(next, now.Add(-time.Hour))
		l, lives := session.LoginOf(session.Session{ID: id, UserID: 7, Role: "user", Act: 5, Slot: session.SlotOfAct, Seen: idworker.Default().Time(id)}, &rule, now)
		if !lives || l.ExpiresBy != want || l.IdleBy != (policy.Scope{}) || !l.ExpiresAt.Equal(l.IssuedAt.Add(min(lifetime, session.ActLife))) || !l.IdleExpiresAt.Equal(l.ExpiresAt) {
			t.Errorf("%v: lives %v, %+v", lifetime, lives, l)
		}
	}
}
