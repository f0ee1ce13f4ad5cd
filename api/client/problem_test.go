package client

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/wire"
)

func TestProblemIsReadWhole(t *testing.T) {
	t.Parallel()
	resp := &http.Response{StatusCode: http.StatusConflict, Header: http.Header{
		"Content-Type": {"application/problem+json"}, "Retry-After": {"7"}, "X-Request-Id": {"not-this-one"},
	}}
	var p *Problem
	errors.As(refused(resp, []byte(`{"type":"x","title":"many logins would end","status":200,"code":"confirmation_required","detail":"say confirm",`+
		`"request_id":"7QK3XW5M","errors":[{"field":"a","code":"b","message":"must be c"},{"field":"d","code":"e","message":"must be f"}],"reasons":["g"],`+
		`"effect":{"live":{"count":9,"error":1},"ends_now":{"count":8,"error":0},"ends_within_hour":{"count":1,"error":0}},"later":1}`)), &p)
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
		`"issued_at":"2026-11-21T09:12:33Z","last_seen_at":"2026-11-21T09:12:33Z","expires_at":"2026-11-21T09:12:33Z","idle_expires_at":"2026-11-21T09:12:33Z","current":false},{"id":"8"}]}`), typeProblem)
	if len(p.Sessions) != 1 || p.Sessions[0].ID != 7 || strings.Contains(p.Sessions[0].Device.Name, "\x1b") || p.Ticket.Reveal() != "the-ticket" ||
		strings.Contains(fmt.Sprintf("%v %+v %#v", p, *p, p), "the-ticket") {
		t.Errorf("got %+v", *p)
	}
}

// TestAnswerOfAProxyIsNoProblem, whatever its status: an app that goes by the status of a
// Problem would throw a living token away.
func TestAnswerOfAProxyIsNoProblem(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 403, 404, 413, 429, 500, 502, 503} {
		for _, a := range []struct{ kind, body string }{
			{"text/html", "<html>bad gateway</html>"},
			{"", ""},
			{"application/problem+json", ""},
			{"application/problem+json", `{"type":"about:blank","title":"Unauthorized","status":401}`},
			{"application/problem+json", `{"code":"Not A Code\n"}`},
			{"application/problem+json", `{"code":"token_expired","title":"cut o`},
			{"application/json", `{"message":"no healthy upstream"}`},
			{"application/json", `{"code":401,"message":"x"}`},
			{"application/json", `{"code":"unauthorized"}`},
			{"text/html", `{"code":"unavailable"}`},
		} {
			c, err := New(Options{URL: "https://a", HTTP: &http.Client{Transport: answers(func(r *http.Request) *http.Response {
				return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {a.kind}}, Request: r, Body: io.NopCloser(strings.NewReader(a.body))}
			})}})
			if err != nil {
				t.Fatal(err)
			}
			c = c.As(flakepass.NewToken(7))
			_, err = c.Me(t.Context())
			for _, err := range []error{err, c.ExportMe(t.Context(), io.Discard)} {
				var p *Problem
				if !errors.Is(err, ErrAnswer) || errors.As(err, &p) || !strings.Contains(err.Error(), strconv.Itoa(status)) {
					t.Errorf("%d %s %s: %v", status, a.kind, a.body, err)
				}
			}
		}
	}
}

type answers func(*http.Request) *http.Response

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) { return a(r), nil }

// TestProblemOfAnOAuthCallIsOne, though it is not in the media type of problems.
func TestProblemOfAnOAuthCallIsOne(t *testing.T) {
	t.Parallel()
	if p := readProblem([]byte(`{"code":"token_expired","error":"invalid_client","error_description":"x"}`), typeJSON); !errors.Is(p, TokenExpired) {
		t.Errorf("got %+v", p)
	}
}

func TestRetryAfterIsReadInBothForms(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 9, 12, 33, 0, time.UTC)
	for _, c := range []struct {
		after, date string
		want        time.Duration
	}{
		{"", "", 0}, {"0", "", 0}, {"7", "", 7 * time.Second}, {"-7", "", 0}, {"7s", "", 0}, {"soon", "", 0},
		{"99999999999", "", maxAfter}, {"99999999999999999999", "", maxAfter},
		{"Sat, 21 Nov 2026 09:12:40 GMT", "", 7 * time.Second},
		{"Sat, 21 Nov 2026 09:12:40 GMT", "Sat, 21 Nov 2026 09:12:00 GMT", 40 * time.Second},
		{"Sat, 21 Nov 2026 09:12:40 GMT", "today", 7 * time.Second},
		{"Saturday, 21-Nov-26 09:12:40 GMT", "", 7 * time.Second},
		{"Sat, 21 Nov 2026 09:12:30 GMT", "", 0}, {"Fri, 31 Dec 9999 23:59:59 GMT", "", maxAfter},
	} {
		if got := readRetryAfter(http.Header{"Retry-After": {c.after}, "Date": {c.date}}, now); got != c.want {
			t.Errorf("%q sent at %q: %v, want %v", c.after, c.date, got, c.want)
		}
	}
}

