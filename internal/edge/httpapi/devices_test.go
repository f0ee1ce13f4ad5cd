package httpapi_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

var (
	thisOne     = fmt.Sprint(who.SessionID)
	errUnproven = fmt.Errorf("sqlstore: %w", audit.ErrUnproven)
)

func TestMySessionsShowWhichOneAsks(t *testing.T) {
	const times = `"issued_at":"2026-11-21T09:12:33.123Z","last_seen_at":"2026-11-21T09:12:33.123Z","expires_at":"2026-11-21T10:12:33.123Z","idle_expires_at":"2026-11-21T09:13:33.123Z"`
	const pwd, pwd41 = `,"auth_method":"pwd","auth_time":"2018-02-12T23:32:29.027Z"`, `,"auth_method":"pwd","auth_time":"2014-12-31T16:00:00.000Z"`
	want := `{"sessions":[{"id":"` + thisOne + `","device":{"class":"phone","name":"Zoë’s phone"},` + times + pwd + `,"current":true},` +
		`{"id":"41","device":{"class":"other"},` + times + pwd41 + `,"current":false}]}`
	if status, body := ask(t, handler(t, &world{mine: []idworker.ID{41}}, nil), "GET", "/v1/me/sessions", ""); status != 200 || body != want {
		t.Errorf("got %d %s, want %s", status, body, want)
	}
	if status, _ := ask(t, handler(t, &world{unread: errors.New("away")}, nil), "GET", "/v1/me/sessions", ""); status != 503 {
		t.Errorf("while the rows cannot be read: %d", status)
	}
}

// TestEndOfMySession is what each answer of the verb becomes.
func TestEndOfMySession(t *testing.T) {
	for _, c := range []struct {
		id   string
		w    *world
		want string
	}{
		{"41", &world{}, "204"},
		{thisOne, &world{}, "204"},
		{"41", &world{before: true}, "204"},
		{"41", &world{end: session.ErrUnpublished}, `202 {"effective_within_ms":5000}`},
		{"41", &world{end: errUnproven}, "403 reauthentication_required"},
		{"41", &world{end: fmt.Errorf("x: %w", flakepass.ErrLoggedOut)}, "401 token_logged_out"},
		{"41", &world{end: fmt.Errorf("x: %w", flakepass.ErrAccountDisabled)}, "401 account_disabled"},
		{"41", &world{end: errors.New("away")}, "503 unavailable"},
		{"43", &world{}, "404 not_found"},
		{"0", &world{}, "404 not_found"},
		{"x", &world{}, "404 not_found"},
		{"041", &world{}, "404 not_found"},
		{"9223372036854775808", &world{}, "404 not_found"},
	} {
		c.w.mine = []idworker.ID{41}
		status, body := ask(t, handler(t, c.w, nil), "DELETE", "/v1/me/sessions/"+c.id, "")
		code, text, _ := strings.Cut(c.want, " ")
		if fmt.Sprint(status) != code || !strings.Contains(body, text) {
			t.Errorf("%s: got %d %s, want %s", c.id, status, body, c.want)
		}
		if done := len(c.w.ended) == 1 && c.w.ended[0].String() == c.id; done != (c.id == "41" || c.id == thisOne) {
			t.Errorf("%s: ended %v", c.id, c.w.ended)
		}
	}
}

func TestLogoutOfTheOthersSaysHowMany(t *testing.T) {
	for _, c := range []struct {
		w    *world
		want string
	}{
		{&world{mine: []idworker.ID{41, 42}}, `200 {"ended":2}`},
		{&world{}, `200 {"ended":0}`},
		{&world{mine: []idworker.ID{41, 42}, end: session.ErrUnpublished}, `202 {"ended":2,"effective_within_ms":5000}`},
		{&world{mine: []idworker.ID{41}, end: errUnproven}, "403 reauthentication_required"},
		{&world{mine: []idworker.ID{41}, end: errors.New("away")}, "503 unavailable"},
	} {
		status, body := ask(t, handler(t, c.w, nil), "POST", "/v1/me/sessions/logout-others", "")
		code, text, _ := strings.Cut(c.want, " ")
		if fmt.Sprint(status) != code || !strings.Contains(body, text) {
			t.Errorf("got %d %s, want %s", status, body, c.want)
		}
	}
}

// TestLogoutReadsItsBody: without one, or without everywhere, it is the logout of the
// token, living or not.
func TestLogoutReadsItsBody(t *testing.T) {
	over := flakepass.ErrLoggedOut
	for _, c := range []struct {
		body       string
		w          *world
		everywhere bool
		want       string
	}{
		{"", &world{}, false, "204"},
		{"{}", &world{}, false, "204"},
		{`{"everywhere":false}`, &world{}, false, "204"},
		{`{"everywhere":true}`, &world{}, true, "204"},
		{"", &world{verify: over}, false, "204"},
		{`{"everywhere":false}`, &world{verify: over}, false, "204"},
		{`{"everywhere":true}`, &world{verify: over}, false, "401 token_logged_out"},
		{`{"everywhere":true}`, &world{verify: errors.New("away")}, false, "503 unavailable"},
		{`{"everywhere":true}`, &world{end: session.ErrUnpublished}, true, `202 {"effective_within_ms":5000}`},
		{`{"everywhere":null}`, &world{}, false, "400 body_malformed"},
		{`{"everywhere":1}`, &world{}, false, "400 body_malformed"},
		{`{"everywhere":true,"everywhere":false}`, &world{}, false, "400 body_malformed"},
		{`{"Everywhere":true}`, &world{}, false, "400 body_malformed"},
		{`{"every":true}`, &world{}, false, "400 body_malformed"},
		{`null`, &world{}, false, "400 body_malformed"},
		{` `, &world{}, false, "400 body_malformed"},
	} {
		status, body := ask(t, handler(t, c.w, nil), "POST", "/v1/logout", c.body)
		code, text, _ := strings.Cut(c.want, " ")
		if fmt.Sprint(status) != code || !strings.Contains(body, text) || code == "204" && body != "" {
			t.Errorf("%s: got %d %s, want %s", c.body, status, body, c.want)
		}
		if slices.Contains(c.w.ended, 0) != c.everywhere || len(c.w.passive) != len(c.w.asked) {
			t.Errorf("%s: everywhere: %v, asked %v, passive %v", c.body, c.w.ended, c.w.asked, c.w.passive)
		}
	}
}

// TestLogoutWithABodyOfUnknownLength: clients and proxies send chunks also where there is
// nothing in them.
func TestLogoutWithABodyOfUnknownLength(t *testing.T) {
	for body, want := range map[string]string{"": "204", `{"everywhere":true}`: "204", "everywhere": "400", strings.Repeat(" ", 9000): "413"} {
		w := &world{}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/logout", struct{ io.Reader }{strings.NewReader(body)})
		r.Header.Set("Authorization", "Bearer "+flakepass.NewToken(who.SessionID).Reveal())
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		answer := httptest.NewRecorder()
		handler(t, w, nil).ServeHTTP(answer, r)
		if r.ContentLength != -1 || fmt.Sprint(answer.Code) != want || slices.Contains(w.ended, 0) != (body != "" && want == "204") {
			t.Errorf("%.20q: %d, everywhere: %v; want %s", body, answer.Code, w.ended, want)
		}
		for _, name := range []string{flakepass.ExpiresInHeader, flakepass.IdleExpiresInHeader} {
			if answer.Header().Get(name) != "" {
				t.Errorf("%.20q: the login is over, and %s is %s", body, name, answer.Header().Get(name))
			}
		}
	}
}
