package adminui_test

import (
	"context"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/account"
	"github.com/flakepass/flakepass/internal/adminui"
)

// gate lets so many attempts through, and remembers them.
type gate struct {
	left     int
	attempts []adminui.Attempt
	proved   []idworker.ID
}

func (g *gate) Login(_ context.Context, a adminui.Attempt) (account.Asker, adminui.Held, func()) {
	g.attempts = append(g.attempts, a)
	if g.left--; g.left < 0 {
		return account.Asker{}, adminui.Held{For: 1500 * time.Millisecond, Limit: "login-place"}, nil
	}
	return account.Asker{}, adminui.Held{}, func() { g.left++ }
}

func (g *gate) LoggedIn(_ context.Context, _ adminui.Attempt, user idworker.ID) {
	g.proved = append(g.proved, user)
}

// The console is no way around the limits of the API.
func TestGuessesAreBounded(t *testing.T) {
	w := newWorld(t)
	g := &gate{left: 2}
	w.ui.Gate = g
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
	if a := g.attempts[0]; a.Account != "ada" || a.Address != netip.MustParseAddr("192.0.2.1") || a.Device != nil {
		t.Errorf("attempt %+v", a)
	}
	if len(g.proved) != 1 || g.proved[0] != 7 {
		t.Errorf("proved %v", g.proved)
	}
	// So are guesses of somebody who found an open console.
	g.left = 100
	c := w.enter()
	g.left = 0
	page = w.sendForm(c, "/console/expiry", "idle", "1h", "absolute", "30d", "touch", "1m", "schedule", "@every 1m", "version", "1",
		"do", "confirm", "confirm_for", "1h|30d|1m|@every 1m|1", "confirm_password", passphrase)
	wantStatus(t, page, 429)
	wantText(t, page, "Too many attempts.", `value="1h"`)
	if page.Header().Get("Retry-After") == "" {
		t.Error("nothing says how long to wait")
	}
	if a := g.attempts[len(g.attempts)-1]; a.Account != "ada" || len(a.Device) == 0 {
		t.Errorf("attempt %+v", a)
	}
}
