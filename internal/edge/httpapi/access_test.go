package httpapi_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
	"github.com/flakepass/flakepass/internal/proof/apitest"
)

// access says for whom each route is. A route that is not here is a fault: who
// adds one says here whom it is for, and in the contract.
var access = map[string]class{
	"POST /v1/register":        public,
	"POST /v1/login":           public,
	"POST /v1/password-resets": public,
	"GET /healthz":             public,
	"HEAD /healthz":            public,
	"GET /readyz":              public,
	"HEAD /readyz":             public,
	"GET /openapi.yaml":        public,

	"POST /v1/logout": holders,

	"GET /v1/me":                               people,
	"DELETE /v1/me":                            leavers,
	"GET /v1/me/export":                        people,
	"PUT /v1/me/password":                      people,
	"GET /v1/me/second-factor":                 people,
	"POST /v1/me/second-factor":                people,
	"DELETE /v1/me/second-factor":              people,
	"POST /v1/me/second-factor/confirm":        people,
	"POST /v1/me/second-factor/recovery-codes": people,
	"GET /v1/verify":                           people,
	"POST /v1/me/reauthenticate":               people,
	"GET /v1/me/sessions":                      people,
	"DELETE /v1/me/sessions/{id}":              people,
	"POST /v1/me/sessions/logout-others":       people,

	"POST /v1/verifications": services,
	"GET /v1/revocations":    services,
	"GET /v1/users":          issuers,
	"GET /v1/users/{id}":     issuers,
	"PATCH /v1/users/{id}":   issuers,
	"POST /v1/introspect":    services,
	"POST /v1/revoke":        services,
	"POST /v1/issue":         issuers,

	"GET /v1/admin/instances":                            admins,
	"GET /v1/admin/sweeps":                               admins,
	"POST /v1/admin/sweeps":                              admins,
	"GET /v1/admin/users":                                admins,
	"POST /v1/admin/users":                               admins,
	"GET /v1/admin/users/{id}":                           admins,
	"PATCH /v1/admin/users/{id}":                         admins,
	"DELETE /v1/admin/users/{id}":                        admins,
	"POST /v1/admin/users/{id}/logout":                   admins,
	"DELETE /v1/admin/users/{id}/second-factor":          admins,
	"POST /v1/admin/users/{id}/password-reset":           admins,
	"DELETE /v1/admin/users/{id}/password-reset":         admins,
	"GET /v1/admin/password-resets":                      admins,
	"DELETE /v1/admin/users/{id}/issued-password-resets": admins,
	"GET /v1/admin/users/{id}/keys":                      admins,
	"POST /v1/admin/users/{id}/keys":                     admins,
	"DELETE /v1/admin/keys/{id}":                         admins,
	"POST /v1/admin/users/{id}/impersonate":              admins,
	"GET /v1/admin/sessions":                             admins,
	"GET /v1/admin/sessions/{id}":                        admins,
	"DELETE /v1/admin/sessions/{id}":                     admins,
	"POST /v1/admin/logout-all":                          admins,
	"GET /v1/admin/stats":                                admins,
	"GET /v1/admin/policy":                               admins,
	"PUT /v1/admin/policy":                               admins,
	"GET /v1/admin/policy/history":                       admins,
	"POST /v1/admin/policy/revert":                       admins,
	"GET /v1/admin/audit":                                admins,
}

// A class is whom a route is for: the status that each caller gets there, or 0
// if the request reaches its handler.
type class struct {
	none, ended             int // without a token, and with one whose login has ended
	user, service, admin    int
	adminWithoutAFactor     int  // where admins need a second factor
	tokenMissing, forbidden bool // what the contract lists for the route
}

var (
	public  = class{}
	holders = class{none: 401, tokenMissing: true}
	people  = class{none: 401, ended: 401, tokenMissing: true}
	leavers = class{none: 401, ended: 401, tokenMissing: true, forbidden: true} // a service may not
	// A token opens none of these, and is not looked at: see TestTokenWhereOnlyAKeyIsTakenIsToldSo.
	issuers  = class{none: 401, ended: 403, user: 403, service: 403, admin: 403, adminWithoutAFactor: 403, tokenMissing: true, forbidden: true}
	services = class{none: 401, ended: 401, user: 403, adminWithoutAFactor: 403, tokenMissing: true, forbidden: true}
	admins   = class{none: 401, ended: 401, user: 403, service: 403, adminWithoutAFactor: 403, tokenMissing: true, forbidden: true}
)

