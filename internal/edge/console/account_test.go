package console_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// own is what ada has beside her passphrase, and what comes of asking about it.
type own struct {
	none   bool // there is no second factor
	left   int  // recovery codes
	err    error
	ticket bool // the user has shown the passphrase, and has one
}

func (p people) Check(context.Context, audit.Actor, *account.User, secondfactor.Code) error {
	return p.own.err
}

func (p people) CheckTicket(context.Context, audit.Actor, *account.User, secondfactor.Holder, secondfactor.Code) error {
	return p.own.err
}

func (p people) Ticket(context.Context, secondfactor.Holder) (t secondfactor.Ticket, err error) {
	return t, nil
}

func (p people) Redeem(string) (h secondfactor.Holder, err error) {
	if !p.own.ticket {
		return h, secondfactor.ErrTicket
	}
	return secondfactor.Holder{UserID: 7, Username: "ada"}, nil
}

func (p people) State(context.Context, idworker.ID) (secondfactor.State, error) {
	return secondfactor.State{Enrolled: !p.own.none, Left: p.own.left}, p.own.err
}

func (p people) Begin(context.Context, audit.Actor, *account.User) (e secondfactor.Enrolment, err error) {
	return e, p.own.err
}

func (p people) Confirm(context.Context, audit.Actor, *account.User, secondfactor.Code) ([]secondfactor.RecoveryCode, error) {
	return nil, p.own.err
}

func (p people) Renew(context.Context, audit.Actor, *account.User) ([]secondfactor.RecoveryCode, error) {
	return make([]secondfactor.RecoveryCode, secondfactor.RecoveryCodes), nil
}

func (p people) Remove(context.Context, audit.Actor, *account.User) error { return nil }

// incidents are the incidents of a test.
type incidents []string

func (s *incidents) Note(n audit.Incident) bool {
	*s = append(*s, fmt.Sprint(n.Action, " ", n.Reason, " ", n.Target.ID))
	return true
}

// A wrong password or code is on record and counts wherever an admin shows one;
// where the attempt reveals nothing, it does neither.
func TestRefusedProofsAreIncidentsAndCount(t *testing.T) {
	for err, want := range map[error]string{
		nil: "", account.ErrWrong: "[user.password_refused current_password_invalid 7]", secondfactor.ErrSealed: "",
		secondfactor.ErrInvalid:  "[user.password_refused current_code_invalid 7]",
		secondfactor.ErrRequired: "[user.password_refused current_code_invalid 7]", account.Undecided(account.ErrBusy): "",
	} {
		w := newWorld(t)
		g, s := &limiter{left: 100}, &incidents{}
		w.ui.Own.Attempts, w.ui.Own.Incidents = g, s
		c := w.enter()
		given := passphrase
		if w.own = (own{err: err}); errors.Is(err, account.ErrWrong) {
			w.own, given = own{}, "not the right passphrase"
		}
		var entry string
		for name, send := range map[string]func(){
			"own account": func() {
				w.sendForm(c, "/console/account", "do", "remove", "current_password", given, "code", "123456")
				entry = "second factor not changed"
			},
			"confirmation": func() {
				w.sendForm(c, "/console/expiry", "idle", "1h", "absolute", "30d", "touch", "1m", "schedule", "@every 1m", "version", "1",
					"do", "confirm", "confirm_for", dialKey, "confirm_password", given)
				entry = "not reauthenticated"
			},
		} {
			g.left, *s = 10, nil
			w.log.Reset()
			send()
			left, logged := 9, err != nil // what is not on record is in the log
			if errors.Is(err, account.ErrUndecided) || errors.Is(err, secondfactor.ErrSealed) {
				left = 10
			}
			if got := strings.TrimPrefix(fmt.Sprint(*s), "[]"); got != want || strings.Contains(w.log.String(), entry) != logged || g.left != left {
				t.Errorf("%s, %v: %s, %d attempts left of 10\n%s", name, err, got, g.left, &w.log)
			}
		}
	}
}

