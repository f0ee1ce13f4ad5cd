//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package flakepass_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/flakepass/flakepass/api/flakepass"
)

const keyText = "PLANTED-0123456789abcdef0123456789abcdef"

func forwardKey(t testing.TB, text string) flakepass.ForwardKey {
	t.Helper()
	key, err := flakepass.NewForwardKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// forwardedHeader is what a proxy sends about alice, whose name needs escapes.
func forwardedHeader(t testing.TB, key flakepass.ForwardKey, method, target string) http.Header {
	t.Helper()
	who := alice
	who.Username = "zoë+a@b"
	who.ExpiresAt, who.IdleExpiresAt = time.Now().Add(time.Hour), time.Now().Add(time.Minute)
	h := http.Header{}
	key.Forward(h, &who, method, target)
	return h
}

// forwarded is a request from that address for GET /orders?all=1.
func forwarded(t testing.TB, from string, h http.Header) *http.Request {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/orders?all=1", nil)
	r.RemoteAddr, r.Header = from, h
	return r
}

var fromHere = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("2001:db8::/64")}

// left is the identity headers, in any spelling, that h still has.
func left(h http.Header) (names []string) {
	for name := range h {
		if strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) {
			continue // no server lets it through, and ToLower makes an i of U+0130
		}
		plain := strings.NewReplacer("_", "-", ".", "-", "~", "-", "!", "-", "'", "-", "+", "-").Replace(strings.ToLower(name))
		for _, known := range []string{"user-id", "username", "role", "session-id", "expires-in", "idle-expires-in", "signature"} {
			if plain == "x-auth-"+known {
				names = append(names, name)
			}
		}
	}
	return names
}

func TestForwardedIsBelievedOnlyByWhatIsSet(t *testing.T) {
	key, other := forwardKey(t, keyText), forwardKey(t, strings.Repeat("other", 10))
	signed := func(k flakepass.ForwardKey) http.Header { return forwardedHeader(t, k, "GET", "/orders?all=1") }
	unsigned := signed(flakepass.ForwardKey{})
	for name, c := range map[string]struct {
		forwarded flakepass.Forwarded
		from      string
		header    http.Header
		status    int
		says      string // to Undecided
	}{
		"listed":              {flakepass.Forwarded{From: fromHere}, "127.0.0.1:1", unsigned, 200, ""},
		"listed, IPv6":        {flakepass.Forwarded{From: fromHere}, "[2001:db8::9]:1", unsigned, 200, ""},
		"listed, IPv4 in 6":   {flakepass.Forwarded{From: fromHere}, "[::ffff:127.0.0.1]:1", unsigned, 200, ""},
		"not listed":          {flakepass.Forwarded{From: fromHere}, "127.0.0.2:1", unsigned, 503, "127.0.0.2"},
		"not listed, signed":  {flakepass.Forwarded{From: fromHere}, "127.0.0.2:1", signed(key), 503, "not in Forwarded.From"},
		"no address":          {flakepass.Forwarded{From: fromHere}, "@", unsigned, 503, "not in Forwarded.From"},
		"nothing set":         {flakepass.Forwarded{}, "127.0.0.1:1", signed(key), 503, "neither"},
		"signed":              {flakepass.Forwarded{Keys: []flakepass.ForwardKey{key}}, "9.9.9.9:1", signed(key), 200, ""},
		"signed, second key":  {flakepass.Forwarded{Keys: []flakepass.ForwardKey{other, key}}, "9.9.9.9:1", signed(key), 200, ""},
		"signed by another":   {flakepass.Forwarded{Keys: []flakepass.ForwardKey{other}}, "9.9.9.9:1", signed(key), 503, "another key"},
		"not signed":          {flakepass.Forwarded{Keys: []flakepass.ForwardKey{key}}, "127.0.0.1:1", unsigned, 503, "no signature"},
		"key of no text":      {flakepass.Forwarded{Keys: []flakepass.ForwardKey{{}}}, "127.0.0.1:1", signed(key), 503, "another key"},
		"both, and both hold": {flakepass.Forwarded{From: fromHere, Keys: []flakepass.ForwardKey{key}}, "127.0.0.1:1", signed(key), 200, ""},
		"both, and one holds": {flakepass.Forwarded{From: fromHere, Keys: []flakepass.ForwardKey{key}}, "127.0.0.1:1", unsigned, 503, "no signature"},
		"no identity":         {flakepass.Forwarded{From: fromHere}, "127.0.0.1:1", http.Header{}, 401, ""},
		"only times":          {flakepass.Forwarded{From: fromHere}, "127.0.0.1:1", http.Header{"X-Auth-Expires-In": {"5"}}, 401, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var reported error
			guard := &flakepass.Guard{Forwarded: &c.forwarded, Undecided: func(_ *http.Request, err error) { reported = err }}
			header := c.header.Clone()
			got := httptest.NewRecorder()
			var who flakepass.Identity
			guard.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				who, _ = flakepass.FromContext(r.Context())
			})).ServeHTTP(got, forwarded(t, c.from, header))
			if got.Code != c.status || (who.UserID == 7) != (c.status == 200) {
				t.Fatalf("got %d %s and %+v, want %d", got.Code, got.Body, who, c.status)
			}
			if (reported != nil) != (c.status == 503) || c.status == 503 && (!errors.Is(reported, flakepass.ErrForwarded) || !strings.Contains(reported.Error(), c.says)) {
				t.Errorf("Undecided got %v, want %q", reported, c.says)
			}
			if reported != nil && (strings.Contains(reported.Error(), "zo%C3%AB") || strings.Contains(reported.Error(), "PLANTED")) {
				t.Errorf("the error repeats what was sent: %v", reported)
			}
			if rest := left(header); c.status != 200 && len(rest) > 0 {
				t.Errorf("not believed, and left in the request: %v", rest)
			}
			if c.status != 200 {
				return
			}
			if who.Username != "zoë+a@b" || who.Role != "user" || who.SessionID != alice.SessionID || who.IssuedAt.IsZero() || !who.LastSeenAt.IsZero() {
				t.Errorf("got %+v", who)
			}
			if in := time.Until(who.ExpiresAt); in > time.Hour || in < 59*time.Minute {
				t.Errorf("expires in %v, want an hour", in)
			}
			if header.Get("X-Auth-Signature") != "" || header.Get("X-Auth-Role") != "user" {
				t.Errorf("the handler sees %v", header)
			}
			if got.Header().Get(flakepass.ExpiresInHeader) == "" {
				t.Error("the answer does not say how much time is left")
			}
		})
	}
}

