package problem_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/problem"
	"github.com/flakepass/flakepass/api/wire"
)

const page = "https://github.com/flakepass/flakepass/blob/main/docs/problems.md#"

// full has every field set.
var full = problem.Problem{
	Status: 422, Code: "validation_failed", Title: "not valid", Detail: "see errors",
	Errors: []wire.FieldError{
		{Field: "username", Code: "too_short", Message: "at least 3 characters"},
		{Field: "password", Code: "common", Message: "too common"},
	},
	Reasons:    []string{"database", "redis"},
	RetryAfter: 1500 * time.Millisecond,
	Effect:     &wire.Effect{Live: wire.Estimate{Count: 7}},
}

func TestShapeIsFixed(t *testing.T) {
	for name, c := range map[string]struct {
		p         problem.Problem
		requestID string
		want      string
	}{
		"least": {
			problem.Problem{Status: 404, Code: "not_found", Title: "no such thing"}, "",
			`{"type":"` + page + `not_found","title":"no such thing","status":404,"code":"not_found"}`,
		},
		"full": {
			full, "7QK3XW5M2VTR6JHB",
			`{"type":"` + page + `validation_failed","title":"not valid","status":422,"detail":"see errors","code":"validation_failed",` +
				`"request_id":"7QK3XW5M2VTR6JHB","retry_after":2,` +
				`"errors":[{"field":"username","code":"too_short","message":"at least 3 characters"},{"field":"password","code":"common","message":"too common"}],` +
				`"reasons":["database","redis"],"effect":{"live":{"count":7,"error":0},"ends_now":{"count":0,"error":0},"ends_within_hour":{"count":0,"error":0}}}`,
		},
		"empty lists": {
			problem.Problem{Status: 503, Code: "not_ready", Title: "not ready", Errors: []wire.FieldError{}, Reasons: []string{}}, "",
			`{"type":"` + page + `not_ready","title":"not ready","status":503,"code":"not_ready"}`,
		},
		"unavailable": {
			problem.Unavailable(time.Second), "",
			`{"type":"` + page + `unavailable","title":"cannot tell right now","status":503,"detail":"try again, and keep the token if you have one","code":"unavailable","retry_after":1}`,
		},
		"markup and control characters": {
			problem.Problem{Status: 400, Code: "bad", Title: "<b>\"\r\n\x00\u2028"}, "",
			`{"type":"` + page + `bad","title":"\u003cb\u003e\"\r\n\u0000\u2028","status":400,"code":"bad"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			if c.requestID != "" {
				w.Header().Set(problem.RequestIDHeader, c.requestID)
			}
			problem.Write(w, c.p)
			if got := w.Body.String(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if w.Code != c.p.Status {
				t.Errorf("got status %d, want %d", w.Code, c.p.Status)
			}
			if !json.Valid(w.Body.Bytes()) {
				t.Error("the document is not JSON")
			}
		})
	}
}

func TestHeadersAreThese(t *testing.T) {
	w := httptest.NewRecorder()
	w.Header().Set(problem.RequestIDHeader, "7QK3XW5M2VTR6JHB")
	// What a handler had in mind before it failed.
	w.Header().Set("Content-Type", "text/html")
	w.Header().Set("Content-Length", "3")
	w.Header().Set("Cache-Control", "public, max-age=3600")
	problem.Write(w, full)
	want := http.Header{
		"X-Request-Id":   {"7QK3XW5M2VTR6JHB"},
		"Content-Type":   {"application/problem+json"},
		"Cache-Control":  {"no-store"},
		"Content-Length": {strconv.Itoa(w.Body.Len())},
		"Retry-After":    {"2"},
	}
	if got := w.Result().Header; !reflect.DeepEqual(got, want) {
		t.Errorf("got headers %v, want %v", got, want)
	}
}

// Retry-After has whole seconds. Rounding down would invite the client back
// before there is any point.
func TestRetryAfterIsRoundedUp(t *testing.T) {
	for _, c := range []struct {
		wait time.Duration
		want int
	}{
		{0, 0},
		{1, 1},
		{time.Millisecond, 1},
		{time.Second - 1, 1},
		{time.Second, 1},
		{time.Second + 1, 2},
		{30 * time.Second, 30},
		{time.Hour + time.Millisecond, 3601},
		{-1, 0},
		{-time.Second, 0},
		{-90 * time.Second, 0},
	} {
		w := httptest.NewRecorder()
		problem.Write(w, problem.Problem{Status: 429, Code: "rate_limited", Title: "too many", RetryAfter: c.wait})
		header, body := "", map[string]any{}
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Fatal(err)
		}
		var field any
		if c.want > 0 {
			header, field = strconv.Itoa(c.want), float64(c.want)
		}
		if got := w.Header().Get("Retry-After"); got != header {
			t.Errorf("%v: got Retry-After %q, want %q", c.wait, got, header)
		}
		if got := body["retry_after"]; got != field {
			t.Errorf("%v: got retry_after %v, want %v", c.wait, got, field)
		}
	}
}

// The ID of the request comes from the handler that logs it, not from the client.
func TestRequestIDIsTheResponses(t *testing.T) {
	w := httptest.NewRecorder()
	problem.Write(w, problem.Unavailable(0))
	if got := w.Header().Values(problem.RequestIDHeader); got != nil {
		t.Errorf("without an ID: got %v", got)
	}
	w = httptest.NewRecorder()
	w.Header().Set("x-request-id", "of the response")
	problem.Write(w, problem.Unavailable(0))
	var body struct {
		RequestID string `json:"request_id"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || body.RequestID != "of the response" {
		t.Errorf("got request_id %q (%v)", body.RequestID, err)
	}
}

func TestClientThatIsGoneIsNoError(t *testing.T) {
	problem.Write(gone{httptest.NewRecorder()}, full)
}

type gone struct{ *httptest.ResponseRecorder }

func (gone) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// What a message has in it cannot end the text in which it stands.
func TestTextsAreEncoded(t *testing.T) {
	w := httptest.NewRecorder()
	problem.Write(w, problem.Problem{Status: 409, Code: "x", Title: `a"b`, Detail: "c\",\"code\":\"y</script>\n"})
	var got struct{ Code, Title, Detail string }
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Code != "x" || got.Title != `a"b` || got.Detail != "c\",\"code\":\"y</script>\n" {
		t.Errorf("%s is read as %+v, %v", w.Body, got, err)
	}
	if strings.Contains(w.Body.String(), "</script>") {
		t.Errorf("%s could end a script", w.Body)
	}
}
