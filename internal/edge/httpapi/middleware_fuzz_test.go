package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/problem"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
)

// FuzzRequestID: the name goes into answers and log lines, so it never has a
// character that means something there.
func FuzzRequestID(f *testing.F) {
	for _, s := range []string{"", "my-request-1", "short", "a\r\nb: c-long-enough", "\u202ename-of-a-request", "{\"level\":\"x\"}"} {
		f.Add(s)
	}
	f.Add(flakepass.NewToken(7).Reveal())
	f.Add(strings.Repeat("a", 5000))
	f.Fuzz(func(t *testing.T, given string) {
		got := requestID(&http.Request{Header: http.Header{problem.RequestIDHeader: {given}}})
		if !harmless(got) {
			t.Fatalf("%q becomes %q", given, got)
		}
		if likeToken(got) {
			t.Fatalf("%q is kept, and may be a token", got)
		}
		if harmless(given) && !likeToken(given) && got != given {
			t.Fatalf("%q becomes %q, and was harmless", given, got)
		}
		if len(got) > 64 {
			t.Fatalf("%d characters are kept", len(got))
		}
		for _, c := range got {
			if c <= ' ' || c > '~' || c == '"' || c == '\\' {
				t.Fatalf("%q has %q", got, c)
			}
		}
	})
}

// A token in the place of a request's name is not repeated, of whichever kind.
func TestNoTokenNamesARequest(t *testing.T) {
	for _, token := range []string{flakepass.NewToken(7).Reveal(), account.NewResetToken().Reveal(), flakepass.NewServiceKey(7).Reveal(), new(ratelimit.Limiter).NewDevice(ratelimit.Attempt{Account: "zoë", User: 7}).Reveal()} {
		for _, given := range []string{token, "id-" + token, token + ".x"} {
			if got := requestID(&http.Request{Header: http.Header{problem.RequestIDHeader: {given}}}); strings.Contains(got, token) {
				t.Errorf("%.4s… is kept as the name of a request", token)
			}
		}
	}
}
