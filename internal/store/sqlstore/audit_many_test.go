//go:build unix

package sqlstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// TestAnActorIsWrittenByName, also one whom a token alone has named, by an ID: a filter by
// the name finds what an admin tried for a user.
func TestAnActorIsWrittenByName(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		record, root := &sqlstore.Audit{DB: w.DB}, w.admin(t, "root")
		if err := record.AppendAll(t.Context(), []audit.Event{
			{ID: w.ids.next(0), By: audit.Actor{ID: root, Via: audit.ViaAPI}, Action: audit.AccessForbidden},
			{ID: w.ids.next(0), By: audit.Actor{Via: audit.ViaAPI}, Action: audit.LoginFailed},
		}); err != nil {
			t.Fatal(err)
		}
		if found, err := record.List(t.Context(), audit.Filter{ActorName: "root", Limit: 9}); err != nil || len(found) != 1 || found[0].By.ID != root {
			t.Errorf("%+v, %v", found, err)
		}
	})
}

// TestManyEventsAreWrittenAllOrNone, in more statements than one.
func TestManyEventsAreWrittenAllOrNone(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		record := &sqlstore.Audit{DB: w.DB}
		var many []audit.Event
		for range 250 {
			many = append(many, audit.Event{ID: w.ids.next(0), By: audit.Actor{Via: audit.ViaAPI, Address: "192.0.2.1"}, Action: audit.LoginFailed,
				Target: audit.AboutUser(7, "ada"), Reason: "credentials_invalid", New: []byte(`{"count":3}`)})
		}
		broken := append([]audit.Event{}, many...)
		broken[249].Action = audit.Action(strings.Repeat("x", 49)) // longer than the schema has room for
		if w.Dialect() != "sqlite" {                               // which has no such limits
			if err := record.AppendAll(t.Context(), broken); err == nil {
				t.Error("an event that cannot be written: no error")
			}
			if n := w.number(t, "SELECT COUNT(*) FROM audit_events"); n != 0 {
				t.Fatalf("%d of them were written", n)
			}
		}
		if err := record.AppendAll(t.Context(), many); err != nil {
			t.Fatal(err)
		}
		events, err := record.List(t.Context(), audit.Filter{Action: audit.LoginFailed, TargetName: "ada", Limit: 1000})
		if err != nil || len(events) != 250 || string(events[0].New) != `{"count":3}` || events[0].ID != many[249].ID || events[249].ID != many[0].ID {
			t.Fatalf("%d events, %v", len(events), err)
		}
	})
}

// TestPurgeOfTheRecordTakesTheOldestAndWaitsForNobody: whoever writes an event
// meanwhile, in a transaction that is still open, does not hold it up.
func TestPurgeOfTheRecordTakesTheOldestAndWaitsForNobody(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		record := &sqlstore.Audit{DB: w.DB}
		l := idworker.Default()
		old := l.Smallest(time.Now().Add(-500 * 24 * time.Hour))
		var many []audit.Event
		for i := range 30 {
			many = append(many, audit.Event{By: shell, ID: old + idworker.ID(i), Action: audit.LoginBegan})
		}
		many = append(many, audit.Event{By: shell, ID: w.ids.next(0), Action: audit.PolicyChanged})
		if err := record.AppendAll(t.Context(), many); err != nil {
			t.Fatal(err)
		}
		if w.Dialect() != "sqlite" { // which has one writer
			tx, err := w.SQL().BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback() }()
			insert, args := sqlstore.InsertOf(audit.Event{By: shell, ID: w.ids.next(0), Action: audit.LoginBegan})
			if _, err := tx.ExecContext(t.Context(), insert, args...); err != nil {
				t.Fatal(err)
			}
		}
		if now, err := record.Clock(t.Context()); err != nil || time.Since(now).Abs() > time.Minute {
			t.Errorf("the clock of the database shows %v; %v", now, err)
		}
		before := l.Smallest(time.Now().Add(-400 * 24 * time.Hour))
		for _, want := range []int{20, 10, 0} {
			if n, err := record.DeleteBefore(t.Context(), before, 20); err != nil || n != want {
				t.Fatalf("deleted %d, want %d; %v", n, want, err)
			}
		}
		if n := w.number(t, "SELECT COUNT(*) FROM audit_events"); n != 1 {
			t.Errorf("%d events are left, want the new one", n)
		}
	})
}

// TestRecordedBeginIsThereWithItsEventOrNotAtAll: no login without its event, and
// the one before lives on.
func TestRecordedBeginIsThereWithItsEventOrNotAtAll(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ada := w.user(t, "ada")
		before := w.begin(t, ada)
		rule := policy.Default()
		opening := w.opening(ada)
		opening.Record = &session.Record{By: audit.Actor{Via: strings.Repeat("x", 99)}, Need: audit.NeedsNothing, Policy: &rule, Now: start}
		if begun, err := w.login(t.Context(), opening); err == nil {
			t.Errorf("an event that cannot be written: begun %+v", begun)
		}
		if got, err := w.sessions.Get(t.Context(), before.ID, session.Hash{}); err != nil || !got.Alive() {
			t.Fatalf("after an event that could not be written: %+v, %v; want the login before alive", got, err)
		}
		opening.Record.By = shell
		begun, err := w.login(t.Context(), opening)
		if err != nil || sqlstore.One(begun.Replaced).ID != before.ID {
			t.Fatalf("%+v, %v", begun, err)
		}
		events, err := (&sqlstore.Audit{DB: w.DB}).List(t.Context(), audit.Filter{Target: begun.Session.ID, Limit: 10})
		if err != nil || len(events) != 1 || events[0].ID != begun.Session.ID || events[0].Target.Name != "ada" {
			t.Errorf("events %+v, %v", events, err)
		}
	})
}
