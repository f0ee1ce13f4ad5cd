package httpapi_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
)

// The caller is a service; target is a token that it was shown.
var (
	service = flakepass.Identity{UserID: 7, Username: "billing", Role: "service", SessionID: who.SessionID, DeviceClass: "other"}
	caller  = flakepass.NewToken(who.SessionID).Reveal()
	target  = flakepass.NewToken(other.SessionID).Reveal()
)

func ofService() *world { return &world{identity: &service} }

// An oauthAnswer is what an OAuth client reads.
type oauthAnswer struct {
	status             int
	header             http.Header
	body               string
	Code, Error, Title string
	Description        string `json:"error_description"`
}

// post sends a form as an OAuth client does, and holds the answer to the
// contract. edits change the request.
func post(t testing.TB, h http.Handler, path, form string, edits ...func(*http.Request)) oauthAnswer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x"+path, strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "Bearer "+caller)
	for _, edit := range edits {
		edit(req)
	}
	status, body, header := byContract(t, h, req)
	a := oauthAnswer{status: status, header: header, body: body}
	if body != "" {
		if err := json.Unmarshal([]byte(body), &a); err != nil {
			t.Fatalf("the body is no JSON: %v", err)
		}
	}
	if header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s may be cached", path)
	}
	return a
}

func authorization(values ...string) func(*http.Request) {
	return func(r *http.Request) { r.Header["Authorization"] = values }
}

func basic(name, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+password))
}

// TestOAuthClientSaysWhoItIs: by every way that a client library has, and in
// the words of OAuth if it may not.
func TestOAuthClientSaysWhoItIs(t *testing.T) {
	none := func(r *http.Request) { r.Header.Del("Authorization") }
	const basicChallenge, plainChallenge = `Basic realm="flakepass"`, `Bearer realm="flakepass"`
	encoded := strings.ReplaceAll(caller, "_", "%5F")
	for name, c := range map[string]struct {
		edit             func(*http.Request)
		world            *world
		status           int
		code, err, offer string
	}{
		"Bearer":                   {authorization("Bearer " + caller), ofService(), 200, "", "", ""},
		"bearer":                   {authorization("bearer  " + caller), ofService(), 200, "", "", ""},
		"Basic":                    {authorization(basic("billing", caller)), ofService(), 200, "", "", ""},
		"basic":                    {authorization("b" + basic("billing", caller)[1:]), ofService(), 200, "", "", ""},
		"Basic, several spaces":    {authorization("Basic   " + basic("billing", caller)[6:]), ofService(), 200, "", "", ""},
		"Basic, encoded":           {authorization(basic("billing%40x", encoded)), ofService(), 200, "", "", ""},
		"Basic without a name":     {authorization(basic("", caller)), ofService(), 200, "", "", ""},
		"nothing":                  {none, ofService(), 401, "token_missing", "invalid_client", plainChallenge},
		"another scheme":           {authorization("Digest x"), ofService(), 401, "token_missing", "invalid_client", plainChallenge},
		"no token":                 {authorization("Bearer x"), ofService(), 401, "token_malformed", "invalid_token", "error="},
		"Basic, a password":        {authorization(basic("billing", password)), ofService(), 401, "token_malformed", "invalid_client", basicChallenge},
		"Basic, a bad escape":      {authorization(basic("billing", "%zz")), ofService(), 401, "token_malformed", "invalid_client", basicChallenge},
		"Basic, not base64":        {authorization("Basic ???"), ofService(), 401, "token_malformed", "invalid_client", basicChallenge},
		"Basic, nothing":           {authorization("Basic"), ofService(), 401, "token_malformed", "invalid_client", basicChallenge},
		"twice":                    {authorization("Bearer "+caller, "Bearer "+caller), ofService(), 400, "credentials_ambiguous", "invalid_request", ""},
		"Basic twice":              {authorization(basic("a", caller), basic("b", caller)), ofService(), 400, "credentials_ambiguous", "invalid_request", ""},
		"dead":                     {authorization("Bearer " + caller), &world{verify: flakepass.ErrReplaced}, 401, "token_replaced", "invalid_token", "error="},
		"Basic, dead":              {authorization(basic("", caller)), &world{verify: flakepass.ErrReplaced}, 401, "token_replaced", "invalid_client", basicChallenge},
		"a user":                   {authorization("Bearer " + caller), &world{}, 403, "forbidden", "insufficient_scope", ""},
		"Basic, a user":            {authorization(basic("", caller)), &world{}, 403, "forbidden", "unauthorized_client", ""},
		"undecided":                {authorization("Bearer " + caller), &world{verify: errors.New(cause)}, 503, "unavailable", "temporarily_unavailable", ""},
		"not found is no verdict":  {authorization(basic("", caller)), &world{verify: session.ErrNotFound}, 503, "unavailable", "temporarily_unavailable", ""},
		"a mistake in the program": {authorization(basic("", caller)), &world{panics: cause}, 500, "internal_error", "server_error", ""},
	} {
		for _, path := range []string{"/v1/introspect", "/v1/revoke"} {
			a := post(t, handler(t, c.world, nil), path, "token="+target, c.edit)
			got := a.header.Get("WWW-Authenticate")
			if a.status != c.status || a.Code != c.code || a.Error != c.err || !strings.Contains(got, c.offer) {
				t.Errorf("%s, %s: got %d %s %s, %q; want %d %s %s, %q", name, path, a.status, a.Code, a.Error, got, c.status, c.code, c.err, c.offer)
			}
			if a.status >= 400 && (a.header.Get("Content-Type") != "application/json" || !strings.HasPrefix(a.Description, a.Title)) {
				t.Errorf("%s, %s: %s is no answer for an OAuth client", name, path, a.body)
			}
			if a.status != 200 && len(c.world.revoked) > 0 {
				t.Errorf("%s: a token was revoked", name)
			}
			if strings.Contains(a.body, "canary") {
				t.Errorf("%s: the answer has the cause", name)
			}
		}
	}
}

