package console_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/edge/console"
)

func TestLinkLivesForOneHour(t *testing.T) {
	w := newWorld(t)
	w.pass(console.LinkLife - time.Second)
	wantStatus(t, w.open(), 200)
	w.pass(time.Second)
	for _, page := range []*httptest.ResponseRecorder{w.open(), w.send("grace", passphrase)} {
		wantStatus(t, page, 410)
		wantText(t, page, "This link has expired", "restart the server", "flakepass user add NAME --role admin")
	}
	if w.admins() != 0 {
		t.Error("an expired link created an admin")
	}
}

func TestOnlyTheLastLinkWorks(t *testing.T) {
	w := newWorld(t)
	old := w.code
	w.code = w.newLink()
	wantStatus(t, w.get("/console/setup?code="+old), 404)
	wantStatus(t, w.do(post(old, "mallory", passphrase)), 404)
	wantStatus(t, w.send("grace", passphrase), 303)
}

func TestOpeningDoesNotSpend(t *testing.T) {
	w := newWorld(t)
	for range 3 {
		wantStatus(t, w.open(), 200)
	}
	wantStatus(t, w.do(httptest.NewRequest(http.MethodHead, "/console/setup?code="+w.code, nil)), 200)
	wantStatus(t, w.send("grace", passphrase), 303)
}

func TestAdminMadeElsewhereEndsTheLinkForGood(t *testing.T) {
	w := newWorld(t)
	w.names = []string{"ada"}
	wantStatus(t, w.open(), 410)
	wantStatus(t, w.send("grace", passphrase), 410)
	w.names = nil // the admin is gone; the link stays dead
	wantStatus(t, w.open(), 410)
	wantStatus(t, w.send("grace", passphrase), 410)
}

func TestGuessedCodeCostsNoQuery(t *testing.T) {
	w := newWorld(t)
	asked := w.asked
	for _, code := range []string{"", "A", strings.Repeat("A", 26), w.code + "A", w.code[1:], strings.ToLower(w.code)} {
		page := w.get("/console/setup?code=" + code)
		wantStatus(t, page, 404)
		wantText(t, page, "This link is not valid", "restart the server")
		wantStatus(t, w.do(post(code, "grace", passphrase)), 404)
	}
	if w.asked != asked {
		t.Errorf("wrong codes asked the database %d times", w.asked-asked)
	}
}

func TestNoLinkNoWay(t *testing.T) {
	w := newWorld(t)
	fresh := console.New(console.Options{HasAdmin: w.hasAdmin, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	w.h = fresh.Handler()
	for _, code := range []string{"", w.code} {
		wantStatus(t, w.get("/console/setup?code="+code), 404)
		wantStatus(t, w.do(post(code, "grace", passphrase)), 404)
	}
}

func TestLinkIsAsItWasAfterAnError(t *testing.T) {
	w := newWorld(t)
	w.hasErr = errors.New("no database")
	if _, err := w.ui.SetupPath(t.Context()); !errors.Is(err, w.hasErr) {
		t.Errorf("error = %v, want that of HasAdmin", err)
	}
	w.hasErr = nil
	wantStatus(t, w.open(), 200)
}

// Nothing that prints a UI shows the code: only its hash is kept.
func TestUIDoesNotKnowTheCode(t *testing.T) {
	w := newWorld(t)
	wantStatus(t, w.open(), 200)
	if s := fmt.Sprintf("%v %+v %#v", w.ui, w.ui, w.ui); strings.Contains(s, w.code) {
		t.Error("the code is kept")
	}
}