// Whatever is sent beside or instead of the headers, in whatever spelling: no
// identity but the proxy's, and no trace of another.
func TestForwardedTakesOutEverySpelling(t *testing.T) {
	var aliases []string
	for _, name := range []string{"X-Auth-User-Id", "X-Auth-Username", "X-Auth-Role", "X-Auth-Session-Id", "X-Auth-Expires-In", "X-Auth-Idle-Expires-In", "X-Auth-Signature"} {
		for _, sep := range []string{"_", ".", "-", "~", "!", "'", "+"} {
			plain := strings.ReplaceAll(name, "-", sep)
			mixed := strings.Replace(name, "-", sep, 1)
			for _, alias := range []string{plain, mixed, strings.ToLower(plain), strings.ToUpper(plain), strings.ToLower(mixed)} {
				if alias != name {
					aliases = append(aliases, alias)
				}
			}
		}
	}
	verified := flakepass.VerifierFunc(toAlice)
	for _, alias := range aliases {
		// Alone, and from a listed address: no identity.
		h := http.Header{alias: {"admin"}, "X-Auth-Roles": {"kept"}, "X-Auth-Token": {"kept"}, "Xxauthxrole": {"kept"}}
		guard := &flakepass.Guard{Forwarded: &flakepass.Forwarded{From: fromHere}, Verifier: verified}
		if _, ok := guard.Admit(httptest.NewRecorder(), forwarded(t, "127.0.0.1:1", h)); ok || len(left(h)) > 0 || len(h) != 3 {
			t.Errorf("%s alone: let through %t, with %v", alias, ok, h)
		}
		// Beside what the proxy says.
		h = forwardedHeader(t, flakepass.ForwardKey{}, "", "")
		h[alias] = []string{"admin"}
		next, ok := guard.Admit(httptest.NewRecorder(), forwarded(t, "127.0.0.1:1", h))
		if !ok {
			t.Errorf("%s beside the real ones: refused", alias)
			continue
		}
		if who, _ := flakepass.FromContext(next.Context()); who.Role != "user" || len(left(h)) != 6 || h[alias] != nil {
			t.Errorf("%s beside the real ones: %+v, %v", alias, who, h)
		}
		// Beside a token of one's own, from anywhere.
		h = withToken()
		h[alias] = []string{"admin"}
		next, ok = guard.Admit(httptest.NewRecorder(), forwarded(t, "9.9.9.9:1", h))
		if !ok {
			t.Errorf("%s beside a token: refused", alias)
			continue
		}
		if who, _ := flakepass.FromContext(next.Context()); who.Role != "user" || len(left(h)) != 0 {
			t.Errorf("%s beside a token: %+v, %v", alias, who, h)
		}
	}
}

