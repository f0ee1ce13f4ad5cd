package console_test

import (
	"errors"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/console"
)

var insidePages = []string{"/console/", "/console/expiry", "/console/audit", "/console/audit.csv", "/console/audit.ndjson"}

func TestOnlyALoginGetsIn(t *testing.T) {
	w := newWorld(t)
	mine := w.enter()
	forged := flakepass.NewToken(1) // the ID is right
	for name, cookie := range map[string]string{
		"none": "", "forged": cookieName + "=" + forged.Reveal(), "no token": cookieName + "=x",
		"two": cookieName + "=" + mine.Value + "; " + cookieName + "=" + mine.Value, "another name": "flakepass=" + mine.Value,
	} {
		for _, page := range insidePages {
			r := httptest.NewRequest(http.MethodGet, page+"?a=b", nil)
			r.Header.Set("Cookie", cookie)
			got := w.do(r)
			to, err := url.Parse(got.Header().Get("Location"))
			if got.Code != 303 || err != nil || to.Path != "/console/login" || to.Query().Get("next") != page+"?a=b" {
				t.Errorf("%s, %s: %d to %s", name, page, got.Code, to)
			}
		}
	}
	for _, page := range insidePages {
		wantStatus(t, w.see(mine, page), 200)
	}
}

// A token in a header is an app's. It opens no page, or other sites' scripts
// would be one mistake away.
func TestPagesTakeNoHeader(t *testing.T) {
	w := newWorld(t)
	r := httptest.NewRequest(http.MethodGet, "/console/", nil)
	r.Header.Set("Authorization", "Bearer "+w.enter().Value)
	wantStatus(t, w.do(r), 303)
}

func TestCookieIsLocked(t *testing.T) {
	c := newWorld(t).enter()
	if c.Name != cookieName || !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" {
		t.Errorf("cookie %+v", c)
	}
}

// A token that stood anywhere else would be read by scripts, or kept in a history.
func TestTokenComesBySetCookieAlone(t *testing.T) {
	w := newWorld(t)
	page := w.do(postForm("/console/login", url.Values{"username": {"ada"}, "password": {passphrase}, "next": {"/console/"}}))
	wantStatus(t, page, 303)
	token := page.Result().Cookies()[0].Value
	if len(token) < 40 {
		t.Fatalf("the cookie has %d characters", len(token))
	}
	page.Header().Del("Set-Cookie")
	wantNoText(t, page, token)
	for name, values := range page.Header() {
		if strings.Contains(strings.Join(values, " "), token) {
			t.Errorf("the header %s has the token", name)
		}
	}
}

func TestWrongPasswordIsASentence(t *testing.T) {
	w := newWorld(t)
	send := func(password string) *httptest.ResponseRecorder {
		return w.do(postForm("/console/login", url.Values{"username": {"ada"}, "password": {password}, "next": {"/console/audit?actor=7"}}))
	}
	page := send("not the right passphrase")
	wantStatus(t, page, 401)
	wantText(t, page, "The username or the passphrase is wrong.", `value="ada"`, `value="/console/audit?actor=7"`)
	wantNoText(t, page, "not the right passphrase")
	w.role = account.RoleUser
	page = send(passphrase)
	wantStatus(t, page, 403)
	wantText(t, page, "This account is not an admin.")
	for err, want := range map[error]int{account.ErrBusy: 503, account.ErrDisabled: 403, errors.New("disk on fire"): 503} {
		w.loginErr = err
		page = send(passphrase)
		wantStatus(t, page, want)
		wantNoText(t, page, "disk on fire", passphrase)
	}
	if len(w.living) != 0 {
		t.Error("a refused login was begun")
	}
	if strings.Contains(w.log.String(), "ada") || strings.Contains(w.log.String(), passphrase) {
		t.Errorf("the log has what was typed: %s", w.log.String())
	}
}

func TestLoginLeadsBack(t *testing.T) {
	w := newWorld(t)
	page := w.do(postForm("/console/login", url.Values{"username": {"ada"}, "password": {passphrase}, "next": {"/console/audit?actor=7"}}))
	wantStatus(t, page, 303)
	cookie := page.Result().Cookies()[0]
	page = w.see(cookie, page.Header().Get("Location"))
	if got := page.Header().Get("Location"); page.Code != 303 || got != "/console/audit?actor=7" {
		t.Errorf("%d to %q", page.Code, got)
	}
}

// A browser that keeps no Secure cookie over plain HTTP would show the empty
// form again and again.
func TestBrowserWithoutTheCookieGetsAMessage(t *testing.T) {
	w := newWorld(t)
	page := w.do(postForm("/console/login", url.Values{"username": {"ada"}, "password": {passphrase}}))
	wantText(t, w.get(page.Header().Get("Location")), "Your browser did not keep the login.")
}

func TestWhyALoginIsOverIsSaid(t *testing.T) {
	for why, want := range map[*flakepass.Refusal]string{
		flakepass.ErrExpired: "has expired", flakepass.ErrIdle: "You were away", flakepass.ErrReplaced: "somewhere else",
		flakepass.ErrRevoked: "was ended", flakepass.ErrAccountDisabled: "disabled", flakepass.ErrInvalid: "has ended",
	} {
		w := newWorld(t)
		c := w.enter()
		w.verifyErr = why
		page := w.see(c, "/console/expiry")
		wantStatus(t, page, 303)
		if gone := page.Result().Cookies(); len(gone) != 1 || gone[0].MaxAge >= 0 {
			t.Errorf("%v: the cookie stays: %v", why, gone)
		}
		wantText(t, w.get(page.Header().Get("Location")), want, `value="/console/expiry"`)
	}
}

