package console_test

import (
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/invalid"
)

// A new user can be given a link instead of a passphrase that the admin knows; the
// link is shown once.
func TestNewUserByLink(t *testing.T) {
	w := newWorld(t)
	w.populate(2)
	r := w.giveResets()
	c := w.enter()
	wantText(t, w.see(c, "/console/users"), "How the passphrase is set", `name="by" value="password" checked`, `name="by" value="link" aria`, `value="3600" selected`)
	invite := func(pairs ...string) *httptest.ResponseRecorder {
		return w.sendForm(c, "/console/users", append([]string{"username", " carol ", "role", "user", "by", "link", "life", "600", "reason", "new here", "password", ""}, pairs...)...)
	}
	page := invite()
	wantStatus(t, page, 201)
	token := r.live[50].Reveal()
	wantText(t, page, "The user is created.", "One-time link", `value="/console/password#`+token+`"`, "carol", `href="/console/users/50"`, `action="/console/users/50/reset/withdraw"`)
	if len(r.calls) != 1 || r.calls[0] != "invite carol user 10m0s new here" {
		t.Errorf("calls: %q", r.calls)
	}
	wantNoText(t, w.see(c, "/console/users"), token)
	wantStatus(t, w.setPassword(token, passphrase, passphrase), 200)

	// An admin who is invited may do everything: it needs the password, as always.
	page = invite("role", "admin", "confirm_password", "wrong one")
	wantStatus(t, page, 403)
	wantText(t, page, "The passphrase is wrong.", `name="by" value="link" checked`, `value="600" selected`, `value="carol"`)
	wantStatus(t, invite("role", "admin", "confirm_password", passphrase), 201)
	wantStatus(t, invite("life", "soon"), 400)

	// What is wrong is said, and what was chosen stays.
	for err, status := range map[error]int{
		account.ErrExists: 409, errors.New("database away"): 503,
		&invalid.Error{Fields: []invalid.Field{{Field: "username", Code: account.CodeTooShort, Message: "must have at least 3 characters"}}}: 422,
	} {
		r.err = err
		page := invite()
		wantStatus(t, page, status)
		if status != 503 {
			wantText(t, page, `name="by" value="link" checked`, `value="600" selected`)
		}
	}
}

// Every page on which a user chooses a passphrase asks for it in the same way.
func TestPassphraseFieldIsTheSame(t *testing.T) {
	w := newWorld(t)
	w.populate(2)
	w.giveResets()
	c := w.enter()
	for name, page := range map[string]*httptest.ResponseRecorder{"setup": w.open(), "password": w.get("/console/password"), "users": w.see(c, "/console/users")} {
		wantText(t, page, `<p class="hint" id="password-hint">At least 15 characters.`, ` autocomplete="new-password" aria-describedby="password-hint"`)
		if name != "users" {
			wantText(t, page, `type="password" required minlength="15"`, `id="reveal"`, `id="length"`)
		}
	}
	wantText(t, w.setPassword(account.NewResetToken().Reveal(), "short", "other"), `aria-invalid="true" aria-describedby="password-hint password-error"`, `id="password-again"`)
}
