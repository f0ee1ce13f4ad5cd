package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
	"github.com/flakepass/flakepass/internal/edge/verb"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

var resetToken = account.NewResetToken()

func (s *staff) StartReset(_ context.Context, by audit.Actor, id idworker.ID, life time.Duration, reason string) (operator.StartedReset, error) {
	return operator.StartedReset{Token: resetToken, ExpiresAt: at}, s.act(by, "reset %v for %v, %q", id, life, reason)
}

func (s *staff) WithdrawReset(_ context.Context, by audit.Actor, id idworker.ID, reason string) error {
	return s.act(by, "withdraw reset %v, %q", id, reason)
}

func (s *staff) ListResets(ctx context.Context, issuer, before idworker.ID, limit int) ([]account.OpenReset, error) {
	return s.open[:min(len(s.open), limit)], s.note(ctx, "resets by %v before %v, %d", issuer, before, limit)
}

func (s *staff) WithdrawIssued(_ context.Context, by audit.Actor, issuer idworker.ID, reason string) (int, error) {
	return 3, s.act(by, "withdraw resets by %v, %q", issuer, reason)
}

// TestOpenResetsAreListedWithoutTheirTokens: by whom, for whom and until when, and
// where the next page begins.
func TestOpenResetsAreListedWithoutTheirTokens(t *testing.T) {
	s := &staff{open: []account.OpenReset{
		{ID: idworker.Default().Smallest(at) + 2, UserID: 41, Username: "alice", Issuer: account.Issuer{ID: 7, Name: "eve"}, ExpiresAt: at.Add(time.Hour)},
		{ID: idworker.Default().Smallest(at) + 1, UserID: 42, Username: "bob", Issuer: account.Issuer{Name: "root@host"}, ExpiresAt: at.Add(time.Hour)},
	}}
	first := `{"id":"` + s.open[0].ID.String() + `","user_id":"41","username":"alice","issuer":{"id":"7","name":"eve"},` +
		`"issued_at":"2026-11-21T09:12:33.123Z","expires_at":"2026-11-21T10:12:33.123Z"}`
	second := `{"id":"` + s.open[1].ID.String() + `","user_id":"42","username":"bob","issuer":{"name":"root@host"},` +
		`"issued_at":"2026-11-21T09:12:33.123Z","expires_at":"2026-11-21T10:12:33.123Z"}`
	for path, want := range map[string]string{
		"/v1/admin/password-resets":         `{"password_resets":[` + first + `,` + second + `]}`,
		"/v1/admin/password-resets?limit=1": `{"password_resets":[` + first + `],"next_cursor":"` + s.open[0].ID.String() + `"}`,
	} {
		if status, body := ask(t, adminAPI(t, s), "GET", path, ""); status != 200 || body != want {
			t.Errorf("%s: %d %s, want %s", path, status, body, want)
		}
	}
	for _, by := range []string{"", "0", "alice", "041", "9223372036854775808"} {
		status, body := ask(t, adminAPI(t, &staff{}), "GET", "/v1/admin/password-resets?issued_by="+by, "")
		if status != 422 || !strings.Contains(body, `"field":"issued_by","code":"malformed"`) {
			t.Errorf("issued_by=%s: %d %s", by, status, body)
		}
	}
	status, body := ask(t, adminAPI(t, &staff{err: account.ErrNotFound}), "DELETE", "/v1/admin/users/41/issued-password-resets", "")
	if status != 404 {
		t.Errorf("of an unknown user: %d %s", status, body)
	}
	if _, body := ask(t, adminAPI(t, &staff{}), "DELETE", "/v1/admin/users/41/issued-password-resets", ""); body != `{"withdrawn":3}` {
		t.Errorf("withdrawn: %s", body)
	}
}

func (s *staff) Invite(_ context.Context, by audit.Actor, name string, role account.Role, life time.Duration, reason string) (account.User, operator.StartedReset, error) {
	return alice, operator.StartedReset{Token: resetToken, ExpiresAt: at}, s.act(by, "invite %s as %s for %v, %q", name, role, life, reason)
}

func (s *staff) ByReset(ctx context.Context, hash account.ResetHash, _ time.Time) (account.User, account.Issuer, error) {
	return alice, account.Issuer{}, s.note(ctx, "use %v", hash == resetToken.Hash())
}

func (s *staff) UseReset(context.Context, account.Reset, int64, account.PHC, time.Time, audit.Event) ([]session.Session, error) {
	return nil, nil
}

