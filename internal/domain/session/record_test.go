package session_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// ada is who acts in these tests, if nothing else is said.
var ada = audit.Actor{Via: audit.ViaAPI, RequestID: "r7"}

// TestALoginIsOnRecordWithTheOneItEnded: its event has the ID of the login, and says
// what ended for it; what the policy had ended before is on record as that.
func TestALoginIsOnRecordWithTheOneItEnded(t *testing.T) {
	for _, c := range []struct {
		was  func(*world)
		want string
	}{
		{func(*world) {}, `{"session_id":"%","reason":"replaced"}`},
		{func(w *world) { w.rows.s.Seen = w.now.Add(-w.rule().Idle) }, `{"session_id":"%","reason":"idle"}`},
		{func(w *world) { w.rows.s = session.Session{} }, ""},
	} {
		device := session.DeviceOf("phone", "Ada’s phone")
		w := newWorld(t)
		w.service.Recorded = true
		c.was(w)
		opened, err := w.service.Open(t.Context(), ada, 42, 7, device, session.Place{})
		if err != nil {
			t.Fatal(err)
		}
		o, id := w.rows.tried[0], idworker.ID(opened.Identity.SessionID)
		begun := session.Begun{Session: session.Session{ID: id, UserID: 42, Username: "ada", Device: device}}
		if old := w.rows.s; old.ID != 0 {
			old.Ended = session.Replaced
			begun.Replaced = []session.Session{old}
		}
		e, err := o.Event(begun)
		if err != nil || e.ID != id || e.Action != audit.LoginBegan || e.Need != audit.NeedsNothing || e.Target != audit.AboutLogin(id, "ada") ||
			e.By != (audit.Actor{ID: 42, Name: "ada", Via: audit.ViaAPI, RequestID: "r7"}) || string(e.Old) != with(c.want, w.rows.s.ID) ||
			string(e.New) != `{"device_class":"phone","device_name":"Ada’s phone"}` {
			t.Errorf("event %+v, old %s, new %s, %v; want old %s", e, e.Old, e.New, err, c.want)
		}
	}
}

// TestALogoutIsOnRecordAsWhatItWas: as an end by its holder, or by the policy.
func TestALogoutIsOnRecordAsWhatItWas(t *testing.T) {
	for _, c := range []struct {
		idle   time.Duration
		action audit.Action
		want   string
	}{
		{0, audit.LoginLoggedOut, ""},
		{400 * 24 * time.Hour, audit.LoginExpired, `{"session_id":"%","reason":"idle"}`},
	} {
		w := newWorld(t)
		w.service.Recorded = true
		w.rows.s.Seen = w.now.Add(-c.idle)
		was := w.rows.s
		if _, err := w.service.Close(t.Context(), ada, w.token); err != nil {
			t.Fatal(err)
		}
		e, err := w.rows.ending.Event(was)
		if err != nil || e.ID == 0 || e.Action != c.action || e.Need != audit.NeedsNothing || e.Target != audit.AboutLogin(was.ID, "ada") ||
			e.By != (audit.Actor{ID: 42, Name: "ada", Via: audit.ViaAPI, RequestID: "r7"}) || string(e.New) != with(c.want, was.ID) {
			t.Errorf("event %+v, new %s, %v; want %s", e, e.New, err, c.want)
		}
	}
}

// TestALogoutThatIsNotRecordedNeedsNoIDOfItsOwn: it is a promise about the token.
func TestALogoutThatIsNotRecordedNeedsNoIDOfItsOwn(t *testing.T) {
	w := newWorld(t)
	w.service.EventIDs = minter{}
	if _, err := w.service.Close(t.Context(), ada, w.token); err != nil || w.rows.ending.Record != nil {
		t.Errorf("Close: %v, record %+v", err, w.rows.ending.Record)
	}
}

// with is text with that ID in the place of %.
func with(text string, id idworker.ID) string { return strings.ReplaceAll(text, "%", id.String()) }

// TestEndOfAnAdminNamesNobodyElse: no purge of those for whom the admin acted finds this event.
func TestEndOfAnAdminNamesNobodyElse(t *testing.T) {
	own := session.Session{ID: 50, UserID: 7, Username: "root", Role: "admin"}
	of := session.Session{ID: 60, UserID: 8, Username: "zebulon", Role: "user", Slot: session.SlotOfAct, Act: 7}
	e := session.Ending{UserID: 7, Reason: session.LoggedOut, Record: &session.Record{ID: 99, By: audit.Actor{ID: 7, Session: 50, Name: "root", Via: audit.ViaAPI}, Need: audit.NeedsLogin, Reason: session.Everywhere}}
	for _, was := range [][]session.Session{{own, of}, {of}} {
		event, err := e.EventOfUser(was)
		if old := string(event.Old); err != nil || strings.Contains(old, "zebulon") || !strings.Contains(old, `"session_id":"60","user_id":"8"`) {
			t.Errorf("%d sessions: %s, %v", len(was), old, err)
		}
	}
}

// TestNoEndFailsForItsRecord: however many sessions end, and whatever their devices are called.
func TestNoEndFailsForItsRecord(t *testing.T) {
	p := policy.Default()
	for _, n := range []int{1, 2, 8, 31, 40, 60, 5000} {
		was := make([]session.Session, n)
		for i := range was {
			id := idworker.ID(1<<62 + i)
			was[i] = session.Session{
				ID: id, UserID: id, Username: strings.Repeat("n", 64), Act: 7, Slot: session.SlotOfAct, Seen: time.Now(),
				Device: session.DeviceOf("abcdefghijklmnop", strings.Repeat("d", 64)),
			}
		}
		e := session.Ending{UserID: 7, Reason: session.Revoked, Record: &session.Record{ID: 9, By: audit.Actor{Via: audit.ViaCLI}, Need: audit.NeedsNothing, Policy: &p}}
		event, err := e.EventOfUser(was)
		if err != nil {
			t.Errorf("%d sessions: %v", n, err)
			continue
		}
		listed := strings.Count(string(event.Old), "session_id")
		if want := min(n, 50); listed != want || (n > 50) != strings.Contains(string(event.Old), fmt.Sprintf(`{"more":%d}`, n-50)) {
			t.Errorf("%d sessions: %d listed, %s", n, listed, event.Old[max(0, len(event.Old)-60):])
		}
	}
}
