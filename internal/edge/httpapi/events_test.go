package httpapi_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
	"github.com/flakepass/flakepass/internal/proof/accounttest"
)

// logged is what the server logs about one request.
func logged(t *testing.T, w *world, edit func(*httpapi.Options), method, path, body string) string {
	t.Helper()
	var log bytes.Buffer
	h := handler(t, w, func(o *httpapi.Options) {
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
		if edit != nil {
			edit(o)
		}
	})
	ask(t, h, method, path, body)
	return log.String()
}

// TestLogoutOfWhatWasOverIsNoLogout: who reads the log sees when a login ended,
// and not when a client tried to end it again.
func TestLogoutOfWhatWasOverIsNoLogout(t *testing.T) {
	if log := logged(t, &world{}, nil, "POST", "/v1/logout", ""); !strings.Contains(log, "msg=logout user_id=7 ") {
		t.Errorf("a logout is logged as: %s", log)
	}
	log := logged(t, &world{before: true}, nil, "POST", "/v1/logout", "")
	if strings.Contains(log, "msg=logout ") || !strings.Contains(log, "was over") || !strings.Contains(log, "reason=logged_out") {
		t.Errorf("a second logout is logged as: %s", log)
	}
}

// TestRefusedLoginNamesTheAccountAndNotTheName: with the real rules for
// accounts, the log has the ID of the user with the name, and never what was typed
// there, which may be a password.
func TestRefusedLoginNamesTheAccountAndNotTheName(t *testing.T) {
	users := &accounttest.Users{}
	accounts := &account.Service{Users: users, Hasher: accounttest.NewHasher(t), IDs: &numbers{last: 40}, Now: time.Now}
	for _, name := range []string{"alice", "a.password.of.somebody"} {
		if _, err := accounttest.Register(t.Context(), accounts, users, name, account.NewPassword(password), account.RoleUser); err != nil {
			t.Fatal(err)
		}
	}
	genuine := func(o *httpapi.Options) { o.Own.Accounts, o.Own.Names = accounts, accounts }
	for name, id := range map[string]string{
		"alice": "user_id=41 ", "ALICE": "user_id=41 ", "a.password.of.somebody": "user_id=42 ", "nobody": "", password: "", "": "",
	} {
		body := fmt.Sprintf(`{"username":%q,"password":"not the right passphrase"}`, name)
		log := logged(t, &world{}, genuine, "POST", "/v1/login", body)
		if !strings.Contains(log, "login refused") || !strings.Contains(log, "credentials_invalid") {
			t.Errorf("%q: logged as %s", name, log)
		}
		if !strings.Contains(log, id) || strings.Contains(log, "user_id") != (id != "") {
			t.Errorf("%q: want %q in %s", name, id, log)
		}
		if name != "" && strings.Contains(strings.ToLower(log), strings.ToLower(name)) {
			t.Errorf("%q: the log repeats what was typed: %s", name, log)
		}
	}
}

// TestUndecidedIsLoggedUnderTheRequestsName: with the ID in the answer, whether
// the client or the server chose it.
func TestUndecidedIsLoggedUnderTheRequestsName(t *testing.T) {
	for _, given := range []string{"", "a-name-of-the-client", "not a harmless name"} {
		var log bytes.Buffer
		h := handler(t, &world{verify: errors.New("the database is away")}, func(o *httpapi.Options) {
			o.Log = slog.New(slog.NewTextHandler(&log, nil))
		})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x/v1/me", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+flakepass.NewToken(who.SessionID).Reveal())
		if given != "" {
			req.Header.Set("X-Request-Id", given)
		}
		_, _, header := byContract(t, h, req)
		answered := header.Get("X-Request-Id")
		if !strings.Contains(log.String(), "cannot tell") || !strings.Contains(log.String(), "request_id="+answered) {
			t.Errorf("answered %q, logged as %s", answered, log.String())
		}
	}
}

// TestRefusedLoginHasNoTimeLeft: the guard believed the token, and the transaction found that the login
// has ended: the 401 must not say that it has an hour left.
func TestRefusedLoginHasNoTimeLeft(t *testing.T) {
	h := handler(t, &world{change: &session.RefusedError{ID: 9, UserID: 7, Username: "zoë", Err: flakepass.ErrRevoked}}, nil)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x/v1/me/reauthenticate", strings.NewReader(`{"password":"`+password+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+flakepass.NewToken(who.SessionID).Reveal())
	req.Header.Set("Content-Type", "application/json")
	status, body, header := byContract(t, h, req)
	_, says := header[http.CanonicalHeaderKey(flakepass.ExpiresInHeader)]
	if status != http.StatusUnauthorized || says {
		t.Errorf("%d %s %s: %q", status, body, flakepass.ExpiresInHeader, header.Get(flakepass.ExpiresInHeader))
	}
}
