package httpapi_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
	"github.com/flakepass/flakepass/internal/proof/apitest"
)

// support verifies every token as one by which the admin 4711 acts for a user.
type support struct{}

func (support) Verify(context.Context, flakepass.Token) (flakepass.Identity, error) {
	as := who
	as.Role, as.Act = "user", 4711
	return as, nil
}

// acted is the API to who acts for a user, with nothing behind it.
func acted(t *testing.T, incidents audit.Incidents) http.Handler {
	t.Helper()
	h, err := httpapi.New(httpapi.Options{Sessions: support{}, Own: &login.Service{Users: factorless{}}, Incidents: incidents, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestImpersonationWritesNothing: of all routes that the router has, those of the own account
// that change something are refused before they do anything, as the contract of each lists, and
// those of others as to any user.
func TestImpersonationWritesNothing(t *testing.T) {
	writes := 0
	for _, r := range apitest.Served(t, acted(t, nil)) {
		name := r[0] + " " + r[1]
		if access[name] == public || access[name] == holders || access[name] == issuers {
			continue
		}
		req := httptest.NewRequestWithContext(t.Context(), r[0], strings.ReplaceAll(r[1], "{id}", "41"), strings.NewReader("token=x"))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Authorization", "Bearer "+flakepass.NewToken(who.SessionID).Reveal())
		status, body, _ := byContract(t, acted(t, nil), req)
		want := ""
		switch {
		case access[name] != people && access[name] != leavers:
			want = "forbidden"
			if strings.Contains(body, `"error":"insufficient_scope"`) {
				continue // as an OAuth client is told
			}
		case r[0] != http.MethodGet, r[1] == "/v1/me/export":
			want = "impersonated"
			writes++
		}
		var said struct{ Code string }
		_ = json.Unmarshal([]byte(body), &said)
		if want == "" && status == http.StatusForbidden || want != "" && (status != http.StatusForbidden || said.Code != want) {
			t.Errorf("%s: %d %s, want %q", name, status, body, want)
		}
	}
	if writes < 8 {
		t.Errorf("%d routes of the own account change something", writes)
	}
}

// TestAnAttemptToChangeIsOnRecord as access that was forbidden, of the admin and not of the user.
func TestAnAttemptToChangeIsOnRecord(t *testing.T) {
	for path, body := range map[string]string{"PUT /v1/me/password": `{}`, "POST /v1/logout": `{"everywhere":true}`, "GET /v1/admin/users": "", "GET /v1/me/export": "", "DELETE /v1/me/sessions/41": ""} {
		noted := &incidents{}
		method, target, _ := strings.Cut(path, " ")
		r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+flakepass.NewToken(who.SessionID).Reveal())
		r.Header.Set("Content-Type", "application/json")
		status, _, _ := byContract(t, acted(t, noted), r)
		if status != 403 || len(noted.list) != 1 || noted.list[0].Action != audit.AccessForbidden || noted.list[0].By.ID != 4711 || noted.list[0].By.Name != "" ||
			!noted.list[0].Admin || noted.list[0].Target.ID != idworker.ID(who.UserID) || noted.list[0].By.Session != idworker.ID(who.SessionID) {
			t.Errorf("%s: %d, noted %+v", path, status, noted.list)
		}
	}
}

type incidents struct{ list []audit.Incident }

func (i *incidents) Note(n audit.Incident) bool { i.list = append(i.list, n); return true }

// TestEveryAnswerSaysWhoActs: to the app, to a proxy, to an OAuth client and to a Remote, which
// must not repeat it.
func TestEveryAnswerSaysWhoActs(t *testing.T) {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/me", nil)
	r.Header.Set("Authorization", "Bearer "+flakepass.NewToken(who.SessionID).Reveal())
	w := httptest.NewRecorder()
	acted(t, nil).ServeHTTP(w, r)
	var me wire.Me
	if err := json.Unmarshal(w.Body.Bytes(), &me); err != nil || me.Session.Act.Admin() != 4711 {
		t.Errorf("me: %s, %v", w.Body, err)
	}
	plain, _ := json.Marshal(me)
	if got := string(me.AppendJSON(nil)); got != string(plain) {
		t.Errorf("got  %s\nwant %s", got, plain)
	}
	r.URL.Path = "/v1/verify"
	w = httptest.NewRecorder()
	acted(t, nil).ServeHTTP(w, r)
	if got := w.Header().Get("X-Auth-Act"); got != "4711;"+me.Session.ID.String() || w.Header().Get("X-Auth-Session-Id") != "" {
		t.Errorf("verify: %q", w.Header())
	}
}
