package console_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/limit"
)

// A change of limits is in the history in words, and a change of times by this
// page leaves the limits as they are.
func TestHistoryTellsOfLimits(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	if page := w.dial(c).Body.String(); strings.Contains(page, "Attempts") {
		t.Error("limits that were not changed are in the history")
	}
	next := w.policies.inForce
	next.Version++
	next.Limits.LoginAddress = limit.Rule{Count: 240, Per: time.Minute}
	next.Limits.LoginPlace = [limit.MaxPlace]limit.Rule{{Count: 4, Per: time.Minute}, {Count: 40, Per: 24 * time.Hour}}
	w.policies.inForce, w.policies.history = next, append(w.policies.history, next)
	wantText(t, w.dial(c, "version", "2"),
		"Attempts for one account from one place: <del>5 in 1 minute, 20 in 1 hour, 50 in 1 day</del> → <ins>4 in 1 minute, 40 in 1 day</ins>",
		"Attempts from one address: <del>120 in 1 minute</del> → <ins>240 in 1 minute</ins>")

	wantStatus(t, w.dial(c, "do", "save", "idle", "10d", "version", "2"), 303)
	if got := w.policies.inForce; got.Version != 3 || got.Limits != next.Limits || got.Idle != 10*24*time.Hour {
		t.Errorf("in force: %+v", got)
	}
	wantStatus(t, w.sendForm(c, "/console/expiry/revert", "to", "1", "version", "3"), 303)
	if got := w.policies.inForce.Limits; got != limit.Default() {
		t.Errorf("back at version 1: %+v", got)
	}
}

// An attempt that reveals nothing is returned, at the login and where
// the password is asked for once more.
func TestUndecidedAttemptIsGivenBack(t *testing.T) {
	w := newWorld(t)
	g := &limiter{left: 100}
	w.ui.Own.Attempts = g
	c := w.enter()
	for err, back := range map[error]int{account.Undecided(account.ErrBusy): 1, account.ErrBusy: 0, account.ErrWrong: 0} {
		w.loginErr, w.proofErr = err, err
		g.left = 10
		w.do(postForm("/console/login", url.Values{"username": {"ada"}, "password": {"x"}}))
		if g.left != 9+back {
			t.Errorf("login, %v: %d attempts left of 10", err, g.left)
		}
		g.left = 10
		w.sendForm(c, "/console/expiry", "idle", "1h", "absolute", "30d", "touch", "1m", "schedule", "@every 1m", "version", "1",
			"do", "confirm", "confirm_for", dialKey, "confirm_password", passphrase)
		if g.left != 9+back {
			t.Errorf("confirmation, %v: %d attempts left of 10", err, g.left)
		}
	}
}
