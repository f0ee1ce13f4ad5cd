package console_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// acts opens sessions in which an admin acts for a user.
type acts struct {
	w     *world
	last  flakepass.Token
	calls []string
	err   error
}

// giveActs has the console offer to act for users.
func (w *world) giveActs() *acts {
	a := &acts{w: w}
	w.ui.People.Acts, w.ui.Impersonation = a, true
	w.h = w.ui.Handler()
	return a
}

func (a *acts) Impersonate(_ context.Context, by audit.Actor, id idworker.ID, reason string) (session.Opened, error) {
	if err := a.w.proof(); err != nil {
		return session.Opened{}, err
	}
	if strings.TrimSpace(reason) == "" {
		return session.Opened{}, invalid.Of("reason", account.CodeTooShort, "must say why")
	}
	if a.err != nil {
		return session.Opened{}, a.err
	}
	a.calls = append(a.calls, fmt.Sprintf("%d, %q, by %s", id, reason, by.Name))
	a.last = flakepass.NewToken(412873650192384999)
	return session.Opened{Token: a.last, Identity: flakepass.Identity{UserID: flakepass.ID(id), Username: "user001", ExpiresAt: a.w.now.Add(time.Hour)}}, nil
}

// TestAnAdminActsForAUser: with a reason; the token is shown once.
func TestAnAdminActsForAUser(t *testing.T) {
	w := newWorld(t)
	crowd := w.populate(3)
	a := w.giveActs()
	c := w.enter()
	wantText(t, w.see(c, "/console/users/8"), "Act for this user", "/console/users/8/impersonate")
	page := w.sendForm(c, "/console/users/8/impersonate", "reason", "ticket 7")
	wantStatus(t, page, 201)
	wantText(t, page, a.last.Reveal(), "user001", "shown only now")
	if len(a.calls) != 1 || a.calls[0] != `8, "ticket 7", by ada` {
		t.Errorf("got %q", a.calls)
	}
	if strings.Contains(w.log.String(), a.last.Reveal()) {
		t.Error("the log has the token")
	}
	page = w.sendForm(c, "/console/users/8/impersonate", "reason", " ")
	wantStatus(t, page, 422)
	wantText(t, page, "reason")
	for _, err := range []error{session.ErrNotUser, account.ErrDisabled} {
		a.err = err
		page = w.sendForm(c, "/console/users/8/impersonate", "reason", "ticket 7")
		wantStatus(t, page, 403)
		wantText(t, page, "Nobody may act for this user.")
	}
	a.err = nil

	// It is offered for users only, and where it is on.
	crowd.users[1].Role = account.RoleService
	wantNoText(t, w.see(c, "/console/users/8"), "Act for this user")
	crowd.users[1].Role = account.RoleUser
	w.ui.Impersonation = false
	wantNoText(t, w.see(c, "/console/users/8"), "Act for this user")
}

// TestAListSaysWhoActs.
func TestAListSaysWhoActs(t *testing.T) {
	w := newWorld(t)
	crowd := w.populate(3)
	l := crowd.logins[9001] // of the user 8
	l.Act, l.Slot = 4711, session.SlotOfAct
	crowd.logins[9001] = l
	wantText(t, w.see(w.enter(), "/console/users/8"), "support, by 4711")
}

// support holds every token in the name of an admin, 4711, who acts for ada.
type support struct{}

func (support) Verify(context.Context, flakepass.Token) (flakepass.Identity, error) {
	return flakepass.Identity{UserID: 7, Username: "ada", Role: "user", SessionID: 41, Act: 4711}, nil
}

// TestWhoActsForAUserTriesIt: an impersonation that the console refuses is on record as an
// attempt of the admin, as over the API, and not of the user.
func TestWhoActsForAUserTriesIt(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	seen := &noted{}
	w.ui.Sessions, w.ui.Incidents = support{}, seen
	wantStatus(t, w.see(c, "/console/users"), 303)
	wantStatus(t, w.sendForm(c, "/console/users"), 303)
	for i, reason := range []string{"GET /console/users", "POST /console/users"} {
		if len(seen.all) != 2 {
			t.Fatalf("%d incidents", len(seen.all))
		}
		n := seen.all[i]
		if n.Action != audit.AccessForbidden || n.Reason != reason || n.By.ID != 4711 || n.By.Name != "" || n.By.Via != audit.ViaConsole ||
			n.By.Address != "192.0.2.1" || n.Target != audit.AboutUser(7, "ada") || !n.Admin {
			t.Errorf("%+v", n)
		}
	}
	if !strings.Contains(w.log.String(), `"act":"4711"`) {
		t.Errorf("the log has %s", &w.log)
	}
}

// TestAnEndThatAChangeFindsIsOnRecordAsAnyOther: by nobody, about the login. The instance
// believed the token a moment ago.
func TestAnEndThatAChangeFindsIsOnRecordAsAnyOther(t *testing.T) {
	w := newWorld(t)
	crowd, seen := w.populate(3), &noted{}
	c := w.enter()
	w.ui.Incidents = seen
	crowd.err = &session.RefusedError{ID: 41, UserID: 7, Username: "ada", Role: "user", Err: flakepass.ErrRevoked}
	wantStatus(t, w.sendForm(c, "/console/users/8", "do", "disabled"), 303)
	if len(seen.all) != 1 || seen.all[0].Action != audit.TokenReused || seen.all[0].By.ID != 0 || seen.all[0].By.Name != "" || seen.all[0].Target != audit.AboutLogin(41, "ada") {
		t.Errorf("%+v", seen.all)
	}
	for _, want := range []string{`"user_id":"7"`, `"session_id":"41"`} {
		if !strings.Contains(w.log.String(), want) {
			t.Errorf("the log lacks %s: %s", want, &w.log)
		}
	}
}

// TestWhatIsOffIsSaidToBeOff, as the API does, to who posts the form all the same.
func TestWhatIsOffIsSaidToBeOff(t *testing.T) {
	w := newWorld(t)
	w.populate(3)
	a := w.giveActs()
	a.err = operator.ErrImpersonationOff
	c := w.enter()
	page := w.sendForm(c, "/console/users/8/impersonate", "reason", "ticket 7")
	wantStatus(t, page, 403)
	wantText(t, page, "FLAKEPASS_IMPERSONATION")
	page = w.sendForm(c, "/console/account", "do", "delete_me", "username", "ada")
	wantStatus(t, page, 403)
	wantText(t, page, "People do not delete their own accounts here")
}

// TestNobodyIsAskedInAFormThatIsGone: the page asked for the passphrase, and had no field
// for it, as what the form was for is not there any more.
func TestNobodyIsAskedInAFormThatIsGone(t *testing.T) {
	w := newWorld(t)
	crowd := w.populate(3)
	w.giveActs()
	c := w.enter()
	w.unproven, crowd.users[1].DisabledAt = true, w.now
	w.ui.People.Factors = factors{w}
	for _, path := range []string{"/console/users/8/impersonate", "/console/users/8/second-factor"} {
		page := w.sendForm(c, path, "reason", "ticket 7")
		wantStatus(t, page, 409)
		wantText(t, page, "Nothing was done.")
		wantNoText(t, page, "Enter your passphrase")
	}
	crowd.users[1].DisabledAt = time.Time{}
	wantText(t, w.sendForm(c, "/console/users/8/impersonate", "reason", "ticket 7"), `name="confirm_password"`)
}
