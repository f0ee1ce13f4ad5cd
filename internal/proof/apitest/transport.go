package apitest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// maxBody bounds what is read of one answer, in bytes.
const maxBody = 1 << 20

// Transport returns a transport that sends with next (nil means
// [http.DefaultTransport]) and fails t for every answer that the contract does
// not allow: a status, header, media type, body or problem code that the operation does not list,
// or a required header that is missing. A path or method that the contract
// does not have must be answered by its 404 or 405. What t reports names the
// operation, the status and the place, never a value out of the answer.
//
// Requests may be as bad as a test wants them; only answers are judged.
// Answers that net/http gives before a handler runs (a broken request, a
// header too large) are outside the contract: use another transport for them.
func Transport(t testing.TB, next http.RoundTripper) http.RoundTripper {
	t.Helper()
	return Record(t, next)
}

// An Exchange is what a [Recorder] remembers of a request and its answer.
type Exchange struct {
	Operation Operation // zero if the contract has no such operation
	Status    int       // of the answer
	Code      string    // of the problem; empty if the answer is none
	// RequestValid says that the contract allows the request, credentials
	// aside. It is false for a body that cannot be read a second time.
	RequestValid bool
}

// A Recorder is a [Transport] that also counts what it saw. It may be used by
// many goroutines.
type Recorder struct {
	t        testing.TB
	next     http.RoundTripper
	contract *contract

	mu   sync.Mutex
	seen map[Exchange]int
}

// Record returns a [Recorder] that sends with next and fails t, exactly as
// [Transport] does.
func Record(t testing.TB, next http.RoundTripper) *Recorder {
	t.Helper()
	if next == nil {
		next = http.DefaultTransport
	}
	return &Recorder{t: t, next: next, contract: document(t), seen: make(map[Exchange]int)}
}

// Seen returns how often each kind of exchange has happened.
func (r *Recorder) Seen() map[Exchange]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.seen)
}

// RoundTrip sends req and checks the answer. Errors of the next transport are
// returned as they are.
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	r.t.Helper()
	// Asked first: next consumes the body.
	valid := r.contract.allowsRequest(req)
	resp, err := r.next.RoundTrip(req)
	if err != nil {
		return resp, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("apitest: read answer: %w", err), resp.Body.Close())
	}
	if err := resp.Body.Close(); err != nil {
		return nil, fmt.Errorf("apitest: close answer: %w", err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))

	seen, faults := r.contract.check(req, resp, body)
	seen.RequestValid = valid
	r.mu.Lock()
	r.seen[seen]++
	r.mu.Unlock()
	for _, fault := range faults {
		r.t.Errorf("%s answered %d: %s", name(req, seen.Operation), resp.StatusCode, fault)
	}
	return resp, nil
}

// name says which operation a fault is about. A path outside the contract is
// not repeated: a test may have put a secret there.
func name(req *http.Request, o Operation) string {
	if o == (Operation{}) {
		return req.Method + " (no such operation)"
	}
	return o.String()
}

func (c *contract) allowsRequest(req *http.Request) bool {
	route, params, err := c.router.FindRoute(req)
	if err != nil {
		return false
	}
	again := req.Clone(req.Context())
	if req.Body != nil && req.Body != http.NoBody {
		if req.GetBody == nil {
			return false
		}
		if again.Body, err = req.GetBody(); err != nil {
			return false
		}
	}
	return openapi3filter.ValidateRequest(req.Context(), &openapi3filter.RequestValidationInput{
		Request: again, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	}) == nil
}

// routeOf finds the operation of req. The error is [routers.ErrPathNotFound]
// or [routers.ErrMethodNotAllowed].
func (c *contract) routeOf(req *http.Request) (*routers.Route, error) {
	route, _, err := c.router.FindRoute(req)
	return route, err
}
