package httpapi_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/proof/apitest"
)

// TestHostileQueriesAreRefused: a filter that is not applied would show what was
// not asked for.
func TestHostileQueriesAreRefused(t *testing.T) {
	for query, field := range map[string]string{
		"limit=0": "limit", "limit=201": "limit", "limit=-1": "limit", "limit=": "limit", "limit=1e2": "limit", "limit=0x10": "limit", "limit=%2B5": "limit", "limit=+5": "limit", "limit=05": "limit",
		"limit=50&limit=60": "limit", "cursor=": "cursor", "cursor=0": "cursor", "cursor=-5": "cursor", "cursor=9223372036854775808": "cursor",
		"cursor=1&cursor=2": "cursor", "cursor=1'--": "cursor", "colour=al": "query", "name=a&name=b": "name", "role=admin": "query",
		"Limit=5": "query", "limit[]=5": "query", "limit=%zz": "query", "%00=1": "query", ";": "query", "a;b=1": "query", "=": "query",
		"token=fp_0KdV4mQ2xZbEXAMPLEEXAMPLEEXAMPLEEXAMP000000": "query",
	} {
		for _, path := range []string{"/v1/admin/users", "/v1/admin/sessions"} {
			s := &staff{}
			status, body := ask(t, adminAPI(t, s), "GET", path+"?"+query, "")
			if path == "/v1/admin/sessions" && field == "name" {
				field = "query"
			}
			if status != 422 || !strings.Contains(body, `"field":"`+field+`"`) || s.asked != "" {
				t.Errorf("%s?%s: got %d %s, want 422 about %s", path, query, status, body, field)
			}
			if strings.Contains(body, "fp_") || strings.Contains(body, "colour") {
				t.Errorf("%s?%s: the answer repeats what was sent: %s", path, query, body)
			}
		}
	}
	// The answer has all faults at once.
	if _, body := ask(t, adminAPI(t, &staff{}), "GET", "/v1/admin/users?limit=x&cursor=y&z=1", ""); strings.Count(body, `"field"`) != 3 {
		t.Errorf("three faults: %s", body)
	}
}

// TestQueryThatCannotBeReadIsRefused: by every route of the contract that reads one. A back end
// that encodes wrongly would else take a person for nobody.
func TestQueryThatCannotBeReadIsRefused(t *testing.T) {
	routes := apitest.Parameters(t)
	for route, names := range routes {
		method, path, _ := strings.Cut(strings.ReplaceAll(route, "{id}", "41"), " ")
		for _, name := range names {
			for _, text := range []string{"%", "%zz", "%ff", "m%FCller", "%C3", "a;b", "a&%ff=b", "a&%zz"} {
				target := path + "?" + name + "=" + text
				var status int
				var body string
				switch {
				case strings.HasPrefix(path, "/v1/admin/policy"):
					a := newOperators().send(t, method, target, `{"version":1}`, "If-Match", "*")
					status, body = a.status, a.body
				case strings.HasPrefix(path, "/v1/users"):
					status, body = namesBy(t, &namesWorld{err: account.ErrNotFound}, servicekey.ReadUsers, method, target, "")
				default:
					status, body = ask(t, bare(t, "admin", false), method, target, "")
				}
				if status != 422 || !strings.Contains(body, `"field":"query","code":"malformed"`) {
					t.Errorf("%s %s: got %d %s", method, target, status, body)
				}
			}
		}
	}
	if len(routes) < 10 {
		t.Errorf("the contract has %d such routes only", len(routes))
	}
}

// TestIntegersHaveNoPoint and no exponent, although JSON has one kind of number.
func TestIntegersHaveNoPoint(t *testing.T) {
	for _, n := range []string{"3600.0", "3.6e3", "36E2", "\"3600\""} {
		s := &staff{}
		if status, body := ask(t, adminAPI(t, s), "POST", "/v1/admin/users/41/password-reset", `{"reset_lifetime_seconds":`+n+`}`); status != 400 || !strings.Contains(body, "body_malformed") || s.asked != "" {
			t.Errorf("%s: %d %s", n, status, body)
		}
		f := newOperators()
		for _, change := range []string{`{"idle_timeout_seconds":` + n + `}`, `{"limits":{"login":{"count":5,"period_seconds":` + n + `}}}`} {
			if a := f.send(t, "PUT", "/v1/admin/policy", change, "If-Match", `*`); a.status != 400 || !strings.Contains(a.body, "body_malformed") || f.sets > 0 {
				t.Errorf("%s: %d %s", change, a.status, a.body)
			}
		}
	}
}

// FuzzQuery sends query strings to the lists. Each is understood or refused, by
// an answer of the contract that does not repeat it; what is understood asks for
// a page of a size that is allowed.
// What is decoded twice is judged as one text and used as another.
func TestQueryIsDecodedOnce(t *testing.T) {
	s := &staff{}
	if status, body := ask(t, adminAPI(t, s), "GET", "/v1/admin/users?name=a%2561b", ""); status != 200 || !strings.Contains(s.asked, `"a%61b"`) {
		t.Errorf("got %d %s, and asked %s", status, body, s.asked)
	}
	f := newOperators()
	if a := f.send(t, "GET", "/v1/admin/audit?actor=a%2561b", ""); a.status != 200 || f.filter.ActorName != "a%61b" {
		t.Errorf("got %d %s, and asked for %+v", a.status, a.body, f.filter)
	}
}

func FuzzQuery(f *testing.F) {
	for _, query := range []string{
		"", "limit=5", "limit=200&cursor=412873650192384001", "name=al", "name=%C3%A9&limit=1", "limit=%35", "limit=+5", "cursor=%31",
		"limit=5&limit=6", "cursor=0", "colour=x", "limit", "&&&", "a;b", "%", "name=%00", "name=%ff", "name=" + strings.Repeat("a", 300), "=x", "limit=１",
		"device_class=phone", "device_class=", "name=al&cursor=bob",
	} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		for _, path := range []string{"/v1/admin/users", "/v1/admin/sessions"} {
			s := &staff{users: []account.User{alice}}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x"+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			req.URL.RawQuery = query
			req.Header.Set("Authorization", "Bearer "+flakepass.NewToken(who.SessionID).Reveal())
			resp, err := apitest.Transport(t, direct{adminAPI(t, s)}).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			values, err := url.ParseQuery(query)
			understood := err == nil
			for name, all := range values {
				understood = understood && len(all) == 1 && utf8.ValidString(all[0]) && (name == "limit" || name == "cursor" || name == "name" && path == "/v1/admin/users" ||
					name == "device_class" && all[0] != "" && path == "/v1/admin/sessions")
			}
			switch {
			case resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusUnprocessableEntity:
				t.Errorf("%s?%s: %d", path, query, resp.StatusCode)
			case resp.StatusCode == http.StatusOK && (!understood || s.asked == ""):
				t.Errorf("%s?%s is understood, and asks %q", path, query, s.asked)
			case resp.StatusCode == http.StatusUnprocessableEntity && s.asked != "":
				t.Errorf("%s?%s is refused, and asks %q", path, query, s.asked)
			case resp.StatusCode == http.StatusUnprocessableEntity && understood && !values.Has("limit") && !values.Has("cursor"):
				t.Errorf("%s?%s is refused", path, query)
			}
		}
	})
}
