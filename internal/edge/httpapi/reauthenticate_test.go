package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
)

// TestReauthenticationSaysWhatIsMissing: a wrong proof is 403, for the login goes
// on; a login that was over is refused as its token would be.
func TestReauthenticationSaysWhatIsMissing(t *testing.T) {
	for err, want := range map[error]string{
		nil: "204", account.ErrWrong: "403 current_password_invalid", secondfactor.ErrRequired: "403 current_code_invalid",
		secondfactor.ErrInvalid: "403 current_code_invalid", account.ErrBusy: "503 busy",
		account.Undecided(flakepass.ErrRevoked): "401 token_revoked",
	} {
		w := &world{change: err}
		status, body := ask(t, handler(t, w, nil), "POST", "/v1/me/reauthenticate", `{"password":"x","code":"123456"}`)
		code, want, _ := strings.Cut(want, " ")
		if fmt.Sprint(status) != code || want != "" && !strings.Contains(body, `"code":"`+want+`"`) {
			t.Errorf("%v: got %d %s, want %s %s", err, status, body, code, want)
		}
		if (err == nil) != (len(w.known) == 1) {
			t.Errorf("%v: %d attempts were right", err, len(w.known))
		}
	}
}

// TestRefusedChangeNamesTheReason: by a use case, after the guard of the route
// has let the token through.
func TestRefusedChangeNamesTheReason(t *testing.T) {
	for err, want := range map[error]struct {
		status          int
		code, challenge string
	}{
		fmt.Errorf("sqlstore: %w", audit.ErrRole):                            {403, "forbidden", "insufficient_scope"},
		fmt.Errorf("sqlstore: %w", audit.ErrUnproven):                        {403, "reauthentication_required", ""},
		fmt.Errorf("sqlstore: %w", flakepass.ErrRevoked):                     {401, "token_revoked", "invalid_token"},
		fmt.Errorf("x: %w", account.Undecided(flakepass.ErrAccountDisabled)): {401, "account_disabled", "invalid_token"},
	} {
		f := newOperators()
		f.err = err
		a := f.send(t, "PUT", "/v1/admin/policy", change+"}", "If-Match", `"7"`)
		got := a.header.Get("WWW-Authenticate")
		if a.status != want.status || a.code != want.code || !strings.Contains(got, want.challenge) || want.challenge == "" && got != "" {
			t.Errorf("%v: got %d %s, challenge %q", err, a.status, a.code, got)
		}
	}
}

// TestServiceWhoseLoginIsOverRevokesNothing, and the refusal is an error of OAuth.
func TestServiceWhoseLoginIsOverRevokesNothing(t *testing.T) {
	for name, want := range map[string]string{"Bearer": "invalid_token", "Basic": "invalid_client"} {
		w := ofService()
		w.end = fmt.Errorf("sqlstore: %w", flakepass.ErrLoggedOut)
		credential := authorization("Bearer " + caller)
		if name == "Basic" {
			credential = authorization(basic("billing", caller))
		}
		a := post(t, handler(t, w, nil), "/v1/revoke", "token="+flakepass.NewToken(77).Reveal(), credential)
		if a.status != 401 || a.Code != "token_logged_out" || a.Error != want || !strings.HasPrefix(a.header.Get("WWW-Authenticate"), name) {
			t.Errorf("%s: %d %s, %q", name, a.status, a.body, a.header.Get("WWW-Authenticate"))
		}
	}
}
