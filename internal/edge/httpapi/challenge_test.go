package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/flakepass/flakepass/internal/edge/httpapi"
)

// A client that knows RFC 6750 and none of our codes learns that the token is
// good, and that another is needed. OAuth clients learn it from the body.
func TestForbiddenIsInsufficientScope(t *testing.T) {
	const scope = `Bearer realm="flakepass", error="insufficient_scope"`
	for name, c := range map[string]struct {
		f            factors
		role         string
		method, path string
		code         string
	}{
		"role":       {factors{}, "user", "GET", "/v1/admin/users", "forbidden"},
		"questions":  {factors{}, "user", "POST", "/v1/verifications", "forbidden"},
		"factor":     {factors{}, "admin", "GET", "/v1/admin/sweeps", "second_factor_missing"},
		"own routes": {factors{}, "user", "GET", "/v1/nothing", "not_found"},
	} {
		h := handler(t, &world{role: c.role, plain: true}, func(o *httpapi.Options) { withFactors(&c.f)(o); o.AdminsNeedFactor = true })
		want := scope
		if c.code == "not_found" {
			want = ""
		}
		if a := post(t, h, c.path, "", func(r *http.Request) { r.Method = c.method }); a.Code != c.code || a.header.Get("WWW-Authenticate") != want {
			t.Errorf("%s: %d %s, challenge %q", name, a.status, a.Code, a.header.Get("WWW-Authenticate"))
		}
	}
	for _, scheme := range []string{"Bearer " + caller, basic("billing", caller)} {
		a := post(t, handler(t, &world{}, nil), "/v1/introspect", "token="+target, authorization(scheme))
		if got := a.header.Get("WWW-Authenticate"); a.status != 403 || got != "" {
			t.Errorf("%.6s: %d, challenge %q, want none", scheme, a.status, got)
		}
	}
}