// TestEveryRouteIsForWhomTheTableSays: the routes are those of the router.
func TestEveryRouteIsForWhomTheTableSays(t *testing.T) {
	seen := 0
	for _, r := range apitest.Served(t, bare(t, "user", false)) {
		name := r[0] + " " + r[1]
		want, ok := access[name]
		if !ok {
			t.Errorf("%s is served, and no row says for whom", name)
			continue
		}
		seen++
		for _, c := range []struct {
			caller, role string
			needsFactor  bool
			want         int
		}{
			{"nobody", "", false, want.none},
			{"a login that has ended", "ended", false, want.ended},
			{"a user", "user", false, want.user},
			{"a role that there is not", "Admin", false, want.user},
			{"a service", "service", false, want.service},
			{"an admin", "admin", false, want.admin},
			{"an admin without a second factor", "admin", true, want.adminWithoutAFactor},
		} {
			got := reach(t, bare(t, c.role, c.needsFactor), r[0], r[1], c.role != "")
			if got != http.StatusUnauthorized && got != http.StatusForbidden {
				got = 0
			}
			if got != c.want {
				t.Errorf("%s as %s: %d, want %d (0: it reaches the handler)", name, c.caller, got, c.want)
			}
		}
	}
	if seen != len(access) {
		t.Errorf("%d routes are served, and the table has %d", seen, len(access))
	}
}

// TestContractSaysForWhomEachRouteIs: an operation lists token_missing if it needs
// a token, and forbidden if it needs a role.
func TestContractSaysForWhomEachRouteIs(t *testing.T) {
	codes := apitest.Codes(t)
	for _, o := range apitest.Operations(t) {
		var missing, forbidden bool
		for _, p := range codes[o.String()] {
			missing = missing || p == apitest.Problem{Status: 401, Code: flakepass.ErrMissing.Code()}
			forbidden = forbidden || p == apitest.Problem{Status: 403, Code: "forbidden"}
		}
		if want := access[o.String()]; missing != want.tokenMissing || forbidden != want.forbidden {
			t.Errorf("%v: the contract lists token_missing: %v, forbidden: %v; want %v, %v", o, missing, forbidden, want.tokenMissing, want.forbidden)
		}
	}
}

// TestNoRouteOfAUserNamesAnother: whose data a route is about is said by the token
// alone, unless it is for services or admins. The one route with a parameter is about
// a login, and TestAForeignLoginIsAnUnknownOne holds it to those of the caller.
func TestNoRouteOfAUserNamesAnother(t *testing.T) {
	reached := 0
	for _, r := range apitest.Served(t, bare(t, "user", false)) {
		if status := reach(t, bare(t, "user", false), r[0], r[1], true); status == http.StatusForbidden {
			continue
		}
		if reached++; strings.Contains(r[1], "{") && r[1] != "/v1/me/sessions/{id}" {
			t.Errorf("%s %s has a parameter, and users reach it", r[0], r[1])
		}
	}
	if reached < 10 {
		t.Errorf("users reach %d routes only", reached)
	}
}

// TestNoRouteTakesATokenFromItsURL: addresses are logged, remembered and sent to
// others. A request whose token is there has no user.
func TestNoRouteTakesATokenFromItsURL(t *testing.T) {
	token := flakepass.NewToken(who.SessionID).Reveal()
	query := ""
	for _, name := range []string{"token", "access_token", "auth", "authorization", "bearer", "key", "api_key", "session", "x-auth-token"} {
		query += "&" + name + "=" + token
	}
	for _, r := range apitest.Served(t, bare(t, "admin", false)) {
		want := access[r[0]+" "+r[1]].none
		if want == 0 { // who it is does not matter
			continue
		}
		if got := reach(t, bare(t, "admin", false), r[0], r[1]+"?"+query[1:], false); got != want {
			t.Errorf("%s %s with a token in the URL: got %d, want %d", r[0], r[1], got, want)
		}
	}
}

// bare is the API with nothing behind it but who is asking: a handler that is
// reached panics, which is answered 500.
func bare(t *testing.T, role string, needsFactor bool) http.Handler {
	t.Helper()
	h, err := httpapi.New(httpapi.Options{
		Sessions: holder{role: role}, Own: &login.Service{Users: factorless{}, Grace: time.Hour}, AdminsNeedFactor: needsFactor,
		RegistrationOpen: true, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func reach(t *testing.T, h http.Handler, method, path string, token bool) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, strings.ReplaceAll(path, "{id}", "41"), strings.NewReader("token=x"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if token {
		r.Header.Set("Authorization", "Bearer "+flakepass.NewToken(who.SessionID).Reveal())
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}

// A holder verifies every token as one of its role; with the role ended, it refuses all.
type holder struct {
	role string
}

func (h holder) Verify(context.Context, flakepass.Token) (flakepass.Identity, error) {
	if h.role == "ended" {
		return flakepass.Identity{}, flakepass.ErrLoggedOut
	}
	as := who
	as.Role = h.role
	return as, nil
}

// factorless has users without a second factor.
type factorless struct{ login.Users }

func (factorless) ByID(context.Context, idworker.ID) (account.User, error) {
	return account.User{}, nil
}
