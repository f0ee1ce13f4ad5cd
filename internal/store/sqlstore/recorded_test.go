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

		e.Record = w.byShell()
		e.Record.By.Via = strings.Repeat("x", 99) // longer than the schema has room for
		if _, err := w.sessions.End(t.Context(), e); err == nil {
			t.Error("an event that cannot be written: no error")
		}
		if got, err := w.sessions.Get(t.Context(), s.ID, session.Hash{}); err != nil || !got.Alive() {
			t.Fatalf("after an event that could not be written: %+v, %v; want it alive", got, err)
		}

		e.Record = w.byShell()
		wrong := e
		wrong.Hash[32]++
		if _, err := w.sessions.End(t.Context(), wrong); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("with another hash: %v, want ErrNotFound", err)
		}
		if events := w.endings(t); len(events) != 0 {
			t.Fatalf("nothing ended, and there are %+v", events)
		}

		ended, err := w.sessions.End(t.Context(), e)
		if err != nil || ended.Ended != session.Revoked || ended.Before || ended.ID != s.ID {
			t.Fatalf("End: %+v, %v", ended, err)
		}
		e.Record = w.byShell()
		again, err := w.sessions.End(t.Context(), e)
		if err != nil || !again.Before || again.Ended != session.Revoked {
			t.Errorf("End again: %+v, %v; want it over before", again, err)
		}
		events := w.endings(t)
		if len(events) != 1 || events[0].ID >= e.Record.ID || events[0].By != shell ||
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
		records := make([]*session.Record, n)
		for i := range records {
			records[i] = w.byShell()
		}
		atOnce(n, func(i int) {
			mine := e
			mine.Record = records[i]
			ended, err := w.sessions.End(t.Context(), mine)
			if err != nil {
				t.Error(err)
			}
			before[i] = ended.Before
		})
		winners := []idworker.ID{}
		for i, was := range before {
			if !was {
				winners = append(winners, records[i].ID)
			}
		}
		kept := w.endings(t)
		if len(kept) != 1 || len(winners) != 1 || kept[0].ID != winners[0] {
			t.Errorf("ended by %v, recorded %+v; want the one", winners, kept)
		}
	})
}
