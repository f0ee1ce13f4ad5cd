package httpapi_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
	"github.com/flakepass/flakepass/internal/proof/apitest"
)

func (s *staff) CreateKey(_ context.Context, by audit.Actor, user idworker.ID, n operator.NewKey) (operator.MadeKey, error) {
	until := "never"
	if !n.ExpiresAt.IsZero() {
		until = n.ExpiresAt.Format(time.RFC3339)
	}
	err := s.act(by, "create key %s for %d, %v, %s, %q", n.Name, user, n.Scopes, until, n.Reason)
	id := idworker.ID(412873650192384001)
	scopes, _ := servicekey.ParseScopes(n.Scopes)
	return operator.MadeKey{
		Key:    servicekey.Key{ID: id, UserID: user, Name: n.Name, Scopes: scopes, ExpiresAt: n.ExpiresAt, Creator: servicekey.Creator{ID: by.ID, Name: by.Name}},
		Secret: flakepass.NewServiceKey(flakepass.ID(id)),
	}, err
}

func (s *staff) ListKeys(ctx context.Context, user, before idworker.ID, limit int) ([]servicekey.Key, error) {
	return []servicekey.Key{{ID: 41, UserID: user, Name: "billing", Scopes: servicekey.Known(), RevokedAt: at, UsedAt: at}},
		s.note(ctx, "keys of %d before %d, %d", user, before, limit)
}

func (s *staff) RevokeKey(_ context.Context, by audit.Actor, id idworker.ID, reason string) (servicekey.Key, error) {
	return servicekey.Key{ID: id}, s.act(by, "revoke key %d, %q", id, reason)
}

// keyed knows one key, of which a test says everything; err is what its row says.
type keyed struct {
	servicekey.Held
	err error
}

func (k *keyed) Find(_ context.Context, id idworker.ID) (servicekey.Held, error) {
	if k.err == nil && id != k.ID {
		return servicekey.Held{}, servicekey.ErrNotFound
	}
	k.AsOf = time.Now()
	return k.Held, k.err
}

func (*keyed) Used(context.Context, idworker.ID, time.Time) error { return nil }

// mintKey is a key with its row.
func mintKey(scopes ...servicekey.Scope) (flakepass.ServiceKey, *keyed) {
	k := flakepass.NewServiceKey(412873650192384555)
	return k, &keyed{Held: servicekey.Held{
		Key:  servicekey.Key{ID: idworker.ID(k.ID()), UserID: 77, Name: "billing", Scopes: scopes},
		Hash: servicekey.HashOf(k), Username: "billing", Role: "service",
	}}
}

func keysOver(row *keyed) *servicekey.Service {
	return servicekey.NewService(servicekey.Options{Rows: row, Life: time.Second, Clock: func() (time.Time, bool) { return time.Now(), true }})
}