// TestTokenHeaderGoesForOAuthClientsToo: and beside Basic it is one credential
// too many.
func TestTokenHeaderGoesForOAuthClientsToo(t *testing.T) {
	named := func(o *httpapi.Options) { o.TokenHeader = "X-Auth-Token" }
	extra := func(r *http.Request) { r.Header.Set("X-Auth-Token", caller) }
	none := func(r *http.Request) { r.Header.Del("Authorization") }
	if a := post(t, handler(t, ofService(), named), "/v1/introspect", "token="+target, none, extra); a.status != 200 {
		t.Errorf("got %d %s", a.status, a.body)
	}
	a := post(t, handler(t, ofService(), named), "/v1/introspect", "token="+target, authorization(basic("", caller)), extra)
	if a.status != 400 || a.Code != "credentials_ambiguous" {
		t.Errorf("beside Basic: got %d %s", a.status, a.body)
	}
}

// TestIntrospectionTellsWhoAndNothingOfTheDead: whatever the reason.
func TestIntrospectionTellsWhoAndNothingOfTheDead(t *testing.T) {
	const alive = `{"active":true,"sub":"8","username":"alice","role":"user","token_type":"Bearer","jti":"412873650192384002","device_class":"other","iat":1795252353,"exp":1795252413,"amr":["pwd"],"auth_time":1795252353}`
	if a := post(t, handler(t, ofService(), nil), "/v1/introspect", "token="+target); a.status != 200 || a.body != alive {
		t.Errorf("got %d %s, want %s", a.status, a.body, alive)
	}
	for _, err := range []error{
		flakepass.ErrInvalid, flakepass.ErrExpired, flakepass.ErrIdle, flakepass.ErrLoggedOut, flakepass.ErrReplaced,
		flakepass.ErrRevoked, flakepass.ErrAccountDisabled, fmt.Errorf("wrapped: %w", flakepass.ErrRevoked),
	} {
		w := ofService()
		w.target = err
		if a := post(t, handler(t, w, nil), "/v1/introspect", "token="+target); a.status != 200 || a.body != `{"active":false}` {
			t.Errorf("%v: got %d %s", err, a.status, a.body)
		}
	}
	for _, text := range []string{"x", " ", "fp_", strings.Repeat("a", 46), target + "x", "Bearer " + target, "\xff\x00", strings.Repeat("%41", 800)} {
		w := ofService()
		a := post(t, handler(t, w, nil), "/v1/introspect", "token="+url.QueryEscape(text))
		if a.status != 200 || a.body != `{"active":false}` || len(w.asked) != 1 {
			t.Errorf("%.50q: got %d %s, asked %d times", text, a.status, a.body, len(w.asked))
		}
	}
	for _, err := range []error{errors.New(cause), session.ErrNotFound, context.DeadlineExceeded} {
		w := ofService()
		w.target = err
		a := post(t, handler(t, w, nil), "/v1/introspect", "token="+target)
		if a.status != 503 || a.Error != "temporarily_unavailable" || a.header.Get("Retry-After") == "" || strings.Contains(a.body, "active") {
			t.Errorf("%v: got %d %s", err, a.status, a.body)
		}
	}
}

