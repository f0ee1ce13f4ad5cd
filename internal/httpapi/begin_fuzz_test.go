package httpapi

import (
	"net/http"
	"testing"

	"github.com/flakepass/flakepass/internal/problem"
)

// FuzzRequestID: the name goes into answers and log lines, so it never has a
// character that means something there.
func FuzzRequestID(f *testing.F) {
	for _, s := range []string{"", "my-request-1", "short", "a\r\nb: c-long-enough", "\u202ename-of-a-request", "{\"level\":\"x\"}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, given string) {
		got := requestID(&http.Request{Header: http.Header{problem.RequestIDHeader: {given}}})
		if !harmless(got) {
			t.Fatalf("%q becomes %q", given, got)
		}
		if harmless(given) && got != given {
			t.Fatalf("%q becomes %q, and was harmless", given, got)
		}
		for _, c := range got {
			if c <= ' ' || c > '~' || c == '"' || c == '\\' {
				t.Fatalf("%q has %q", got, c)
			}
		}
	})
}