// What a limit refuses is on record by the name of the limit and, where that is
// known, with the user: every admin who is logged in, and a user who has
// shown the password.
func TestAttemptThatALimitRefusesIsOnRecordWithWhose(t *testing.T) {
	w := newWorld(t)
	g, s := &limiter{left: 100}, &incidents{}
	w.ui.Own.Attempts, w.ui.Own.Incidents = g, s
	w.own.ticket = true
	c := w.enter()
	for name, c := range map[string]struct {
		send func()
		whom string
	}{
		"own account": {func() { w.sendForm(c, "/console/account", "do", "password", "current_password", "x") }, "7"},
		"confirmation": {func() {
			w.sendForm(c, "/console/expiry", "idle", "1h", "absolute", "30d", "touch", "1m", "schedule", "@every 1m", "version", "1",
				"do", "confirm", "confirm_for", dialKey, "confirm_password", passphrase)
		}, "7"},
		"code":  {func() { w.do(postForm("/console/login/code", url.Values{"ticket": {"x"}, "code": {"1"}})) }, "7"},
		"login": {func() { w.do(postForm("/console/login", url.Values{"username": {"ada"}, "password": {"x"}})) }, "0"},
	} {
		g.left, *s = 0, nil
		w.log.Reset()
		c.send()
		if got, want := fmt.Sprint(*s), "[login.throttled rate_limited: login-place "+c.whom+"]"; got != want ||
			!strings.Contains(w.log.String(), `"event":"login.throttled"`) || strings.Contains(w.log.String(), `"user_id":"7"`) != (c.whom == "7") {
			t.Errorf("%s: %s, want %s\n%s", name, got, want, &w.log)
		}
	}
}

// The second step of a login counts as the first does, and is on record as it is:
// by its request, and without where people are.
func TestSecondStepIsAnAttempt(t *testing.T) {
	w := newWorld(t)
	g, s := &limiter{}, &incidents{}
	w.ui.Own.Attempts, w.ui.Own.Incidents = g, s
	for err, want := range map[error]string{
		secondfactor.ErrInvalid:             "9 [login.failed second_factor_invalid 7]",
		account.Undecided(account.ErrBusy):  "10 []",
		secondfactor.ErrTicket:              "9 []",
		account.Undecided(context.Canceled): "10 []",
	} {
		w.log.Reset()
		w.own = own{ticket: true, err: err}
		g.left, *s = 10, nil
		w.do(postForm("/console/login/code", url.Values{"ticket": {"x"}, "code": {"123456"}}))
		if got := fmt.Sprint(g.left, " ", *s); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
		for cause, reason := range map[error]string{account.ErrBusy: "busy", secondfactor.ErrTicket: "ticket_over", secondfactor.ErrInvalid: "second_factor_invalid"} {
			line := `"msg":"login refused","reason":"` + reason + `","user_id":"7"`
			if errors.Is(err, cause) != strings.Contains(w.log.String(), line) {
				t.Errorf("%v: the log has %s", err, &w.log)
			}
		}
		if a := g.attempts[len(g.attempts)-1]; a.Account != "ada" {
			t.Errorf("%v: %+v", err, a)
		}
	}
}

var forms = regexp.MustCompile(`(?s)<form.*?</form>`)

// asking are the pages that ask for password and code once more, by the form: those
// of a user who is no admin, and whom the second factor can be removed of.
func (w *world) asking(c *http.Cookie) map[string]*httptest.ResponseRecorder {
	w.unproven, w.policies.proof = true, w.proof
	defer func() { w.unproven = false }()
	return map[string]*httptest.ResponseRecorder{
		"users":  w.sendForm(c, "/console/users", "username", "bob", "password", passphrase, "role", "admin"),
		"role":   w.sendForm(c, "/console/users/8", "do", "role", "role", "admin"),
		"give":   w.sendForm(c, "/console/users/8/reset", "life", "3600"),
		"key":    w.sendForm(c, "/console/users/9/keys", "name", "billing", "scope_verify", "on", "life", "90"),
		"act":    w.sendForm(c, "/console/users/8/impersonate", "reason", "ticket 7"),
		"factor": w.sendForm(c, "/console/users/8/second-factor"),
		"logins": w.sendForm(c, "/console/logins/end-all", "phrase", "log everybody out"),
		"limits": w.limits(c, "login_address_1_count", "240"),
		"save":   w.sendForm(c, "/console/expiry", "idle", "13d", "absolute", "30d", "touch", "1m", "schedule", "@hourly", "version", "1", "do", "save"),
		"confirm": w.sendForm(c, "/console/expiry", "idle", "1h", "absolute", "30d", "touch", "1m", "schedule", "@every 1m", "version", "1",
			"do", "confirm", "confirm_for", dialKey),
	}
}

