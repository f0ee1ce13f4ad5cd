package httpapi_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// notTimes are texts that package time reads, and RFC 3339 does not have or no answer could repeat.
var notTimes = []string{
	"2031-11-21T00:00:00+24:00", "2031-11-21T00:00:00-24:00", "2031-11-21T00:00:00+23:60", "2031-11-21T00:00:00,5Z", "2031-11-21T1:00:00Z",
	"9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+00:01", "",
}

// TestKeyDoesNotLiveForeverByMistake: an expiry that is given is one, or is refused; the verb
// gets no zero time of Go, which is "never" there.
func TestKeyDoesNotLiveForeverByMistake(t *testing.T) {
	for _, text := range notTimes {
		s := &staff{}
		if status, body := ask(t, adminAPI(t, s), http.MethodPost, "/v1/admin/users/41/keys", `{"name":"n","scopes":["verify"],"expires_at":"`+text+`"}`); status != 422 || !strings.Contains(body, `"field":"expires_at"`) || s.asked != "" {
			t.Errorf("%q: %d %s, asked %s", text, status, body, s.asked)
		}
	}
	s := &staff{}
	if status, body := ask(t, adminAPI(t, s), http.MethodPost, "/v1/admin/users/41/keys", `{"name":"n","scopes":["verify"],"expires_at":"0001-01-01T00:00:00Z"}`); !strings.Contains(s.asked, "0001-01-01T00:00:00Z") {
		t.Errorf("%d %s, asked %s", status, body, s.asked)
	}
}

// TestBoundsOfTheRecordAreTimes.
func TestBoundsOfTheRecordAreTimes(t *testing.T) {
	for _, text := range notTimes {
		for _, name := range []string{"since", "until"} {
			if a := newOperators().send(t, "GET", "/v1/admin/audit?"+url.Values{name: {text}}.Encode(), ""); a.status != 422 || !strings.Contains(a.body, `"field":"`+name+`"`) {
				t.Errorf("%s %q: %d %s", name, text, a.status, a.body)
			}
		}
	}
}