// TestStartedResetIsShownOnce: with a link if the operator has said where people
// reach the server, and never with one made of what the request says.
func TestStartedResetIsShownOnce(t *testing.T) {
	text := resetToken.Reveal()
	token := `"reset_token":"` + text + `"`
	for base, want := range map[string]string{
		"":                         `{` + token + `,"expires_at":"2026-11-21T09:12:33.123Z"}`,
		"https://auth.example.org": `{` + token + `,"url":"https://auth.example.org/console/password#` + text + `","expires_at":"2026-11-21T09:12:33.123Z"}`,
	} {
		s, log := &staff{role: "admin"}, &testenv.Journal{}
		h := handler(t, &s.world, func(o *httpapi.Options) {
			o.Sessions, o.People, o.Own.Links, o.PublicURL = s, verb.People{Users: s, Resets: s}, s, base
			o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		if _, body := ask(t, h, "POST", "/v1/admin/users/41/password-reset", ""); body != want {
			t.Errorf("got %s, want %s", body, want)
		}
		_, body := ask(t, h, "POST", "/v1/admin/users", `{"username":"bob","role":"user"}`)
		if !strings.HasSuffix(body, `,"password_reset":`+want+`}`) || !strings.HasPrefix(body, `{"id":"41","username":"alice"`) {
			t.Errorf("invited: %s", body)
		}
		ask(t, h, "POST", "/v1/password-resets", `{"reset_token":"`+text+`","new_password":"`+password+`"}`)
		if strings.Contains(log.String(), text) || !strings.Contains(log.String(), "event=user.reset_used") {
			t.Errorf("the log: %s", log)
		}
	}
}

func TestUseOfAReset(t *testing.T) {
	good := `{"reset_token":"` + resetToken.Reveal() + `","new_password":"` + password + `"}`
	wrong := &invalid.Error{Fields: []invalid.Field{{Field: "password", Code: account.CodeTooShort, Message: "must be longer"}}}
	for _, c := range []struct {
		name, body string
		err, limit error
		status     int
		says       string
		asked      bool
	}{
		{"good", good, nil, nil, 204, "", true},
		{"good, unpublished", good, session.ErrUnpublished, nil, 204, "", true},
		{"used", good, account.ErrReset, nil, 403, `"code":"reset_token_invalid"`, true},
		{"no token", `{"reset_token":"fpr_x","new_password":"x"}`, nil, nil, 403, `"code":"reset_token_invalid"`, false},
		{"nothing", `{}`, nil, nil, 403, `"code":"reset_token_invalid"`, false},
		{"mistyped", strings.Replace(good, "fpr_", "fpr-", 1), nil, nil, 403, `"code":"reset_token_invalid"`, false},
		{"disabled", good, account.ErrDisabled, nil, 403, `"code":"account_disabled"`, true},
		{"bad password", good, wrong, nil, 422, `"field":"new_password"`, true},
		{"busy", good, account.ErrBusy, nil, 503, `"code":"busy"`, true},
		{"database away", good, context.DeadlineExceeded, nil, 503, `"code":"unavailable"`, true},
		{"too many", good, nil, &ratelimit.LimitedError{Limit: "reset", Rule: limit.Rule{Count: 30, Per: time.Minute}}, 429, `"code":"rate_limited"`, false},
		{"another field", `{"reset_token":"x","new_password":"x","username":"alice"}`, nil, nil, 400, `"code":"body_malformed"`, false},
	} {
		s := &staff{err: c.err}
		if c.err != nil {
			s.err = fmt.Errorf("login: reset: %w", c.err)
		}
		s.limit = c.limit
		status, body := ask(t, adminAPI(t, s), "POST", "/v1/password-resets", c.body)
		if status != c.status || !strings.Contains(body, c.says) || (s.asked != "") != c.asked {
			t.Errorf("%s: %d %s, asked %q, want %d %s", c.name, status, body, s.asked, c.status, c.says)
		}
		if forgets := c.status == http.StatusNoContent; forgets != (len(s.known) == 1) {
			t.Errorf("%s: what was counted is forgotten of %v", c.name, s.known)
		}
	}
}

// TestResetLifetimesOutOfRange reach the domain as such, and do not wrap round or
// become the default.
func TestResetLifetimesOutOfRange(t *testing.T) {
	for seconds, want := range map[string]string{
		"0": "1ns", "-1": "1ns", "-9223372036854775808": "1ns", "-10000000000": "1ns",
		"86401": "24h0m1s", "9223372036854775807": "24h0m1s", "600": "10m0s",
	} {
		s := &staff{}
		ask(t, adminAPI(t, s), "POST", "/v1/admin/users/41/password-reset", `{"reset_lifetime_seconds":`+seconds+`}`)
		if s.asked != "reset 41 for "+want+`, ""` {
			t.Errorf("%s: asked %q", seconds, s.asked)
		}
	}
	for body, code := range map[string]string{
		`{"username":"bob","role":"user","password":"x","reset_lifetime_seconds":900}`: "reset_lifetime_seconds",
		`{"username":"bob","role":"user","password":null}`:                             "body_malformed",
		`{"username":"bob","role":"user","reset_lifetime_seconds":"900"}`:              "body_malformed",
		`{"username":"bob","role":"user","reset_lifetime_seconds":1.5}`:                "body_malformed",
	} {
		s := &staff{}
		if _, answer := ask(t, adminAPI(t, s), "POST", "/v1/admin/users", body); !strings.Contains(answer, code) || s.asked != "" {
			t.Errorf("%s: %s, asked %q", body, answer, s.asked)
		}
	}
}

// TestEmptyBodyOfUnknownLengthIsNone: a request whose length is not said, as of HTTP/2 or
// with chunks, may have an empty body. POST /v1/logout knows that; the other routes with a body
// that may be left out do not.
func TestEmptyBodyOfUnknownLengthIsNone(t *testing.T) {
	at := httptest.NewServer(adminAPI(t, &staff{}))
	defer at.Close()
	for _, c := range [][2]string{
		{"POST", "/v1/logout"}, {"POST", "/v1/admin/logout-all"}, {"DELETE", "/v1/admin/sessions/9"}, {"POST", "/v1/admin/users/41/logout"},
		{"POST", "/v1/admin/users/41/password-reset"}, {"DELETE", "/v1/admin/users/41/password-reset"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c[0], at.URL+c[1], struct{ io.Reader }{strings.NewReader("")})
		if err != nil {
			t.Fatal(err)
		}
		req.ContentLength = -1
		req.TransferEncoding = []string{"chunked"}
		req.Header.Set("Authorization", "Bearer "+flakepass.NewToken(who.SessionID).Reveal())
		resp, err := at.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode >= 300 {
			t.Errorf("%s %s: %d %s", c[0], c[1], resp.StatusCode, text)
		}
	}
}
