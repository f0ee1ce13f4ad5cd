package console_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
)

// limiter admits so many attempts, and records them.
type limiter struct {
	left     int
	attempts []ratelimit.Attempt
	proved   []idworker.ID
	err      error
}

func (g *limiter) Login(ctx context.Context, a ratelimit.Attempt) (ratelimit.Taken, error) {
	if a.Whose != nil {
		a.Account, a.User, _ = a.Whose(ctx)
	}
	g.attempts = append(g.attempts, a)
	if g.err != nil {
		return ratelimit.Taken{}, g.err
	}
	if g.left--; g.left < 0 {
		return ratelimit.Taken{}, &ratelimit.LimitedError{Limit: "login-place", Retry: 1500 * time.Millisecond}
	}
	return ratelimit.Taken{Attempt: a}, nil
}

func (g *limiter) Return(context.Context, ratelimit.Taken) { g.left++ }

func (g *limiter) LoggedIn(_ context.Context, _ ratelimit.Taken, user idworker.ID) ratelimit.Notice {
	g.proved = append(g.proved, user)
	return ratelimit.Notice{}
}

func (g *limiter) NewDevice(a ratelimit.Attempt) (c ratelimit.DeviceCredential) {
	if g.left > 1<<20 { // of who counts nothing
		return c
	}
	return (&ratelimit.Limiter{Key: []byte("secret")}).NewDevice(a)
}

// The console is no way around the limits of the API.
func TestGuessesAreBounded(t *testing.T) {
	w := newWorld(t)
	g := &limiter{left: 2}
	w.ui.Own.Attempts = g
	send := func(password string) *httptest.ResponseRecorder {
		return w.do(postForm("/console/login", url.Values{"username": {" Ada "}, "password": {password}}))
	}
	wantStatus(t, send("wrong"), 401)
	wantStatus(t, send(passphrase), 303)
	page := send(passphrase)
	wantStatus(t, page, 429)
	wantText(t, page, "Too many attempts. Try again in 2 seconds.")
	if page.Header().Get("Retry-After") != "2" || len(w.living) != 1 {
		t.Errorf("%v, %d logins", page.Header(), len(w.living))
	}
	if a := g.attempts[0]; a.Account != "ada" || a.Address != netip.MustParseAddr("192.0.2.1") || a.ShownToken != nil {
		t.Errorf("attempt %+v", a)
	}
	if len(g.proved) != 1 || g.proved[0] != 7 {
		t.Errorf("proved %v", g.proved)
	}
	// So are guesses of a person who found an open console.
	g.left = 100
	c := w.enter()
	g.left = 0
	page = w.sendForm(c, "/console/expiry", "idle", "1h", "absolute", "30d", "touch", "1m", "schedule", "@every 1m", "version", "1",
		"do", "confirm", "confirm_for", dialKey, "confirm_password", passphrase)
	wantStatus(t, page, 429)
	wantText(t, page, "Too many attempts.", `value="1h"`)
	if page.Header().Get("Retry-After") == "" {
		t.Error("nothing says how long to wait")
	}
	if a := g.attempts[len(g.attempts)-1]; a.Account != "ada" || len(a.ShownToken) == 0 {
		t.Errorf("attempt %+v", a)
	}
}

// An attempt that could not be counted is not made.
func TestAttemptThatCannotBeCountedIsNotMade(t *testing.T) {
	w := newWorld(t)
	w.ui.Own.Attempts = &limiter{left: 2, err: errors.New("no route")}
	page := w.do(postForm("/console/login", url.Values{"username": {"ada"}, "password": {passphrase}}))
	wantStatus(t, page, 503)
	if page.Header().Get("Retry-After") == "" || len(w.living) != 0 {
		t.Errorf("%v, %d logins", page.Header(), len(w.living))
	}
}

// A browser that was logged in shows it at the next login, also after a logout.
func TestBrowserKeepsADeviceCredential(t *testing.T) {
	w := newWorld(t)
	g := &limiter{left: 10}
	w.ui.Own.Attempts = g
	page := w.do(postForm("/console/login", url.Values{"username": {"ada"}, "password": {passphrase}}))
	wantStatus(t, page, 303)
	kept := cookieOf(page, "__Host-flakepass-device")
	if kept == nil || !kept.HttpOnly || !kept.Secure || kept.SameSite != http.SameSiteStrictMode || kept.Path != "/" || kept.MaxAge != 90*24*3600 {
		t.Fatalf("cookie %v", kept)
	}
	again := postForm("/console/login", url.Values{"username": {"ada"}, "password": {"wrong"}})
	again.AddCookie(kept)
	wantStatus(t, w.do(again), 401)
	if a := g.attempts[1]; a.Credential.Reveal() != kept.Value {
		t.Errorf("shown: %q", a.Credential.Reveal())
	}
}

// What no account can have as a name or as a password is refused uncounted.
func TestImpossibleLoginIsNotCounted(t *testing.T) {
	w := newWorld(t)
	g := &limiter{left: 10}
	w.ui.Own.Attempts = g
	for name, password := range map[string]string{"ada": strings.Repeat("x", 2000), "nobody": strings.Repeat("x", 2000), "no such name!": passphrase} {
		wantStatus(t, w.do(postForm("/console/login", url.Values{"username": {name}, "password": {password}})), 401)
	}
	if len(g.attempts) != 0 {
		t.Errorf("counted: %v", g.attempts)
	}
}
