//go:build unix

package sqlstore_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// revocation is an event of an end, as a door makes it.
func revocation(w *world, s session.Session) audit.Event {
	return audit.Event{ID: w.ids.next(0), By: shell, Action: audit.LoginEnded,
		Target: audit.Target{Kind: "login", ID: s.ID}}
}

// made is an event that is there already, but for the name of the user.
func made(e audit.Event) func(session.Session) (audit.Event, error) {
	return func(s session.Session) (audit.Event, error) { e.Target.Name = s.Username; return e, nil }
}

func (w *world) endings(t *testing.T) []audit.Event {
	t.Helper()
	events, err := (&sqlstore.Audit{DB: w.DB}).List(t.Context(), audit.Filter{Action: audit.LoginEnded, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// TestRecordedEndIsThereWithItsEventOrNotAtAll: neither an end without a record,
// nor a record of what somebody else had ended, or nobody.
func TestRecordedEndIsThereWithItsEventOrNotAtAll(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.begin(t, w.user(t, "ada"))
		e := session.Ending{ID: s.ID, Hash: s.Hash, Reason: session.Revoked}

		broken := revocation(w, s)
		broken.Action = audit.Action(strings.Repeat("x", 49)) // longer than the schema has room for
		if _, err := w.sessions.EndRecorded(t.Context(), e, made(broken)); err == nil {
			t.Error("an event that cannot be written: no error")
		}
		if got, err := w.sessions.Get(t.Context(), s.ID); err != nil || !got.Alive() {
			t.Fatalf("after an event that could not be written: %+v, %v; want it alive", got, err)
		}

		wrong := e
		wrong.Hash[32]++
		if _, err := w.sessions.EndRecorded(t.Context(), wrong, made(revocation(w, s))); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("with another hash: %v, want ErrNotFound", err)
		}
		if events := w.endings(t); len(events) != 0 {
			t.Fatalf("nothing ended, and there are %+v", events)
		}

		event := revocation(w, s)
		ended, err := w.sessions.EndRecorded(t.Context(), e, made(event))
		if err != nil || ended.Ended != session.Revoked || ended.Before || ended.ID != s.ID {
			t.Fatalf("EndRecorded: %+v, %v", ended, err)
		}
		again, err := w.sessions.EndRecorded(t.Context(), e, made(revocation(w, s)))
		if err != nil || !again.Before || again.Ended != session.Revoked {
			t.Errorf("EndRecorded again: %+v, %v; want it over before", again, err)
		}
		events := w.endings(t)
		if len(events) != 1 || events[0].ID != event.ID || events[0].By != shell ||
			events[0].Target != (audit.Target{Kind: "login", ID: s.ID, Name: "ada"}) {
			t.Errorf("events %+v, want one, of ada's login", events)
		}
	})
}

// TestRecordedEndsAtOnceAreRecordedOnce: of many who end one login, one did.
func TestRecordedEndsAtOnceAreRecordedOnce(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.begin(t, w.user(t, "ada"))
		e := session.Ending{ID: s.ID, Hash: s.Hash, Reason: session.Revoked}
		const n = 8
		before := make([]bool, n)
		events := make([]audit.Event, n)
		for i := range events {
			events[i] = revocation(w, s)
		}
		atOnce(n, func(i int) {
			ended, err := w.sessions.EndRecorded(t.Context(), e, made(events[i]))
			if err != nil {
				t.Error(err)
			}
			before[i] = ended.Before
		})
		winners := []idworker.ID{}
		for i, was := range before {
			if !was {
				winners = append(winners, events[i].ID)
			}
		}
		kept := w.endings(t)
		if len(kept) != 1 || len(winners) != 1 || kept[0].ID != winners[0] {
			t.Errorf("ended by %v, recorded %+v; want the one", winners, kept)
		}
	})
}