// furnish gives the console all that it can have: three users, of whom one has a
// second factor, and an admin with or without one.
func (w *world) furnish(has bool) *http.Cookie {
	crowd := w.populate(3)
	crowd.users[1].SecondFactorAt = w.now
	w.giveKeys(crowd, 1)
	w.giveResets()
	w.giveActs()
	w.own, w.ui.People.Factors = own{none: !has}, factors{w}
	w.h = w.ui.Handler()
	return w.enter()
}

// factors removes no second factor.
type factors struct{ w *world }

func (f factors) RemoveSecondFactor(context.Context, audit.Actor, idworker.ID, string) ([]session.Session, error) {
	return nil, f.w.proof()
}

// Each form that asks an admin for the passphrase once more asks for the code
// as well, if there is a second factor, and otherwise does not.
func TestWhatAsksForThePassphraseAsksForTheCode(t *testing.T) {
	for _, has := range []bool{true, false} {
		w := newWorld(t)
		asked := 0
		for name, page := range w.asking(w.furnish(has)) {
			wantStatus(t, page, 403)
			for _, form := range forms.FindAllString(page.Body.String(), -1) {
				if !strings.Contains(form, `name="confirm_password"`) {
					continue
				}
				asked++
				if strings.Contains(form, `name="confirm_code"`) != has {
					t.Errorf("%s, second factor %v: %s", name, has, form)
				}
			}
		}
		if asked != 10 {
			t.Errorf("%d forms ask for the passphrase", asked)
		}
	}
}

// The account page says how many recovery codes there are, and gives new ones to
// the user who shows passphrase and code; the record's words are in the log.
func TestRecoveryCodesAreRenewedInTheConsole(t *testing.T) {
	w := newWorld(t)
	page := func(o own) string {
		w.own = o
		return w.see(w.enter(), "/console/account").Body.String()
	}
	for left, want := range []string{"no recovery codes left", "one recovery code left", "You have 2 recovery codes"} {
		if body := page(own{left: left}); !strings.Contains(body, want) {
			t.Errorf("with %d codes the page does not say %q", left, want)
		}
	}
	if body := page(own{err: context.DeadlineExceeded}); strings.Contains(body, "recovery code left") || !strings.Contains(body, `value="renew"`) {
		t.Error("where the number cannot be known the page says one, or offers no new codes")
	}
	send := func(o own) *httptest.ResponseRecorder {
		w.own = o
		return w.sendForm(w.enter(), "/console/account", "do", "renew", "current_password", passphrase, "code", "123456")
	}
	if r := send(own{err: secondfactor.ErrInvalid}); r.Code != 403 || strings.Contains(r.Body.String(), `class="recovery"`) {
		t.Errorf("with a wrong code: %d", r.Code)
	}
	w.log.Reset()
	r := send(own{})
	if n := strings.Count(r.Body.String(), "<li><code>"); r.Code != 200 || n != secondfactor.RecoveryCodes {
		t.Errorf("%d with %d codes", r.Code, n)
	}
	if !strings.Contains(w.log.String(), "user.recovery_codes_renewed") {
		t.Errorf("the log lacks it:\n%s", &w.log)
	}
}

// TestLostAnswerAboutTheOwnAccountIsUndecided: the change may have been made. The page said that the
// passphrase could not be checked, also where none was sent.
func TestLostAnswerAboutTheOwnAccountIsUndecided(t *testing.T) {
	w := newWorld(t)
	w.own = own{none: true}
	c := w.enter()
	w.own = own{none: true, err: errors.New("the connection is lost")}
	page := w.sendForm(c, "/console/account", "do", "confirm", "code", "123456")
	wantStatus(t, page, 503)
	wantText(t, page, "may or may not have been made", "/console/account")
	if strings.Contains(page.Body.String(), "could not check the passphrase") || page.Header().Get("Retry-After") == "" {
		t.Errorf("header %v, page %s", page.Header(), page.Body)
	}
}