// FuzzRetryAfter: whatever the header is, the time to wait is from 0 to a year.
func FuzzRetryAfter(f *testing.F) {
	f.Add("7", "")
	f.Add("99999999999999999999", "Sat, 21 Nov 2026 09:12:33 GMT")
	f.Add("Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 GMT")
	f.Fuzz(func(t *testing.T, after, date string) {
		if got := readRetryAfter(http.Header{"Retry-After": {after}, "Date": {date}}, time.UnixMilli(0)); got < 0 || got > maxAfter {
			t.Errorf("%q sent at %q: %v", after, date, got)
		}
	})
}

// FuzzProblem: whatever the answer is, the error can be shown on a terminal, is bounded,
// and has a code that is one, or none.
func FuzzProblem(f *testing.F) {
	f.Add([]byte(`{"code":"username_taken","title":"taken","errors":[{"field":"a","message":"b"}],"reasons":["c"]}`))
	f.Add([]byte(`{"code":"confirmation_required","effect":{"live":{"count":-1}}}`))
	f.Add([]byte(`{"code":"session_limit","ticket":"t","sessions":[{"id":"7","device":{"name":"a\u001b"},"issued_at":"2026-11-21T09:12:33Z","last_seen_at":"2026-11-21T09:12:33Z","expires_at":"2026-11-21T09:12:33Z","idle_expires_at":"2026-11-21T09:12:33Z"}],"effect":{"live":{"count":9}}}`))
	f.Add([]byte("{\"code\":\"a\",\"title\":\"\\u001b[2J\",\"detail\":\"\xff\"}"))
	f.Fuzz(func(t *testing.T, body []byte) {
		p := readProblem(body, typeProblem)
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
	f.Add([]byte(`{"token":"fp_1TCKi1nFuNhSECRETMARKERWXYZQVJBKGPHXU3Q2FQU","session_id":"1234567890123456789","expires_at":"2026-11-21T11:40:00Z","idle_expires_at":"2026-11-21T11:40:00Z"}`))
	f.Add([]byte(`{"key":"fpk_1TCKi1nFuNhSECRETMARKERWXYZQVJBKGPHXU2HwMSn","id":"1234567890123456789","user_id":"2","name":"x","scopes":["verify"],"created_at":"2026-11-21T09:12:33.123Z"}`))
	f.Add([]byte(`{"idle_timeout_seconds":1,"absolute_lifetime_seconds":2,"touch_interval_seconds":1,"version":1,"effect":{"live":{"count":9},"ends_now":{"count":8},"ends_within_hour":{"count":1},"beyond_limit":{"sessions":{"count":1},"users":{"count":1}}}}`))
	f.Add([]byte(`{"sweeps":[{"id":"7","outcome":"done","started_at":"2026-11-21T09:12:33Z","longest_batch_ms":5}],"events":[{"id":"7","at":"2026-11-21T09:12:33Z","action":"x","old":{}}],"next_cursor":"7"}`))
	f.Add([]byte(`{"active":true,"sub":"7","username":"a","role":"user","act":{"sub":"9"},"jti":"8","iat":1,"exp":2,"amr":["pwd"]}`))
	f.Add([]byte(`{"reset_token":"fpr_x","url":"https://a/#fpr_x","expires_at":"2026-11-21T09:12:33Z"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if p, err := decode[wire.PolicyChanged](body); err == nil && (p.IdleTimeout <= 0 || p.Version < 1) {
			t.Errorf("a policy: %+v", p)
		}
		if p, err := decode[wire.Pending](body); err == nil && p.Within <= 0 {
			t.Errorf("within %v", p.Within)
		}
		if p, err := decode[Login](body); err == nil && p.Token.ID() != p.SessionID {
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
		_, _ = decode[wire.Introspection](body)
		_, _ = decode[wire.Stats](body)
		_, _ = decode[PasswordReset](body)
		if k, err := decode[MadeServiceKey](body); err == nil && k.Key.ID() != k.ID {
			t.Errorf("a key: %+v", k.ServiceKey)
		}
	})
}