// A client that has the proxy drop a header, or a proxy that adds to what the
// client sent, makes no identity of the parts.
func TestForwardedIsWholeOrNothing(t *testing.T) {
	key := forwardKey(t, keyText)
	names := []string{"X-Auth-User-Id", "X-Auth-Username", "X-Auth-Role", "X-Auth-Session-Id", "X-Auth-Expires-In", "X-Auth-Idle-Expires-In", "X-Auth-Signature"}
	for _, guard := range []*flakepass.Guard{
		{Forwarded: &flakepass.Forwarded{From: fromHere}},
		{Forwarded: &flakepass.Forwarded{Keys: []flakepass.ForwardKey{key}}},
		(&flakepass.Guard{Forwarded: &flakepass.Forwarded{Keys: []flakepass.ForwardKey{key}}, Verifier: flakepass.VerifierFunc(toAlice)}).Optional(),
	} {
		signed := len(guard.Forwarded.Keys) > 0
		for i, name := range names {
			for what, spoil := range map[string]func(http.Header){
				"missing":       func(h http.Header) { h.Del(name) },
				"empty":         func(h http.Header) { h.Set(name, "") },
				"twice":         func(h http.Header) { h.Add(name, h.Get(name)) },
				"another added": func(h http.Header) { h.Add(name, "1") },
				"joined":        func(h http.Header) { h.Set(name, h.Get(name)+", 8") },
				"garbled":       func(h http.Header) { h.Set(name, h.Get(name)+"\n") },
				"minus":         func(h http.Header) { h.Set(name, "-"+h.Get(name)) },
			} {
				h := forwardedHeader(t, key, "GET", "/orders")
				spoil(h)
				got := httptest.NewRecorder()
				_, ok := guard.Admit(got, forwarded(t, "127.0.0.1:1", h))
				// Without a key the times may be absent, and no signature is checked.
				harmless := !signed && ((i == 1 || i == 2) && what == "minus" || i >= 4 && (what == "missing" || what == "empty") || i == 6 && what != "twice" && what != "another added")
				switch {
				case ok != harmless:
					t.Errorf("signed %t, %s %s: let through %t", signed, name, what, ok)
				case !ok && got.Code != 503:
					t.Errorf("signed %t, %s %s: got %d, want 503", signed, name, what, got.Code)
				case !ok && len(left(h)) > 0:
					t.Errorf("signed %t, %s %s: left %v", signed, name, what, h)
				}
			}
		}
	}
	for name, value := range map[string][]string{
		"X-Auth-User-Id":         {"0", "07", "7 ", "seven", "9223372036854775808", "１"},
		"X-Auth-Username":        {"zoë", "%zz", "a b", "%61", "a\x00"},
		"X-Auth-Role":            {"admin,user", "a b", "ädmin", "\x00"},
		"X-Auth-Session-Id":      {"0", "x"},
		"X-Auth-Expires-In":      {"1.5", "soon", "4294967296"},
		"X-Auth-Idle-Expires-In": {"+1", " 1"},
	} {
		for _, v := range value {
			h := forwardedHeader(t, flakepass.ForwardKey{}, "", "")
			h[name] = []string{v}
			guard := &flakepass.Guard{Forwarded: &flakepass.Forwarded{From: fromHere}}
			if _, ok := guard.Admit(httptest.NewRecorder(), forwarded(t, "127.0.0.1:1", h)); ok {
				t.Errorf("%s %q was believed", name, v)
			}
		}
	}
}

