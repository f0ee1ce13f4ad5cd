package flakepass_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
)

const insufficient = bare + `, error="insufficient_scope"`

// A role is asked for only after the token: a request with none, or with a
// dead one, gets 401 and never 403.
func TestOnlyChecksTheTokenFirstAndThenTheRole(t *testing.T) {
	base := &flakepass.Guard{Verifier: flakepass.VerifierFunc(toAlice)}
	dead := &flakepass.Guard{Verifier: saying(flakepass.ErrLoggedOut)}
	for name, c := range map[string]struct {
		guard     *flakepass.Guard
		header    http.Header
		status    int
		code      string
		challenge string
	}{
		"the role":                {base.Only("user"), withToken(), 204, "", ""},
		"one of the roles":        {base.Only("admin", "user"), withToken(), 204, "", ""},
		"another role":            {base.Only("admin", "service"), withToken(), 403, "forbidden", insufficient},
		"another case":            {base.Only("User"), withToken(), 403, "forbidden", insufficient},
		"no roles":                {base.Only(), withToken(), 403, "forbidden", insufficient},
		"the later Only counts":   {base.Only("user").Only("admin"), withToken(), 403, "forbidden", insufficient},
		"no token":                {base.Only("admin"), nil, 401, "token_missing", bare},
		"no token, optional":      {base.Only("admin").Optional(), nil, 401, "token_missing", bare},
		"no token, optional then": {base.Optional().Only("admin"), nil, 401, "token_missing", bare},
		"dead token": {dead.Only("admin"), withToken(), 401, "token_logged_out",
			bare + `, error="invalid_token", error_description="logged out"`},
		"the base is as it was": {base, withToken(), 204, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var through bool
			got := httptest.NewRecorder()
			c.guard.Handler(reached(&through)).ServeHTTP(got, request(t, c.header))
			if through != (c.status == 204) {
				t.Errorf("let through: got %t, want %t", through, !through)
			}
			if c.status != 204 {
				mustAnswer(t, got, c.header, c.status, c.code, c.challenge)
			}
		})
	}
	roles := []string{"admin"}
	guard := base.Only(roles...)
	roles[0] = "user"
	if _, ok := guard.Admit(httptest.NewRecorder(), request(t, withToken())); ok {
		t.Error("the caller of Only changed the roles afterwards")
	}
}

// Optional admits a request without a token. A token that is refused, or that cannot
// be checked, is an error as without Optional.
func TestOptionalAdmitsOnlyRequestsWithoutAToken(t *testing.T) {
	for name, c := range map[string]struct {
		verifier flakepass.Verifier
		header   http.Header
		status   int
		code     string
	}{
		"nothing":         {never(t), nil, 200, ""},
		"other scheme":    {never(t), http.Header{"Authorization": {"Basic eDp5"}}, 200, ""},
		"token":           {flakepass.VerifierFunc(toAlice), withToken(), 200, "alice"},
		"dead token":      {saying(flakepass.ErrRevoked), withToken(), 401, "token_revoked"},
		"undecided":       {saying(context.DeadlineExceeded), withToken(), 503, "unavailable"},
		"no token at all": {never(t), http.Header{"Authorization": {"Bearer x"}}, 401, "token_malformed"},
		"two":             {never(t), http.Header{"Authorization": {"Bearer x", "Bearer y"}}, 400, "credentials_ambiguous"},
		// The one that was asked says so: the request did bring a token.
		"missing, says the verifier": {saying(flakepass.ErrMissing), withToken(), 401, "token_missing"},
	} {
		t.Run(name, func(t *testing.T) {
			guard := (&flakepass.Guard{Verifier: c.verifier}).Optional()
			got := httptest.NewRecorder()
			guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				who, ok := flakepass.FromContext(r.Context())
				if who.Username != c.code || ok != (c.code != "") {
					t.Errorf("got %+v, %t", who, ok)
				}
			})).ServeHTTP(got, request(t, c.header))
			if got.Code != c.status || got.Code != 200 && !strings.Contains(got.Body.String(), `"code":"`+c.code+`"`) {
				t.Errorf("got %d %s, want %d %s", got.Code, got.Body, c.status, c.code)
			}
		})
	}
}

func TestPassiveReachesTheVerifier(t *testing.T) {
	with := func(values ...string) http.Header {
		h := withToken()
		h[flakepass.PassiveHeader] = values
		return h
	}
	for name, c := range map[string]struct {
		header http.Header
		route  bool // of passive requests
		want   bool
	}{
		"no word":           {withToken(), false, false},
		"1":                 {with("1"), false, true},
		"0":                 {with("0"), false, false},
		"true":              {with("true"), false, false},
		"empty":             {with(""), false, false},
		"twice":             {with("1", "1"), false, false},
		"route":             {withToken(), true, true},
		"route, and 0":      {with("0"), true, true},
		"route, and header": {with("1"), true, true},
	} {
		t.Run(name, func(t *testing.T) {
			asked := false
			guard := &flakepass.Guard{Verifier: flakepass.VerifierFunc(func(ctx context.Context, _ flakepass.Token) (flakepass.Identity, error) {
				asked = true
				if got := flakepass.IsPassive(ctx); got != c.want {
					t.Errorf("passive: got %t, want %t", got, c.want)
				}
				return alice, nil
			})}
			if c.route {
				guard = guard.Passive()
			}
			next, ok := guard.Admit(httptest.NewRecorder(), request(t, c.header))
			if !ok || !asked {
				t.Fatal("not let through")
			}
			if flakepass.IsPassive(next.Context()) {
				t.Error("what the handler asks for itself is passive as well")
			}
		})
	}
}

func TestAnswersSayHowMuchTimeIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // time stands still
		now := time.Now()
		for name, c := range map[string]struct {
			absolute, idle time.Time
			want           string
		}{
			"whole":           {now.Add(time.Hour), now.Add(time.Minute), "3600 60"},
			"rounded down":    {now.Add(time.Hour - 1), now.Add(1999 * time.Millisecond), "3599 1"},
			"less than one":   {now.Add(time.Second - 1), now.Add(1), "0 0"},
			"over":            {now, now.Add(-time.Hour), "0 0"},
			"as long as can":  {time.UnixMilli(1<<62 - 1), now, "9223372036 0"},
			"idle unknown":    {now.Add(time.Minute), time.Time{}, "60 "},
			"both unknown":    {time.Time{}, time.Time{}, " "},
			"expiry unknown":  {time.Time{}, now.Add(time.Minute), " 60"},
			"in another zone": {now.Add(time.Minute).In(time.FixedZone("", 3600)), now.Add(time.Second), "60 1"},
		} {
			who := alice
			who.ExpiresAt, who.IdleExpiresAt = c.absolute, c.idle
			guard := &flakepass.Guard{Verifier: flakepass.VerifierFunc(
				func(context.Context, flakepass.Token) (flakepass.Identity, error) { return who, nil })}
			get := func(g *flakepass.Guard) (string, http.Header) {
				w := httptest.NewRecorder()
				if _, ok := g.Admit(w, request(t, withToken())); !ok {
					t.Fatal("not let through")
				}
				h := w.Header()
				return h.Get(flakepass.ExpiresInHeader) + " " + h.Get(flakepass.IdleExpiresInHeader), h
			}
			got, h := get(guard)
			if got != c.want {
				t.Errorf("%s: got %q, want %q", name, got, c.want)
			}
			if strings.Contains(got, "-") {
				t.Errorf("%s: %q is negative", name, got)
			}
			h.Add(flakepass.ExpiresInHeader, "added")
			if other := h.Get(flakepass.IdleExpiresInHeader); other == "added" {
				t.Errorf("%s: an Add to one header changed the other", name)
			}
			guard.HideTimes = true
			if _, h := get(guard); len(h) != 0 {
				t.Errorf("%s: hidden, and yet %v", name, h)
			}
		}
	})
	// A refusal shows the times of no login.
	w := httptest.NewRecorder()
	_, _ = (&flakepass.Guard{Verifier: flakepass.VerifierFunc(toAlice)}).Only("admin").Admit(w, request(t, withToken()))
	if w.Header().Get(flakepass.ExpiresInHeader) != "" {
		t.Error("a refusal has times")
	}
}

// roomy is a context of a server with room for who sent the request.
type roomy struct {
	context.Context //nolint:containedctx // it is one
	room            flakepass.Room
}

func (r *roomy) Value(key any) any {
	if v := r.room.Value(key); v != nil {
		return v
	}
	return r.Context.Value(key)
}

// A Guard uses the room of a context once: the request goes on as it is, and what another
// Guard finds later counts without a change of what the first has said.
func TestRoomTakesOneIdentity(t *testing.T) {
	r := request(t, withToken())
	r = r.WithContext(&roomy{Context: r.Context()})
	if who, ok := flakepass.FromContext(r.Context()); ok {
		t.Fatalf("an empty room has %v", who)
	}
	if _, err := (&flakepass.Guard{Verifier: saying(flakepass.ErrLoggedOut)}).Check(httptest.NewRecorder(), r); err == nil {
		t.Fatal("a dead token is let through")
	}
	if who, ok := flakepass.FromContext(r.Context()); ok {
		t.Fatalf("after a refusal the room has %v", who)
	}
	first, err := (&flakepass.Guard{Verifier: flakepass.VerifierFunc(toAlice)}).Check(httptest.NewRecorder(), r)
	if err != nil || first != r {
		t.Fatalf("%v; another request: %t", err, first != r)
	}
	bob := &flakepass.Guard{Verifier: flakepass.VerifierFunc(func(context.Context, flakepass.Token) (flakepass.Identity, error) {
		return flakepass.Identity{UserID: 2, Username: "bob", Role: "user"}, nil
	})}
	second, err := bob.Check(httptest.NewRecorder(), first)
	if err != nil || second == first {
		t.Fatalf("%v; the same request: %t", err, second == first)
	}
	for request, want := range map[*http.Request]string{first: "alice", second: "bob"} {
		if who, ok := flakepass.FromContext(request.Context()); !ok || who.Username != want {
			t.Errorf("%v, want %s", who, want)
		}
	}
}
