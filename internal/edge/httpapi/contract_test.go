package httpapi_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/problem"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
	"github.com/flakepass/flakepass/internal/proof/apitest"
)

// TestRoutesAreTheContract: nothing is served that is not documented, and
// nothing is documented that is not served.
func TestRoutesAreTheContract(t *testing.T) {
	served, documented := map[apitest.Operation]bool{}, map[apitest.Operation]bool{}
	for _, r := range apitest.Served(t, handler(t, &world{}, nil)) {
		served[apitest.Operation{Method: r[0], Path: r[1]}] = true
	}
	for _, o := range apitest.Operations(t) {
		documented[o] = true
		if !served[o] {
			t.Errorf("%v is documented and not served", o)
		}
	}
	for o := range served {
		if !documented[o] {
			t.Errorf("%v is served and not documented", o)
		}
	}
}

// TestProblemsAreTheContract: the server can say every documented problem, and
// no other.
func TestProblemsAreTheContract(t *testing.T) {
	said := map[apitest.Problem]bool{
		{Status: 400, Code: "credentials_ambiguous"}: true, // by the guard
		{Status: 422, Code: "validation_failed"}:     true,
		{Status: 403, Code: "scope_missing"}:         true,
		{Status: 429, Code: "rate_limited"}:          true,
		{Status: 503, Code: "not_ready"}:             true,
	}
	for code, status := range httpapi.ProblemCodes() {
		said[apitest.Problem{Status: status, Code: code}] = true
	}
	unavailable := problem.Unavailable(1)
	said[apitest.Problem{Status: unavailable.Status, Code: unavailable.Code}] = true
	for _, r := range []*flakepass.Refusal{
		flakepass.ErrMissing, flakepass.ErrMalformed, flakepass.ErrInvalid, flakepass.ErrExpired, flakepass.ErrIdle,
		flakepass.ErrLoggedOut, flakepass.ErrReplaced, flakepass.ErrRevoked, flakepass.ErrAccountDisabled,
		flakepass.ErrKeyNotAccepted, flakepass.ErrKeyMalformed, flakepass.ErrKeyInvalid, flakepass.ErrKeyExpired, flakepass.ErrKeyRevoked,
	} {
		said[apitest.Problem{Status: 401, Code: r.Code()}] = true
	}
	documented := map[apitest.Problem]bool{}
	for _, list := range apitest.Codes(t) {
		for _, p := range list {
			documented[p] = true
		}
	}
	for _, p := range slices.Collect(maps.Keys(said)) {
		if !documented[p] {
			t.Errorf("%d %s is said and not documented", p.Status, p.Code)
		}
	}
	for p := range documented {
		if !said[p] {
			t.Errorf("%d %s is documented and never said", p.Status, p.Code)
		}
	}
}
