package flakepass_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
)

const (
	bare         = `Bearer realm="flakepass"`
	malformed    = bare + `, error="invalid_token", error_description="not a token"`
	ambiguous    = bare + `, error="invalid_request"`
	secondGolden = "fp_00000000001ABCDEFGHIJKLMNOPQRSTUVWXYZ0gSzjR"
)

// alice is who holds every token in these tests.
var alice = flakepass.Identity{UserID: 7, Username: "alice", Role: "user", SessionID: 1234567890123456789}

func toAlice(context.Context, flakepass.Token) (flakepass.Identity, error) { return alice, nil }

// never is a Verifier that must not be asked.
func never(t *testing.T) flakepass.VerifierFunc {
	return func(context.Context, flakepass.Token) (flakepass.Identity, error) {
		t.Error("the Verifier was asked about a request that brings no token")
		return alice, nil
	}
}

func request(t *testing.T, header http.Header) *http.Request {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/MARKER-PATH?token=MARKER-QUERY", nil)
	r.Header = header.Clone()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Set("X-Request-Id", "MARKER-REQUEST-ID")
	r.Header.Set("User-Agent", "MARKER-AGENT")
	r.Header.Set("Cookie", "token="+goldenText)
	return r
}

// reached is a handler that says so.
func reached(was *bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		*was = true
		w.WriteHeader(http.StatusNoContent)
	})
}

// mustAnswer checks an answer that is not a success, whole.
func mustAnswer(t *testing.T, got *httptest.ResponseRecorder, sent http.Header, status int, code, challenge string) {
	t.Helper()
	if got.Code != status {
		t.Errorf("got status %d, want %d", got.Code, status)
	}
	header := got.Result().Header
	for name, want := range map[string]string{
		"Www-Authenticate": challenge, "Cache-Control": "no-store", "Content-Type": "application/problem+json",
	} {
		if values := header.Values(name); len(values) > 1 || header.Get(name) != want {
			t.Errorf("got %s %q, want %q", name, values, want)
		}
	}
	var document struct {
		Type, Title, Code string
		Status            int
	}
	if err := json.Unmarshal(got.Body.Bytes(), &document); err != nil {
		t.Fatalf("answer is not JSON: %v: %s", err, got.Body)
	}
	if document.Code != code || document.Status != status || document.Title == "" || !strings.HasSuffix(document.Type, "#"+code) {
		t.Errorf("got the problem %s, want code %s", got.Body, code)
	}
	answer := fmt.Sprint(header) + got.Body.String()
	if strings.Contains(answer, "MARKER") || leaks(answer) {
		t.Errorf("the answer repeats a part of the request: %s", answer)
	}
	for name, values := range sent {
		for _, word := range strings.Fields(strings.Join(values, " ")) {
			if len(word) > len("Bearer") && strings.Contains(answer, word) {
				t.Errorf("the answer repeats %q of %s: %s", word, name, answer)
			}
		}
	}
}