// TestRevocationTellsNothing: also where the token was dead, or never one.
func TestRevocationTellsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		end    error
		before bool
		status int
		asked  int
	}{
		"alive":                 {target, nil, false, 200, 1},
		"over before":           {target, nil, true, 200, 1},
		"others not notified":   {target, fmt.Errorf("x: %w", session.ErrUnpublished), false, 200, 1},
		"no token":              {"x", nil, false, 200, 0},
		"not written":           {target, errors.New(cause), false, 503, 1},
		"not known whether":     {target, context.DeadlineExceeded, false, 503, 1},
		"the caller's very own": {caller, nil, false, 200, 1},
	} {
		var log bytes.Buffer
		w := ofService()
		w.end, w.before = c.end, c.before
		h := handler(t, w, func(o *httpapi.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		a := post(t, h, "/v1/revoke", "token_type_hint=refresh_token&token="+c.text)
		if a.status != c.status || len(w.revoked) != c.asked || a.status == 200 && a.body != "" {
			t.Errorf("%s: got %d %q, revoked %v", name, a.status, a.body, w.revoked)
		}
		if strings.Contains(log.String(), c.text[:max(1, len(c.text)-6)]) && len(c.text) > 6 {
			t.Errorf("%s: the log has the token", name)
		}
		if c.asked == 1 && w.revokers[0].ID != 7 {
			t.Errorf("%s: by %+v", name, w.revokers)
		}
	}
}

// TestFormsThatAreNone: what two parsers could read differently is refused, with
// what to do.
func TestFormsThatAreNone(t *testing.T) {
	kind := func(values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header["Content-Type"] = values }
	}
	const form = "application/x-www-form-urlencoded"
	for name, c := range map[string]struct {
		path, body   string
		edit         func(*http.Request)
		status       int
		code, advice string
	}{
		"a charset":          {"", "token=" + target, kind(form + ";charset=UTF-8"), 200, "", ""},
		"capitals":           {"", "token=" + target, kind("Application/X-WWW-Form-URLencoded; Charset=utf-8"), 200, "", ""},
		"unknown parameters": {"", "a=1&b=&client_id=x&client_secret=&token=" + target, nil, 200, "", ""},
		"another query":      {"?pretty=1", "token=" + target, nil, 200, "", ""},
		"nothing":            {"", "", nil, 400, "body_malformed", "as the parameter token"},
		"no token":           {"", "token_type_hint=access_token", nil, 400, "body_malformed", "as the parameter token"},
		"an empty token":     {"", "token=", nil, 400, "body_malformed", "as the parameter token"},
		"Token":              {"", "Token=" + target, nil, 400, "body_malformed", "as the parameter token"},
		"two tokens":         {"", "token=" + target + "&token=" + target, nil, 400, "body_malformed", "each parameter once"},
		"two hints":          {"", "token_type_hint=a&token=" + target + "&token_type_hint=b", nil, 400, "body_malformed", "each parameter once"},
		"a bad escape":       {"", "token=%zz", nil, 400, "body_malformed", "send a form"},
		"a semicolon":        {"", "token=" + target + ";x=1", nil, 400, "body_malformed", "send a form"},
		"the same secret":    {"", "client_id=x&client_secret=" + caller + "&token=" + target, nil, 200, "", ""},
		"another secret":     {"", "client_id=x&client_secret=" + target + "&token=" + target, nil, 400, "credentials_ambiguous", "of the header Authorization"},
		"in the URL":         {"?token=" + target, "token=" + target, nil, 400, "token_in_url", "revoke it"},
		"access_token in it": {"?access_token=" + target, "token=" + target, nil, 400, "token_in_url", "revoke it"},
		"in an odd URL":      {"?%zz&token=" + target, "", nil, 400, "token_in_url", "revoke it"},
		"JSON":               {"", `{"token":"` + target + `"}`, kind("application/json"), 415, "media_type_unsupported", "x-www-form-urlencoded"},
		"many parts":         {"", "token=" + target, kind("multipart/form-data; boundary=x"), 415, "media_type_unsupported", "x-www-form-urlencoded"},
		"no type":            {"", "token=" + target, kind(), 415, "media_type_unsupported", "x-www-form-urlencoded"},
		"Latin-1":            {"", "token=" + target, kind(form + "; charset=iso-8859-1"), 415, "media_type_unsupported", "x-www-form-urlencoded"},
		"a coding":           {"", "token=" + target, func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }, 415, "media_type_unsupported", "Content-Encoding"},
		"100 kB":             {"", "token=" + strings.Repeat("a", 100_000), nil, 413, "body_too_large", "8192"},
		"100 kB, unannounced": {"", "token=" + strings.Repeat("a", 100_000), func(r *http.Request) { r.ContentLength = -1 },
			413, "body_too_large", "8192"},
	} {
		for _, path := range []string{"/v1/introspect", "/v1/revoke"} {
			w := ofService()
			edits := []func(*http.Request){}
			if c.edit != nil {
				edits = append(edits, c.edit)
			}
			a := post(t, handler(t, w, nil), path+c.path, c.body, edits...)
			if a.status != c.status || a.Code != c.code || !strings.Contains(a.Description, c.advice) {
				t.Errorf("%s, %s: got %d %s %q, want %d %s %q", name, path, a.status, a.Code, a.Description, c.status, c.code, c.advice)
			}
			if c.status >= 400 && (a.Error != "invalid_request" || len(w.asked) != 1 || len(w.revoked) != 0) {
				t.Errorf("%s, %s: error %q, asked %d, revoked %d", name, path, a.Error, len(w.asked), len(w.revoked))
			}
			if strings.Contains(a.body, target) || strings.Contains(a.body, caller) {
				t.Errorf("%s, %s: the answer repeats a token", name, path)
			}
		}
	}
}

// TestIntrospectionIsAUseUnlessItIsPassive: the app's request is one, and a
// poll is none.
func TestIntrospectionIsAUseUnlessItIsPassive(t *testing.T) {
	for value, want := range map[string]bool{"": false, "0": false, "1": true} {
		w := ofService()
		a := post(t, handler(t, w, nil), "/v1/introspect", "token="+target, func(r *http.Request) {
			if value != "" {
				r.Header.Set(flakepass.PassiveHeader, value)
			}
		})
		asked := len(w.asked) > 0 && w.asked[len(w.asked)-1] != idworker.ID(who.SessionID)
		passive := len(w.passive) > 0 && w.passive[len(w.passive)-1] == w.asked[len(w.asked)-1]
		if a.status != 200 || !asked || passive != want {
			t.Errorf("%q: %d, asked %v, passive %v, want %v", value, a.status, w.asked, w.passive, want)
		}
	}
}
