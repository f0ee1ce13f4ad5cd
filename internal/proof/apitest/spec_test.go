package apitest_test

import (
	"slices"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/apitest"
)

func TestOperationsAreThoseOfTheContract(t *testing.T) {
	want := []apitest.Operation{
		{Method: "GET", Path: "/healthz"},
		{Method: "HEAD", Path: "/healthz"},
		{Method: "GET", Path: "/openapi.yaml"},
		{Method: "GET", Path: "/readyz"},
		{Method: "HEAD", Path: "/readyz"},
		{Method: "GET", Path: "/v1/admin/audit"},
		{Method: "GET", Path: "/v1/admin/instances"},
		{Method: "DELETE", Path: "/v1/admin/keys/{id}"},
		{Method: "POST", Path: "/v1/admin/logout-all"},
		{Method: "GET", Path: "/v1/admin/password-resets"},
		{Method: "GET", Path: "/v1/admin/policy"},
		{Method: "PUT", Path: "/v1/admin/policy"},
		{Method: "GET", Path: "/v1/admin/policy/history"},
		{Method: "POST", Path: "/v1/admin/policy/revert"},
		{Method: "GET", Path: "/v1/admin/sessions"},
		{Method: "DELETE", Path: "/v1/admin/sessions/{id}"},
		{Method: "GET", Path: "/v1/admin/sessions/{id}"},
		{Method: "GET", Path: "/v1/admin/stats"},
		{Method: "GET", Path: "/v1/admin/sweeps"},
		{Method: "POST", Path: "/v1/admin/sweeps"},
		{Method: "GET", Path: "/v1/admin/users"},
		{Method: "POST", Path: "/v1/admin/users"},
		{Method: "DELETE", Path: "/v1/admin/users/{id}"},
		{Method: "GET", Path: "/v1/admin/users/{id}"},
		{Method: "PATCH", Path: "/v1/admin/users/{id}"},
		{Method: "POST", Path: "/v1/admin/users/{id}/impersonate"},
		{Method: "DELETE", Path: "/v1/admin/users/{id}/issued-password-resets"},
		{Method: "GET", Path: "/v1/admin/users/{id}/keys"},
		{Method: "POST", Path: "/v1/admin/users/{id}/keys"},
		{Method: "POST", Path: "/v1/admin/users/{id}/logout"},
		{Method: "DELETE", Path: "/v1/admin/users/{id}/password-reset"},
		{Method: "POST", Path: "/v1/admin/users/{id}/password-reset"},
		{Method: "DELETE", Path: "/v1/admin/users/{id}/second-factor"},
		{Method: "POST", Path: "/v1/introspect"},
		{Method: "POST", Path: "/v1/issue"},
		{Method: "POST", Path: "/v1/login"},
		{Method: "POST", Path: "/v1/logout"},
		{Method: "DELETE", Path: "/v1/me"},
		{Method: "GET", Path: "/v1/me"},
		{Method: "GET", Path: "/v1/me/export"},
		{Method: "PUT", Path: "/v1/me/password"},
		{Method: "POST", Path: "/v1/me/reauthenticate"},
		{Method: "DELETE", Path: "/v1/me/second-factor"},
		{Method: "GET", Path: "/v1/me/second-factor"},
		{Method: "POST", Path: "/v1/me/second-factor"},
		{Method: "POST", Path: "/v1/me/second-factor/confirm"},
		{Method: "POST", Path: "/v1/me/second-factor/recovery-codes"},
		{Method: "GET", Path: "/v1/me/sessions"},
		{Method: "POST", Path: "/v1/me/sessions/logout-others"},
		{Method: "DELETE", Path: "/v1/me/sessions/{id}"},
		{Method: "POST", Path: "/v1/password-resets"},
		{Method: "POST", Path: "/v1/register"},
		{Method: "GET", Path: "/v1/revocations"},
		{Method: "POST", Path: "/v1/revoke"},
		{Method: "GET", Path: "/v1/users"},
		{Method: "GET", Path: "/v1/users/{id}"},
		{Method: "PATCH", Path: "/v1/users/{id}"},
		{Method: "POST", Path: "/v1/verifications"},
		{Method: "GET", Path: "/v1/verify"},
	}
	if got := apitest.Operations(t); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestCodesListEveryProblemOfAnOperation(t *testing.T) {
	codes := apitest.Codes(t)
	for _, op := range apitest.Operations(t) {
		if len(codes[op.String()]) == 0 {
			t.Errorf("%s: no codes", op)
		}
	}
	guarded := []apitest.Problem{
		{Status: 400, Code: "credentials_ambiguous"},
		{Status: 401, Code: "account_disabled"},
		{Status: 401, Code: "key_not_accepted"},
		{Status: 401, Code: "token_expired"},
		{Status: 401, Code: "token_idle_timeout"},
		{Status: 401, Code: "token_invalid"},
		{Status: 401, Code: "token_logged_out"},
		{Status: 401, Code: "token_malformed"},
		{Status: 401, Code: "token_missing"},
		{Status: 401, Code: "token_replaced"},
		{Status: 401, Code: "token_revoked"},
		{Status: 500, Code: "internal_error"},
		{Status: 503, Code: "unavailable"},
	}
	for name, want := range map[string][]apitest.Problem{
		"GET /v1/me":     guarded,
		"GET /v1/verify": guarded,
		"GET /healthz":   {{Status: 500, Code: "internal_error"}},
		"HEAD /readyz":   {{Status: 500, Code: "internal_error"}, {Status: 503, Code: "not_ready"}},
		apitest.AnyPath:  {{Status: 404, Code: "not_found"}, {Status: 405, Code: "method_not_allowed"}},
	} {
		if got := codes[name]; !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}