func TestGuardReadsTheCredential(t *testing.T) {
	const extra = "X-Auth-Token"
	good, other := goldenText, secondGolden
	auth := func(values ...string) http.Header { return http.Header{"Authorization": values} }
	both := func(a, x []string) http.Header { return http.Header{"Authorization": a, extra: x} }
	one := func(v string) []string { return []string{v} }

	for _, c := range []struct {
		name      string
		header    http.Header
		extra     string
		status    int
		code      string
		challenge string
	}{
		{"nothing", nil, "", 401, "token_missing", bare},
		{"empty", auth(""), "", 401, "token_missing", bare},
		{"other scheme", auth("Basic TUFSS0VSOk1BUktFUg=="), "", 401, "token_missing", bare},
		{"only the token", auth(good), "", 401, "token_missing", bare},
		{"scheme runs into token", auth("Bearer" + good), "", 401, "token_missing", bare},
		{"scheme that begins the same", auth("Bearerer " + good), "", 401, "token_missing", bare},
		{"scheme with a tab", auth("Bearer\t" + good), "", 401, "token_missing", bare},
		{"space before", auth(" Bearer " + good), "", 401, "token_missing", bare},

		{"good", auth("Bearer " + good), "", 204, "", ""},
		{"lower case", auth("bearer " + good), "", 204, "", ""},
		{"upper case", auth("BEARER " + good), "", 204, "", ""},
		{"mixed case", auth("bEaReR " + good), "", 204, "", ""},
		{"two spaces", auth("Bearer  " + good), "", 204, "", ""},
		{"many spaces", auth("Bearer" + strings.Repeat(" ", 100) + good), "", 204, "", ""},

		{"no token", auth("Bearer"), "", 401, "token_malformed", malformed},
		{"only spaces", auth("Bearer   "), "", 401, "token_malformed", malformed},
		{"space and tab", auth("Bearer \t" + good), "", 401, "token_malformed", malformed},
		{"space after", auth("Bearer " + good + " "), "", 401, "token_malformed", malformed},
		{"tab after", auth("Bearer " + good + "\t"), "", 401, "token_malformed", malformed},
		{"comma after", auth("Bearer " + good + ","), "", 401, "token_malformed", malformed},
		{"quotes", auth(`Bearer "` + good + `"`), "", 401, "token_malformed", malformed},
		{"parameter", auth(`Bearer token="` + good + `"`), "", 401, "token_malformed", malformed},
		{"list of schemes", auth("Bearer " + good + ", Bearer " + other), "", 401, "token_malformed", malformed},
		{"list of tokens", auth("Bearer " + good + "," + other), "", 401, "token_malformed", malformed},
		{"two tokens", auth("Bearer " + good + " " + other), "", 401, "token_malformed", malformed},
		{"folded within", auth("Bearer " + good[:20] + " " + good[20:]), "", 401, "token_malformed", malformed},
		{"line ends", auth("Bearer " + good + "\r\nX-Admin: MARKER"), "", 401, "token_malformed", malformed},
		{"NUL", auth("Bearer " + good + "\x00"), "", 401, "token_malformed", malformed},
		{"byte 0x80", auth("Bearer " + good[:45] + "\x80"), "", 401, "token_malformed", malformed},
		{"bytes 0xff", auth("Bearer " + strings.Repeat("\xff", 46)), "", 401, "token_malformed", malformed},
		{"not UTF-8 before", auth("\xff\xfe " + good), "", 401, "token_missing", bare},
		{"wide characters", auth("Bearer ｆｐ＿" + good[3:]), "", 401, "token_malformed", malformed},
		{"JWT", auth("Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJNQVJLRVIifQ."), "", 401, "token_malformed", malformed},
		{"markup", auth(`Bearer <script>"MARKER"</script>`), "", 401, "token_malformed", malformed},
		{"16 KiB of scheme", auth(strings.Repeat("A", 16<<10)), "", 401, "token_missing", bare},
		{"16 KiB of token", auth("Bearer " + strings.Repeat("A", 16<<10)), "", 401, "token_malformed", malformed},
		{"16 KiB of spaces", auth("Bearer" + strings.Repeat(" ", 16<<10)), "", 401, "token_malformed", malformed},

		{"two lines, different", auth("Bearer "+good, "Bearer "+other), "", 400, "credentials_ambiguous", ambiguous},
		{"two lines, equal", auth("Bearer "+good, "Bearer "+good), "", 400, "credentials_ambiguous", ambiguous},
		{"two lines, one Basic", auth("Basic TUFSS0VSOk1BUktFUg==", "Bearer "+good), "", 400, "credentials_ambiguous", ambiguous},
		{"two lines, one empty", auth("", "Bearer "+good), "", 400, "credentials_ambiguous", ambiguous},

		{"extra, not configured", both(nil, one(good)), "", 401, "token_missing", bare},
		{"extra, not configured, other", both(one("Bearer "+good), one(other)), "", 204, "", ""},
		{"extra", both(nil, one(good)), extra, 204, "", ""},
		{"extra, named in lower case", both(nil, one(good)), "x-auth-token", 204, "", ""},
		{"extra absent", auth("Bearer " + good), extra, 204, "", ""},
		{"nothing, extra configured", nil, extra, 401, "token_missing", bare},
		{"other scheme, extra configured", auth("Basic TUFSS0VSOk1BUktFUg=="), extra, 401, "token_missing", bare},
		{"extra empty", both(nil, one("")), extra, 401, "token_missing", bare},
		{"both empty", both(one(""), one("")), extra, 400, "credentials_ambiguous", ambiguous},
		{"extra with a scheme", both(nil, one("Bearer "+good)), extra, 401, "token_malformed", malformed},
		{"extra mistyped", both(nil, one(good[:45]+"_")), extra, 401, "token_malformed", malformed},
		{"both equal", both(one("Bearer "+good), one(good)), extra, 204, "", ""},
		{"both equal, neither a token", both(one("Bearer nonsense"), one("nonsense")), extra, 401, "token_malformed", malformed},
		{"both different", both(one("Bearer "+good), one(other)), extra, 400, "credentials_ambiguous", ambiguous},
		{"both, extra empty", both(one("Bearer "+good), one("")), extra, 400, "credentials_ambiguous", ambiguous},
		{"both, Bearer with only spaces", both(one("Bearer   "), one(good)), extra, 400, "credentials_ambiguous", ambiguous},
		{"both, Bearer without a token", both(one("Bearer"), one(good)), extra, 400, "credentials_ambiguous", ambiguous},
		{"both, other scheme", both(one("Basic TUFSS0VSOk1BUktFUg=="), one(good)), extra, 400, "credentials_ambiguous", ambiguous},
		{"extra twice", both(nil, []string{good, other}), extra, 400, "credentials_ambiguous", ambiguous},
		{"extra twice, equal", both(nil, []string{good, good}), extra, 400, "credentials_ambiguous", ambiguous},
		{"extra is Authorization", auth("Bearer " + good), "authorization", 204, "", ""},
		{"extra is Authorization, with only the token", auth(good), "Authorization", 401, "token_missing", bare},
	} {
		t.Run(c.name, func(t *testing.T) {
			guard := &flakepass.Guard{Verifier: never(t), Header: c.extra}
			if c.status == 204 {
				guard.Verifier = flakepass.VerifierFunc(func(_ context.Context, token flakepass.Token) (flakepass.Identity, error) {
					if token.Reveal() != good {
						t.Errorf("the Verifier was asked about %v, want %s", token, goldenID)
					}
					return alice, nil
				})
			}
			var through bool
			got := httptest.NewRecorder()
			guard.Handler(reached(&through)).ServeHTTP(got, request(t, c.header))
			if through != (c.status == 204) {
				t.Errorf("let through: got %t, want %t", through, !through)
			}
			if _, err := guard.Optional().Check(httptest.NewRecorder(), request(t, c.header)); (err == nil) != (through || c.code == "token_missing") {
				t.Errorf("where no token is needed: %v", err)
			}
			if c.status != 204 {
				mustAnswer(t, got, c.header, c.status, c.code, c.challenge)
			} else if got.Code != 204 || len(got.Result().Header) > 0 {
				t.Errorf("let through: got status %d and headers %v", got.Code, got.Result().Header)
			}
		})
	}
}