// Not to know is no logout: the cookie stays, and the page can be tried again.
func TestOutageIsNoLogout(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	w.verifyErr = errors.New("the database is away")
	for _, path := range insidePages {
		page := w.see(c, path)
		wantStatus(t, page, 503)
		wantText(t, page, "Not available now")
		wantNoText(t, page, "database is away", "ada")
		if len(page.Result().Cookies()) != 0 {
			t.Errorf("%s takes the cookie away", path)
		}
	}
}

func TestDemotedAdminIsOut(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	w.role = account.RoleService
	for _, path := range insidePages {
		page := w.see(c, path)
		wantStatus(t, page, 303)
		wantText(t, w.get(page.Header().Get("Location")), "no longer an admin")
	}
	wantStatus(t, w.sendForm(c, "/console/expiry", "idle", "1d", "do", "save"), 303)
	if len(w.policies.events) != 0 {
		t.Error("a user who is no admin changed the policy")
	}
}

// TestOwnActOfALoginThatIsOverLeadsToTheLogin: the login was ended elsewhere, which this instance does not know yet. The
// transaction of the act finds it, or that of the proof that comes before.
func TestOwnActOfALoginThatIsOverLeadsToTheLogin(t *testing.T) {
	for do, field := range map[string]string{"enrol": "current_password", "end_others": "confirm_password"} {
		w := newWorld(t)
		c := w.enter()
		w.proofErr = account.Undecided(&session.RefusedError{ID: 9, UserID: 7, Username: "ada", Err: flakepass.ErrRevoked})
		page := w.sendForm(c, "/console/account", "do", do, field, passphrase)
		wantStatus(t, page, 303)
		wantText(t, w.get(page.Header().Get("Location")), "was ended", `value="/console/account"`)
	}
}

func TestLogoutEndsTheLogin(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	page := w.sendForm(c, "/console/logout")
	wantStatus(t, page, 303)
	if len(w.living) != 0 {
		t.Error("the login lives on")
	}
	wantText(t, w.get(page.Header().Get("Location")), "You have logged out.")
	wantStatus(t, w.see(c, "/console/"), 303)
}

var posts = []string{"/console/login", "/console/logout", "/console/language", "/console/expiry", "/console/expiry/revert"}

func TestOtherSitesCannotAct(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	for _, path := range posts {
		for site, origin := range map[string]string{"cross-site": "https://evil.example", "same-site": "http://x.example.com", "": "null"} {
			r := postForm(path, url.Values{"idle": {"1d"}, "absolute": {"2d"}, "touch": {"1m"}, "schedule": {"@hourly"}, "version": {"1"}, "do": {"save"}})
			r.AddCookie(c)
			r.Header.Set("Sec-Fetch-Site", site)
			r.Header.Set("Origin", origin)
			wantStatus(t, w.do(r), 403)
		}
		w.see(c, path+"?do=save&idle=1h&absolute=1d&touch=1m&schedule=@hourly&version=1") // a link does nothing
	}
	if len(w.living) != 1 || len(w.policies.events) != 0 {
		t.Error("another site did something")
	}
}

// The cookie is not sent along with a link of another site, so the page asks
// for itself instead of showing a login page to a user who is logged in.
func TestLinkFromElsewhereOpensThePage(t *testing.T) {
	w := newWorld(t)
	r := httptest.NewRequest(http.MethodGet, "/console/expiry", nil)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	r.Header.Set("Sec-Fetch-Mode", "navigate")
	page := w.do(r)
	wantStatus(t, page, 200)
	wantText(t, page, `http-equiv="refresh" content="0"`)
}

func TestAddressIsTheNearestThatIsNoProxy(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct{ remote, forwarded, want string }{
		{"192.0.2.1:1", "", "192.0.2.1"}, {"192.0.2.1:1", "198.51.100.9", "192.0.2.1"},
		{"10.0.0.1:1", "198.51.100.9", "198.51.100.9"}, {"10.0.0.1:1", "203.0.113.5, 198.51.100.9, 10.0.0.2", "198.51.100.9"},
		{"10.0.0.1:1", "rubbish", "10.0.0.1"}, {"10.0.0.1:1", "", "10.0.0.1"},
	} {
		r := postForm("/console/login", url.Values{"username": {"ada"}, "password": {"x"}})
		r.RemoteAddr = tt.remote
		if tt.forwarded != "" {
			r.Header.Set("X-Forwarded-For", tt.forwarded)
		}
		w.log.Reset()
		w.do(r)
		if !strings.Contains(w.log.String(), `"from":"`+tt.want+`"`) {
			t.Errorf("%+v: %s", tt, w.log.String())
		}
	}
}

// TestLoginLeadsToTheConsoleOnly puts to the login page what FuzzSafePath begins
// with.
func TestLoginLeadsToTheConsoleOnly(t *testing.T) {
	for _, p := range console.HostilePaths {
		w := newWorld(t)
		r := postForm("/console/login", url.Values{"username": {"ada"}, "password": {"wrong"}, "next": {p}})
		page := w.do(r)
		body := page.Body.String()
		const field = `name="next" value="` // the last: the first is the language's
		next, _, _ := strings.Cut(body[strings.LastIndex(body, field)+len(field):], `"`)
		if next = html.UnescapeString(next); !console.StaysInTheConsole(next) {
			t.Errorf("%q leads to %q", p, next)
		}
	}
}