// withKey is a request with that credential, held to the contract. A stream is read to its
// end by a real server, or for a moment.
func withKey(t *testing.T, h http.Handler, method, path, credential string) (status int, body string, header http.Header) {
	t.Helper()
	form := "token=" + target
	switch path {
	case "/v1/verifications":
		form = `{"tokens":["` + target + `"]}`
	case "/v1/issue":
		form = `{"username":"zoë","method":"sms"}`
	case "/v1/users/41":
		form = `{"aliases":["alice@example.org"]}`
	case "/v1/users":
		path += "?alias=%2B4915112345678"
	}
	url, via, stream := "http://x", apitest.Transport(t, direct{h}), path == "/v1/revocations"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if stream {
		at := httptest.NewServer(h)
		defer at.Close()
		url, via = at.URL, at.Client().Transport
	}
	r, err := http.NewRequestWithContext(ctx, method, url+path, strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if strings.HasPrefix(form, "{") {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Authorization", credential)
	resp, err := via.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if stream && resp.StatusCode == http.StatusOK {
		defer time.AfterFunc(time.Second, cancel).Stop() // one that does not end by itself has begun
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil && !stream {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text), resp.Header
}

// TestKeyOpensOnlyWhatItsScopeNames: a key of each scope tries every route that there is.
func TestKeyOpensOnlyWhatItsScopeNames(t *testing.T) {
	opens := map[servicekey.Scope][]string{
		servicekey.Verify: {"POST /v1/introspect", "POST /v1/verifications", "GET /v1/revocations"},
		servicekey.Revoke: {"POST /v1/revoke"},
		servicekey.Issue:  {"POST /v1/issue"},
		// It allows something only to a key that has the scope issue as well.
		servicekey.IssueAnyRole: nil,

		servicekey.ReadUsers:  {"GET /v1/users", "GET /v1/users/{id}"},
		servicekey.WriteUsers: {"PATCH /v1/users/{id}"},
	}
	var services []string
	for _, list := range opens {
		services = append(services, list...)
	}
	for scope, mine := range opens {
		key, row := mintKey(scope)
		w := &world{}
		h := handler(t, w, func(o *httpapi.Options) { o.Keys, o.People.Names = keysOver(row), &namesWorld{} })
		reached := 0
		for _, r := range apitest.Served(t, h) {
			name := r[0] + " " + r[1]
			if access[name] == public {
				continue
			}
			status, body, header := withKey(t, h, r[0], strings.ReplaceAll(r[1], "{id}", "41"), "Bearer "+key.Reveal())
			switch {
			case strings.Contains(strings.Join(mine, ","), name):
				reached++
				if status != http.StatusOK {
					t.Errorf("%s with scope %s: %d %s", name, scope, status, body)
				}
			case strings.Contains(strings.Join(services, ","), name):
				if status != http.StatusForbidden || !strings.Contains(body, `"code":"scope_missing"`) || !strings.Contains(body, `"scope":"`) {
					t.Errorf("%s with scope %s: %d %s", name, scope, status, body)
				}
				if got := header.Get("WWW-Authenticate"); strings.Contains(body, `"error"`) == strings.Contains(got, "scope=") {
					t.Errorf("%s with scope %s: challenge %q", name, scope, got)
				}
			default:
				if status != http.StatusUnauthorized || !strings.Contains(body, `"code":"key_not_accepted"`) {
					t.Errorf("%s with scope %s: %d %s", name, scope, status, body)
				}
			}
		}
		if reached != len(mine) {
			t.Errorf("scope %s opens %d routes, want %d", scope, reached, len(mine))
		}
		if len(w.asked) > 0 && w.asked[0] == row.ID {
			t.Errorf("a key was looked up as a token: %v", w.asked)
		}
	}
}

// TestKeyIsRefusedBecause: with the code that says why, and without a word about others.
func TestKeyIsRefusedBecause(t *testing.T) {
	other := flakepass.NewServiceKey(412873650192384555).Reveal() // the same ID, another secret
	for _, c := range []struct {
		name   string
		edit   func(*keyed)
		show   string
		status int
		want   string
	}{
		{"good", func(*keyed) {}, "", 200, ""},
		{"revoked", func(k *keyed) { k.RevokedAt = at }, "", 401, "key_revoked"},
		{"expired", func(k *keyed) { k.ExpiresAt = at }, "", 401, "key_expired"},
		{"of a disabled account", func(k *keyed) { k.Disabled = true }, "", 401, "account_disabled"},
		{"of an admin", func(k *keyed) { k.Role = "admin" }, "", 403, "forbidden"},
		{"of a user", func(k *keyed) { k.Role = "user" }, "", 403, "forbidden"},
		{"without a scope", func(k *keyed) { k.Scopes = nil }, "", 403, "scope_missing"},
		{"of a scope of tomorrow", func(k *keyed) { k.Scopes = servicekey.ScopesOf("issue read:users") }, "", 403, "scope_missing"},
		{"unknown", func(k *keyed) { k.ID++ }, "", 401, "key_invalid"},
		{"of another secret", func(*keyed) {}, other, 401, "key_invalid"},
		{"mistyped", func(*keyed) {}, other[:46] + "!", 401, "key_malformed"},
		{"undecided", func(k *keyed) { k.err = errors.New("the database is away") }, "", 503, "unavailable"},
	} {
		for _, path := range []string{"/v1/introspect", "/v1/verifications"} {
			key, row := mintKey(servicekey.Verify)
			c.edit(row)
			show := key.Reveal()
			if c.show != "" {
				show = c.show
			}
			h := handler(t, &world{}, func(o *httpapi.Options) { o.Keys = keysOver(row) })
			schemes := []string{"Bearer " + show}
			if path == "/v1/introspect" {
				schemes = append(schemes, basic("billing", show), basic("", strings.ReplaceAll(show, "_", "%5F")))
			}
			for _, credential := range schemes {
				status, body, header := withKey(t, h, http.MethodPost, path, credential)
				if status != c.status || c.want != "" && !strings.Contains(body, `"code":"`+c.want+`"`) {
					t.Errorf("%s %s: %d %s, want %d %s", c.name, path, status, body, c.status, c.want)
				}
				if status == http.StatusServiceUnavailable && header.Get("Retry-After") == "" {
					t.Errorf("%s %s: no Retry-After", c.name, path)
				}
			}
		}
	}
}

// TestKeyIsTheActor: what a service changes by a key is of that key, and its questions are
// counted for it.
func TestKeyIsTheActor(t *testing.T) {
	key, row := mintKey(servicekey.Revoke)
	w := &world{}
	counted := &callers{}
	h := handler(t, w, func(o *httpapi.Options) { o.Keys, o.Quota = keysOver(row), counted })
	if status, body, _ := withKey(t, h, http.MethodPost, "/v1/revoke", "Bearer "+key.Reveal()); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	if len(w.revokers) != 1 || w.revokers[0].Key != row.ID || w.revokers[0].ID != row.UserID || w.revokers[0].Session != 0 || w.revokers[0].Name != "billing" {
		t.Errorf("revoked by %+v", w.revokers)
	}
	if len(counted.ids) != 1 || counted.ids[0] != row.ID {
		t.Errorf("counted for %v, want the key", counted.ids)
	}
	// The library of APISIX and Kong sends the secret twice.
	a := post(t, h, "/v1/revoke", "token="+target+"&client_secret="+key.Reveal(), authorization(basic("billing", key.Reveal())))
	if a.status != http.StatusOK {
		t.Errorf("with the secret in the form, too: %d %s", a.status, a.body)
	}
	a = post(t, h, "/v1/revoke", "token="+target+"&client_secret="+flakepass.NewServiceKey(9).Reveal(), authorization(basic("billing", key.Reveal())))
	if a.status != http.StatusBadRequest || a.Code != "credentials_ambiguous" {
		t.Errorf("with another one in the form: %d %s", a.status, a.body)
	}
}

type callers struct{ ids []idworker.ID }

func (c *callers) Introspect(_ context.Context, caller idworker.ID, _ int) error {
	c.ids = append(c.ids, caller)
	return nil
}

// TestKeyInTheFormIsNoToken: whose a key is, is told to nobody.
func TestKeyInTheFormIsNoToken(t *testing.T) {
	key, row := mintKey(servicekey.Verify, servicekey.Revoke)
	h := handler(t, &world{}, func(o *httpapi.Options) { o.Keys = keysOver(row) })
	a := post(t, h, "/v1/introspect", "token="+key.Reveal(), authorization("Bearer "+key.Reveal()))
	if a.status != http.StatusOK || a.body != `{"active":false}` {
		t.Errorf("introspected: %d %s", a.status, a.body)
	}
	w := &world{}
	h = handler(t, w, func(o *httpapi.Options) { o.Keys = keysOver(row) })
	if a := post(t, h, "/v1/revoke", "token="+key.Reveal(), authorization("Bearer "+key.Reveal())); a.status != http.StatusOK || len(w.revoked) > 0 {
		t.Errorf("revoked: %d %s, %v", a.status, a.body, w.revoked)
	}
}

// TestStreamEndsWithItsKey: at the first beat that finds it revoked.
func TestStreamEndsWithItsKey(t *testing.T) {
	key, row := mintKey(servicekey.Verify)
	keys := keysOver(row)
	beats := 0
	var ended error
	h := handler(t, &world{}, func(o *httpapi.Options) {
		o.Keys = keys
		o.News = follows(func(send func(session.Bulletin) error) error {
			if err := send(session.Bulletin{Start: &session.Start{Every: time.Second, Mark: "x-1"}}); err != nil {
				return err
			}
			for range 5 {
				if ended = send(session.Bulletin{Beat: true}); ended != nil {
					return ended
				}
				if beats++; beats == 2 {
					row.RevokedAt = at
					keys.Forget(row.ID)
				}
			}
			return nil
		})
	})
	status, _, _ := withKey(t, h, http.MethodGet, "/v1/revocations", "Bearer "+key.Reveal())
	if status != http.StatusOK || beats != 2 || !errors.Is(ended, flakepass.ErrKeyRevoked) {
		t.Errorf("%d, %d beats, %v", status, beats, ended)
	}
}

type follows func(send func(session.Bulletin) error) error

func (f follows) Follow(_ context.Context, _ idworker.ID, _ string, send func(session.Bulletin) error) error {
	return f(send)
}