// A signature is for one identity, one method and path, and half a minute.
func TestSignatureCoversWhatItShould(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := forwardKey(t, keyText)
		guard := &flakepass.Guard{Forwarded: &flakepass.Forwarded{Keys: []flakepass.ForwardKey{key}}}
		believed := func(edit func(*http.Request)) bool {
			r := forwarded(t, "9.9.9.9:1", forwardedHeader(t, key, "GET", "/orders?all=1"))
			edit(r)
			_, ok := guard.Admit(httptest.NewRecorder(), r)
			return ok
		}
		set := func(name, value string) func(*http.Request) {
			return func(r *http.Request) { r.Header.Set(name, value) }
		}
		for name, c := range map[string]struct {
			edit func(*http.Request)
			want bool
		}{
			"as signed":       {func(*http.Request) {}, true},
			"another query":   {func(r *http.Request) { r.RequestURI = "/orders?all=2" }, true}, // stated in the comment of ForwardKey
			"another path":    {func(r *http.Request) { r.RequestURI = "/orders/7?all=1" }, false},
			"path escaped":    {func(r *http.Request) { r.RequestURI = "/%6frders?all=1" }, false},
			"another method":  {func(r *http.Request) { r.Method = "POST" }, false},
			"another user":    {set("X-Auth-User-Id", "8"), false},
			"another name":    {set("X-Auth-Username", "bob"), false},
			"another role":    {set("X-Auth-Role", "admin"), false},
			"another session": {set("X-Auth-Session-Id", "8"), false},
			"more time":       {set("X-Auth-Expires-In", "99999"), false},
			"more idle time":  {set("X-Auth-Idle-Expires-In", "99999"), false},
			"a digit moved on": {func(r *http.Request) { // the parts are separate
				id, in := r.Header.Get("X-Auth-Session-Id"), r.Header.Get("X-Auth-Expires-In")
				r.Header.Set("X-Auth-Session-Id", id[:len(id)-1])
				r.Header.Set("X-Auth-Expires-In", id[len(id)-1:]+in)
			}, false},
			"at the end of the window":   {func(*http.Request) { time.Sleep(flakepass.ForwardWindow) }, true},
			"after the window":           {func(*http.Request) { time.Sleep(flakepass.ForwardWindow + time.Second) }, false},
			"time moved":                 {set("X-Auth-Signature", ""), false},
			"signature of another shape": {set("X-Auth-Signature", "v2.x"), false},
		} {
			if name == "time moved" {
				c.edit = func(r *http.Request) {
					at, sum, _ := strings.Cut(r.Header.Get("X-Auth-Signature"), ".")
					r.Header.Set("X-Auth-Signature", at[:len(at)-1]+string('0'+(at[len(at)-1]-'0'+1)%10)+"."+sum)
				}
			}
			if got := believed(c.edit); got != c.want {
				t.Errorf("%s: believed %t, want %t", name, got, c.want)
			}
		}
		for _, h := range []http.Header{forwardedHeader(t, key, "", "/orders"), forwardedHeader(t, key, "GET", "")} {
			if h.Get("X-Auth-Signature") != "" {
				t.Error("signed for no method or no path")
			}
		}
	})
}

func TestForwardKeyDoesNotPrintItself(t *testing.T) {
	key := forwardKey(t, keyText)
	var out strings.Builder
	for _, v := range []any{key, &key, []flakepass.ForwardKey{key}, flakepass.Forwarded{Keys: []flakepass.ForwardKey{key}}, struct{ k flakepass.ForwardKey }{key}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
	}
	if b, err := json.Marshal(map[string]any{"key": key}); err == nil {
		out.Write(b)
	}
	slog.New(slog.NewTextHandler(&out, nil)).Info("", "key", key)
	_, err := flakepass.NewForwardKey(keyText[:flakepass.MinForwardKey-1])
	fmt.Fprint(&out, err)
	if err == nil || strings.Contains(out.String(), "PLANTED") || strings.Contains(out.String(), fmt.Sprintf("%x", "PLANTED")) {
		t.Errorf("error %v; printed %s", err, &out)
	}
	if got := (flakepass.ForwardKey{}).String(); got != "key(none)" {
		t.Errorf("no key prints as %s", got)
	}
}

// signatureForm is a time and 256 bits, of whose last character two bits are 0.
var signatureForm = regexp.MustCompile(`^[1-9][0-9]*\.[\w-]{42}[AEIMQUYcgkosw048]$`)

