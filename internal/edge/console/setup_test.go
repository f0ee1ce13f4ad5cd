package console_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

func TestFirstAdminStory(t *testing.T) {
	w := newWorld(t)

	page := w.open()
	wantStatus(t, page, 200)
	wantText(t, page, "Create the first admin", `value="`+w.code+`"`, `autocomplete="new-password"`)

	// A mistake costs nothing but the passphrase.
	page = w.send("grace", "too short, aye")
	wantStatus(t, page, 422)
	wantText(t, page, "Passphrase must have at least 15 characters", `value="grace"`, `value="`+w.code+`"`)
	wantNoText(t, page, "too short, aye")

	page = w.send(" Grace ", passphrase)
	wantStatus(t, page, 303)
	cookies := page.Result().Cookies()
	if len(cookies) != 2 || !strings.HasPrefix(page.Header().Get("Location"), "/console/login?") {
		t.Fatalf("headers: %v", page.Header())
	}
	wantStatus(t, w.see(cookies[0], "/console/"), 200) // logged in, with nothing more to type

	// The link is dead, and says so, even if there is no admin any more.
	w.names = nil
	for _, page := range []*httptest.ResponseRecorder{w.open(), w.send("mallory", passphrase)} {
		wantStatus(t, page, 410)
		wantText(t, page, "There is already an admin", "flakepass user add NAME --role admin")
	}
	if w.admins() != 0 {
		t.Error("a used link created an admin")
	}
	w.names = []string{"grace"}
	if log := w.log.String(); strings.Contains(log, w.code) || strings.Contains(log, passphrase) || !strings.Contains(log, "first admin created") {
		t.Errorf("log: %s", log)
	}
	if link, err := w.ui.SetupPath(t.Context()); link != "" || err != nil {
		t.Errorf("SetupPath with an admin = %q, %v, want none", link, err)
	}
}

func TestProblemsStandBesideTheirFields(t *testing.T) {
	w := newWorld(t)
	page := w.send("x", "short")
	wantStatus(t, page, 422)
	wantText(t, page, "Username must have at least 3 characters.", "Passphrase must have at least 15 characters",
		`aria-describedby="username-hint username-error"`, `aria-describedby="password-hint password-error"`)
	body := page.Body.String()
	if got := strings.Count(body, "aria-invalid"); got != 2 {
		t.Errorf("%d fields marked invalid, want 2", got)
	}
	have := ids(body)
	for _, id := range []string{"username", "username-hint", "username-error", "password", "password-hint", "password-error"} {
		if !have[id] {
			t.Errorf("no element with the id %s", id)
		}
	}
	if strings.Count(body, " autofocus") != 1 {
		t.Error("want one autofocus")
	}
}

func TestTakenNameIsAskedForAgain(t *testing.T) {
	w := newWorld(t)
	w.makeErr = account.ErrExists
	page := w.send("grace", passphrase)
	wantStatus(t, page, 409)
	wantText(t, page, "Username is taken", `value="grace"`)
	w.makeErr = nil
	wantStatus(t, w.send("grace2", passphrase), 303)
}

func TestFailureKeepsTheLink(t *testing.T) {
	for name, tt := range map[string]struct {
		err    error
		says   string
		logged bool
	}{
		"busy":   {account.ErrBusy, "The server is busy", false},
		"broken": {errors.New("disk on fire"), "could not store the account", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.makeErr = tt.err
			page := w.send("grace", passphrase)
			wantStatus(t, page, 503)
			wantText(t, page, tt.says, `value="grace"`)
			wantNoText(t, page, "disk on fire", passphrase)
			if page.Header().Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
			if got := strings.Contains(w.log.String(), "disk on fire"); got != tt.logged {
				t.Errorf("logged = %v, want %v", got, tt.logged)
			}
			w.makeErr = nil
			wantStatus(t, w.send("grace", passphrase), 303)
		})
	}
}

