package console_test

import (
	"bytes"
	"context"
	"errors"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/console"
	"github.com/flakepass/flakepass/internal/edge/verb"
)

const (
	base       = "http://127.0.0.1:8080"
	passphrase = "violet tram sings at noon"
)

// A world is a server with one link, the accounts behind it, and a clock.
type world struct {
	t    testing.TB
	ui   *console.UI
	h    http.Handler
	log  bytes.Buffer
	code string

	mu      sync.Mutex
	now     time.Time
	names   []string // created admins
	asked   int      // HasAdmin
	hasErr  error
	makeErr error
	onMake  func() // called while an account is being made

	lang     string // that the browser asks for; empty: none
	unproven bool   // what is sensitive needs password and code first

	policies  *policies
	record    record
	counts    counted
	state     console.State
	verifyErr error
	loginErr  error
	own       own   // what ada has
	proofErr  error // of ada's password, once more
	events    []audit.Event
	role      account.Role // of the user who is logged in
	living    map[idworker.ID]flakepass.Token
	lastID    idworker.ID
	devices   []*session.Device // that logged in

	heldErr, endErr error        // of own logins
	idleBy          policy.Scope // that says when they are idle
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), role: account.RoleAdmin, own: own{none: true}}
	w.policies = newPolicies(w.time)
	w.ui = console.New(console.Options{
		HasAdmin: w.hasAdmin, Now: w.time, Log: slog.New(slog.NewJSONHandler(&w.log, nil)),
		Own: w.people(), FactorStates: people{w}, Sessions: w, Policies: w.policies, Figures: w.policies, Record: &w.record,
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		Instances:      &roll{},
		People: verb.People{
			Users: struct{ verb.Users }{}, Sessions: struct{ verb.Sessions }{}, Logout: struct{ verb.Logouts }{}, Factors: struct{ verb.Factors }{},
			Resets: struct{ verb.Resets }{}, Open: noLinks{}, Keys: noKeys{},
		},
		Activities: &w.counts, Status: func(context.Context) console.State { return w.state },
	})
	w.ui.Own.Log = w.ui.Log
	w.h = w.ui.Handler()
	w.code = w.newLink()
	return w
}

// noLinks says that no link was given out.
type noLinks struct{ verb.OpenResets }

func (noLinks) ListResets(context.Context, idworker.ID, idworker.ID, int) ([]account.OpenReset, error) {
	return nil, nil
}

// noKeys says that no service has a key.
type noKeys struct{ verb.Keys }

func (noKeys) ListKeys(context.Context, idworker.ID, idworker.ID, int) ([]servicekey.Key, error) {
	return nil, nil
}

func (w *world) time() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.now }

func (w *world) newLink() string {
	w.t.Helper()
	link, err := w.ui.SetupPath(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	code, ok := strings.CutPrefix(link, "/console/setup?code=")
	if !ok || len(code) < 26 {
		w.t.Fatalf("link = %q", link)
	}
	return code
}

func (w *world) hasAdmin(context.Context) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	return len(w.names) > 0, w.hasErr
}

// New applies the real rules to an account.
func (p people) New(_ context.Context, _ account.Asker, username string, password account.Password, role account.Role) (account.User, error) {
	if p.onMake != nil {
		p.onMake()
	}
	var all invalid.Error
	name, err := account.NormalizeUsername(username)
	for _, err := range []error{err, account.CheckPassword(name, password)} {
		if bad, ok := errors.AsType[*invalid.Error](err); ok {
			all.Fields = append(all.Fields, bad.Fields...)
		}
	}
	if len(all.Fields) > 0 {
		return account.User{}, &all
	}
	return account.User{ID: 7, Username: name, Role: role}, nil
}

// Create is not used: users do not register in the console.
func (p people) Create(context.Context, account.User, ...audit.Event) error {
	return errors.ErrUnsupported
}

// CreateFirstAdmin stores the name.
func (p people) CreateFirstAdmin(_ context.Context, u account.User, _ ...audit.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.makeErr != nil {
		return p.makeErr
	}
	p.names = append(p.names, u.Username)
	return nil
}

func (w *world) admins() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.names)
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// unfilled is what a text looks like whose blanks are not those that the page fills in.
var unfilled = regexp.MustCompile(`%!|%[sd]\b`)

func (w *world) do(r *http.Request) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	if w.lang != "" {
		r.Header.Set("Accept-Language", w.lang)
	}
	w.h.ServeHTTP(rec, r)
	if found := unfilled.FindString(rec.Body.String()); found != "" {
		w.t.Errorf("%s has a text that is not filled in, or with too much: %s", r.URL.Path, found)
	}
	return rec
}

func (w *world) get(target string) *httptest.ResponseRecorder {
	return w.do(httptest.NewRequest(http.MethodGet, target, nil))
}

func (w *world) open() *httptest.ResponseRecorder { return w.get("/console/setup?code=" + w.code) }

func post(code, username, password string) *http.Request {
	return postRaw(url.Values{"code": {code}, "username": {username}, "password": {password}}.Encode())
}

func postRaw(body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/console/setup", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return r
}

func (w *world) send(username, password string) *httptest.ResponseRecorder {
	return w.do(post(w.code, username, password))
}

func wantStatus(t testing.TB, rec *httptest.ResponseRecorder, want int) {
	t.Helper()
	if got := rec.Code; got != want {
		t.Fatalf("status = %d, want %d; page:\n%s", got, want, rec.Body)
	}
}

// wantText looks in the text of the page, as a person reads it.
func wantText(t testing.TB, rec *httptest.ResponseRecorder, want ...string) {
	t.Helper()
	got := html.UnescapeString(rec.Body.String())
	for _, s := range want {
		if !strings.Contains(got, s) {
			t.Errorf("page lacks %q:\n%s", s, rec.Body)
		}
	}
}

func wantNoText(t testing.TB, rec *httptest.ResponseRecorder, not ...string) {
	t.Helper()
	for _, s := range not {
		if strings.Contains(rec.Body.String(), s) || strings.Contains(html.UnescapeString(rec.Body.String()), s) {
			t.Errorf("page has %q:\n%s", s, rec.Body)
		}
	}
}

var idAttr = regexp.MustCompile(`\bid="([^"]+)"`)

func ids(page string) map[string]bool {
	found := map[string]bool{}
	for _, m := range idAttr.FindAllStringSubmatch(page, -1) {
		found[m[1]] = true
	}
	return found
}

// dialKey names what [world.dial] types.
const dialKey = `{"Idle":"1h","Absolute":"30d","Touch":"1m","Schedule":"@every 1m","Sessions":"","Note":"","Version":1,"BackTo":0,"WithLimits":false,"Devices":{"Asked":false,"Over":"","Classes":"","Overrides":""}}`