func TestCredentialAllocatesNothing(t *testing.T) {
	for name, header := range map[string]http.Header{
		"accepted":  {"Authorization": {"Bearer " + goldenText}},
		"malformed": {"Authorization": {"bearer " + goldenText[1:]}},
		"missing":   {},
		"extra":     {"X-Auth-Token": {goldenText}},
		"ambiguous": {"Authorization": {"Bearer " + goldenText}, "X-Auth-Token": {secondGolden}},
	} {
		if n := testing.AllocsPerRun(100, func() { _, _ = flakepass.Credential(header, "X-Auth-Token") }); n != 0 {
			t.Errorf("Credential, %s: got %v allocations, want 0", name, n)
		}
	}
}

func FuzzCredential(f *testing.F) {
	f.Add("Bearer "+goldenText, "", 1, 0)
	f.Add("bearer  "+goldenText, goldenText, 1, 1)
	f.Add("Basic eDp5", goldenText, 1, 1)
	f.Add("Bearer "+goldenText+", Bearer "+secondGolden, secondGolden, 2, 2)
	f.Add("Bearer \xff", "\x00", 1, 1)
	f.Add("Bearer "+goldenKey, goldenKey, 1, 1)
	f.Fuzz(func(t *testing.T, auth, extra string, auths, extras int) {
		header := http.Header{}
		auths, extras = max(0, min(auths, 3)), max(0, min(extras, 3))
		for range auths {
			header.Add("Authorization", auth)
		}
		for range extras {
			header.Add("X-Auth-Token", extra)
		}
		token, err := flakepass.Credential(header, "X-Auth-Token")
		switch {
		case err == nil:
			text := token.Reveal()
			if auths > 1 || extras > 1 || auths+extras < 1 {
				t.Errorf("took a token from %d + %d headers", auths, extras)
			}
			if auths == 1 && (len(auth) < 7 || !strings.EqualFold(auth[:7], "Bearer ") || strings.TrimLeft(auth[7:], " ") != text) {
				t.Errorf("took %v from Authorization %q", token, auth)
			}
			if extras == 1 && extra != text {
				t.Errorf("took %v from the extra header %q", token, extra)
			}
		case !errors.Is(err, flakepass.ErrMissing) && !errors.Is(err, flakepass.ErrMalformed) && !errors.Is(err, flakepass.ErrKeyNotAccepted) && !errors.Is(err, flakepass.ErrAmbiguous):
			t.Errorf("got error %v", err)
		case !token.IsZero():
			t.Errorf("refused with %v, yet gave a token", err)
		}
	})
}