// Whatever the headers hold, only an identity that the key has signed is believed,
// and as it was signed.
func FuzzForwarded(f *testing.F) {
	good := forwardedHeader(f, forwardKey(f, keyText), "GET", "/orders")
	f.Add(good.Get("X-Auth-User-Id"), good.Get("X-Auth-Username"), good.Get("X-Auth-Role"), good.Get("X-Auth-Session-Id"),
		good.Get("X-Auth-Expires-In"), good.Get("X-Auth-Idle-Expires-In"), good.Get("X-Auth-Signature"), "X_Auth_Role")
	at, sum, _ := strings.Cut(good.Get("X-Auth-Signature"), ".")
	f.Add(good.Get("X-Auth-User-Id"), good.Get("X-Auth-Username"), good.Get("X-Auth-Role"), good.Get("X-Auth-Session-Id"),
		good.Get("X-Auth-Expires-In"), good.Get("X-Auth-Idle-Expires-In"), at+"."+sum[:20]+"\r"+sum[20:], "X_Auth_Role")
	f.Add("7", "ada", "user", "4;9", "5", "", "", "x.auth.act")
	f.Add("7", "ada", "user", "4;9", "5", "", "", "X-Auth-Session-Id")
	f.Add("7", "ada", "user", "9", "5", "", "", "X-Auth-User-\u0130d")
	f.Add("7", "%61", "a\nb", "9", "-1", "", "1.", "x.auth.user-id")
	f.Fuzz(func(t *testing.T, user, name, role, session, expires, idle, signature, alias string) {
		key := forwardKey(t, keyText)
		in := "X-Auth-Session-Id"
		if strings.Contains(session, ";") {
			in = "X-Auth-Act"
		}
		header := func() http.Header {
			h := http.Header{alias: {"forged"}}
			for n, v := range map[string]string{"X-Auth-User-Id": user, "X-Auth-Username": name, "X-Auth-Role": role,
				in: session, "X-Auth-Expires-In": expires, "X-Auth-Idle-Expires-In": idle, "X-Auth-Signature": signature} {
				h[n] = []string{v}
			}
			return h
		}
		admit := func(fw *flakepass.Forwarded) (flakepass.Identity, bool, http.Header) {
			h := header()
			next, ok := (&flakepass.Guard{Forwarded: fw}).Admit(httptest.NewRecorder(), forwarded(t, "127.0.0.1:1", h))
			if !ok {
				return flakepass.Identity{}, false, h
			}
			who, _ := flakepass.FromContext(next.Context())
			return who, true, h
		}
		who, ok, h := admit(&flakepass.Forwarded{From: fromHere})
		if rest := left(h); !ok && len(rest) > 0 || len(rest) > 6 {
			t.Errorf("believed %t, left %v", ok, rest)
		}
		if ok {
			// What was believed is what Forward writes.
			again := http.Header{}
			flakepass.ForwardKey{}.Forward(again, &who, "", "")
			if again.Get("X-Auth-User-Id") != user || again.Get("X-Auth-Username") != name || again.Get("X-Auth-Role") != role || again.Get(in) != session {
				t.Errorf("believed %v as %+v", h, who)
			}
		}
		// A fuzzer has several processes, and each signs at a moment of its own: the
		// claims show whose signature it is: only the key can have signed them.
		if _, signed, _ := admit(&flakepass.Forwarded{Keys: []flakepass.ForwardKey{key}}); signed && (!ok || !signatureForm.MatchString(signature) ||
			user != good.Get("X-Auth-User-Id") || name != good.Get("X-Auth-Username") || role != "user" || session != good.Get("X-Auth-Session-Id")) {
			t.Errorf("not signed, and believed: %q %q", signature, role)
		}
	})
}

// A signature of the future comes from a clock that is wrong, or was made to be
// kept. Every bubble begins at the same time.
func TestSignatureOfTheFutureIsNotBelieved(t *testing.T) {
	key := forwardKey(t, keyText)
	for ahead, want := range map[time.Duration]bool{flakepass.ForwardWindow: true, flakepass.ForwardWindow + time.Second: false} {
		var h http.Header
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(ahead)
			h = forwardedHeader(t, key, "GET", "/orders")
		})
		synctest.Test(t, func(t *testing.T) {
			guard := &flakepass.Guard{Forwarded: &flakepass.Forwarded{Keys: []flakepass.ForwardKey{key}}}
			if _, ok := guard.Admit(httptest.NewRecorder(), forwarded(t, "9.9.9.9:1", h)); ok != want {
				t.Errorf("%v ahead: believed %t, want %t", ahead, ok, want)
			}
		})
	}
}