func TestFailedQueryIsNoRefusal(t *testing.T) {
	w := newWorld(t)
	w.hasErr = errors.New("no database")
	for _, page := range []*httptest.ResponseRecorder{w.open(), w.send("grace", passphrase)} {
		wantStatus(t, page, 503)
		wantText(t, page, "Not available now")
		wantNoText(t, page, "no database")
		if page.Header().Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	if w.admins() != 0 {
		t.Error("an admin was created without knowing whether there is one")
	}
	w.hasErr = nil
	wantStatus(t, w.send("grace", passphrase), 303)
}

// A client that leaves is not an error: such lines would hide the real ones.
func TestLeavingIsNotLogged(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	for _, e := range []*error{&w.hasErr, &w.heldErr, &w.counts.err, &w.policies.err, &w.record.err} {
		*e = context.Canceled
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	for _, page := range []string{"/console/setup?code=" + w.code, "/console/account", "/console/", "/console/expiry", "/console/audit"} {
		for what, ctx := range map[string]context.Context{"stays": t.Context(), "leaves": left} {
			w.log.Reset()
			r := httptest.NewRequest(http.MethodGet, page, nil).WithContext(ctx)
			r.AddCookie(c)
			w.do(r)
			if got := w.log.String(); (got != "") != (what == "stays") {
				t.Errorf("%s, and the client %s: log: %q", page, what, got)
			}
		}
	}
}

func TestNameCannotBreakOut(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{`"><script>alert(1)</script>`, `' autofocus onfocus=alert(1) x='`, "{{.T}}", "\"\x00><img src=x onerror=alert(1)>"} {
		page := w.send(name, "short")
		wantStatus(t, page, 422)
		body := page.Body.String()
		if strings.Count(body, "<script") != 2 || strings.Contains(body, "<img") || strings.Contains(body, `"><script>`) || strings.Contains(body, "' autofocus") {
			t.Errorf("name %q breaks out:\n%s", name, body)
		}
	}
	wantText(t, w.send(`"><b>`, "short"), `value=""><b>"`) // kept, escaped
	evil := `"><script>alert(1)</script>`
	page := w.get("/console/setup?code=" + url.QueryEscape(evil))
	wantStatus(t, page, 404)
	wantNoText(t, page, "alert(1)")
}

func TestHintAgreesWithTheRule(t *testing.T) {
	w := newWorld(t)
	wantText(t, w.open(), "At least 15 characters", `minlength="15"`)
	wantStatus(t, w.send("grace", "violet tram si"), 422)  // 14
	wantStatus(t, w.send("grace", "violet tram siX"), 303) // 15
}

// Another instance, with a link of its own, may be the first between the
// question and the deed.
func TestAdminMadeElsewhereMeanwhileEndsTheLink(t *testing.T) {
	w := newWorld(t)
	w.makeErr = fmt.Errorf("account: register: %w", account.ErrHasAdmin)
	wantStatus(t, w.send("grace", passphrase), 410)
	w.makeErr = nil
	wantStatus(t, w.send("grace", passphrase), 410)
	if w.admins() != 0 {
		t.Errorf("%d admins by this link, want none", w.admins())
	}
}

// TestWrongSetupCodeIsOnRecord: with nothing of what was typed, and many as one line
// of the log.
func TestWrongSetupCodeIsOnRecord(t *testing.T) {
	w := newWorld(t)
	seen := &noted{}
	w.ui.Incidents = seen
	for range 3 {
		wantStatus(t, w.get("/console/setup?code=guessed"), 404)
	}
	if len(seen.all) != 3 {
		t.Fatalf("%d on record, want 3", len(seen.all))
	}
	for _, s := range seen.all {
		if s.Action != audit.LoginFailed || s.Reason != "setup_code_invalid" || s.By.Via != audit.ViaConsole || s.By.Address == "" || s.Target != (audit.Target{}) {
			t.Errorf("on record: %+v", s)
		}
	}
	if log := w.log.String(); strings.Count(log, "setup_code_invalid") != 1 || strings.Contains(log, "guessed") {
		t.Errorf("log: %s", log)
	}
}

// noted are what was noted.
type noted struct{ all []audit.Incident }

func (s *noted) Note(n audit.Incident) (first bool) {
	s.all = append(s.all, n)
	return len(s.all) == 1
}
