package client

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/flakepass/flakepass/api/wire"
)

func TestProblemIsReadWhole(t *testing.T) {
	t.Parallel()
	resp := &http.Response{StatusCode: http.StatusConflict, Header: http.Header{
		"Content-Type": {"application/problem+json"}, "Retry-After": {"7"}, "X-Request-Id": {"not-this-one"},
	}}
	p := problemOf(resp, []byte(`{"type":"x","title":"many logins would end","status":200,"code":"confirmation_required","detail":"say confirm",`+
		`"request_id":"7QK3XW5M","errors":[{"field":"a","code":"b","message":"must be c"},{"field":"d","code":"e","message":"must be f"}],"reasons":["g"],`+
		`"effect":{"live":{"count":9,"error":1},"ends_now":{"count":8,"error":0},"ends_within_hour":{"count":1,"error":0}},"later":1}`))
	if p.Status != 409 || !errors.Is(p, ConfirmationRequired) || errors.Is(p, NotFound) || p.RetryAfter != 7*time.Second || p.RequestID != "7QK3XW5M" ||
		p.Effect == nil || p.Effect.EndsNow.Count != 8 || len(p.Errors) != 2 {
		t.Errorf("got %+v", p)
	}
	const want = "client: many logins would end; say confirm: a must be c; d must be f: g (409 confirmation_required)"
	if p.Error() != want {
		t.Errorf("got  %s\nwant %s", p, want)
	}
}

// TestRefusalOfALoginHasWhatToGoOnWith: the logins, and a ticket that does not print itself.
func TestRefusalOfALoginHasWhatToGoOnWith(t *testing.T) {
	t.Parallel()
	p := readProblem([]byte(`{"code":"session_limit","ticket":"the-ticket","sessions":[{"id":"7","device":{"class":"phone","name":"a\u001b[2J"},`+
		`"issued_at":"2026-11-21T09:12:33Z","last_seen_at":"2026-11-21T09:12:33Z","expires_at":"2026-11-21T09:12:33Z","idle_expires_at":"2026-11-21T09:12:33Z","current":false},{"id":"8"}]}`), true)
	if len(p.Sessions) != 1 || p.Sessions[0].ID != 7 || strings.Contains(p.Sessions[0].Device.Name, "\x1b") || p.Ticket.Reveal() != "the-ticket" ||
		strings.Contains(fmt.Sprintf("%v %+v %#v", p, *p, p), "the-ticket") {
		t.Errorf("got %+v", *p)
	}
}

func TestAnswerOfAProxyIsAProblemWithoutCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, body string }{
		{"text/html", "<html>bad gateway</html>"},
		{"", ""},
		{"application/json", `{"message":"no healthy upstream"}`},
		{"application/json", `{"code":500,"message":"x"}`},
		{"application/json", `{"code":"Not A Code\n"}`},
		{"text/html", `{"code":"unavailable"}`},
	} {
		p := problemOf(&http.Response{StatusCode: http.StatusBadGateway, Header: http.Header{"Content-Type": {c.kind}, "X-Request-Id": {"of-the-proxy"}}}, []byte(c.body))
		if p.Status != 502 || p.Code != "" || p.Unwrap() != nil || p.RequestID != "of-the-proxy" || !strings.Contains(p.Error(), "is the URL that of flakepass?") {
			t.Errorf("%s: %v", c.body, p)
		}
	}
}

// FuzzProblem: whatever the answer is, the error can be shown on a terminal, is bounded,
// and has a code that is one, or none.
func FuzzProblem(f *testing.F) {
	f.Add([]byte(`{"code":"username_taken","title":"taken","errors":[{"field":"a","message":"b"}],"reasons":["c"]}`))
	f.Add([]byte(`{"code":"confirmation_required","effect":{"live":{"count":-1}}}`))
	f.Add([]byte("{\"code\":\"a\",\"title\":\"\\u001b[2J\",\"detail\":\"\xff\"}"))
	f.Fuzz(func(t *testing.T, body []byte) {
		p := readProblem(body, true)
		p.Status = 400
		text := p.Error()
		if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 }) {
			t.Errorf("not for a terminal: %q", text)
		}
		if len(text) > 4*(2*maxText+maxList*3*maxText) {
			t.Errorf("%d bytes", len(text))
		}
		if p.Code != "" && (!p.Code.wellFormed() || !errors.Is(p, p.Code) || p.Title == "") {
			t.Errorf("a problem without a name: %+v", p)
		}
		if p.Effect != nil && !p.Effect.Sane() {
			t.Errorf("an effect below nothing: %+v", p.Effect)
		}
	})
}

// FuzzAnswers: what is read of a success is complete, or an error.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"users":[{"id":"7","username":"a","role":"user","created_at":"2026-11-21T09:12:33.123Z"}],"next_cursor":"7"}`))
	f.Add([]byte(`{"idle_timeout_seconds":1,"absolute_lifetime_seconds":9223372036854775807,"touch_interval_seconds":1,"version":1}`))
	f.Add([]byte(`{"effective_within_ms":9223372036854775807}`))
	f.Add([]byte(`{"token":"fp_x","session_id":"1"}`))
	f.Add([]byte(`{"key":"fpk_x","id":"1","user_id":"2","name":"x","scopes":["verify"],"created_at":"2026-11-21T09:12:33.123Z"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if p, err := decode[wire.PolicyChanged](body); err == nil && (p.IdleTimeout <= 0 || p.Version < 1) {
			t.Errorf("a policy: %+v", p)
		}
		if p, err := decode[pending](body); err == nil && p.Within <= 0 {
			t.Errorf("within %v", p.Within)
		}
		if p, err := decode[wireLogin](body); err == nil && p.Token.ID() != p.SessionID {
			t.Errorf("a login: %+v", p)
		}
		sweeps, _, _ := readPage[wire.Sweep](body, "sweeps")
		for _, s := range sweeps {
			if s.LongestBatch < 0 {
				t.Errorf("a sweep: %+v", s)
			}
		}
		_, _, _ = readPage[wire.Event](body, "events")
		_, _, _ = readPage[wire.User](body, "users")
		_, _ = decode[wireToken](body)
		_, _ = decode[wire.Stats](body)
		_, _ = decode[wireReset](body)
		if k, err := decode[wireMadeKey](body); err == nil && k.key.ID() != k.ID {
			t.Errorf("a key: %+v", k.ServiceKey)
		}
	})
}
