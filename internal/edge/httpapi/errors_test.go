package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
	"github.com/flakepass/flakepass/internal/proof/apitest"
)

const (
	cause    = "the disk is at 10.1.2.3 and its password is canary"
	password = "violet tram sings at noon"
)

// ask sends one request, holds the answer to the contract, and returns its
// status and body.
func ask(t testing.TB, h http.Handler, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://x"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+flakepass.NewToken(who.SessionID).Reveal())
	status, text, _ := byContract(t, h, req)
	return status, text
}

// byContract sends a request, and holds the answer to the contract.
func byContract(t testing.TB, h http.Handler, req *http.Request) (status int, body string, header http.Header) {
	t.Helper()
	resp, err := apitest.Transport(t, direct{h}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text), resp.Header
}

// TestErrorsBecomeProblems: each error that a verb of the domain may return has
// a documented answer, also when it comes wrapped.
func TestErrorsBecomeProblems(t *testing.T) {
	wrong := &invalid.Error{Fields: []invalid.Field{{Field: "password", Code: account.CodeTooShort, Message: "is too short"}}}
	unknown := errors.New(cause)
	credentials := `{"username":"alice","password":"` + password + `"}`
	change := `{"current_password":"` + password + `","new_password":"` + password + `"}`
	register := func(err error) *world { return &world{register: err} }
	login := func(err error) *world { return &world{login: err} }
	changed := func(err error) *world { return &world{change: err} }
	end := func(err error) *world { return &world{end: err} }
	verify := func(err error) *world { return &world{verify: err} }

	for _, c := range []struct {
		method, path, body string
		make               func(error) *world
		err                error
		status             int
		code               string
	}{
		{"POST", "/v1/register", credentials, register, nil, 201, ""},
		{"POST", "/v1/register", credentials, register, wrong, 422, "validation_failed"},
		{"POST", "/v1/register", credentials, register, account.ErrExists, 409, "username_taken"},
		{"POST", "/v1/register", credentials, register, account.ErrBusy, 503, "busy"},
		{"POST", "/v1/register", credentials, register, idworker.ErrTooFarAhead, 503, "unavailable"},
		{"POST", "/v1/register", credentials, register, unknown, 503, "unavailable"},
		{"POST", "/v1/register", credentials, register, context.DeadlineExceeded, 503, "unavailable"},

		{"POST", "/v1/login", credentials, login, nil, 200, ""},
		{"POST", "/v1/login", credentials, login, account.ErrWrong, 401, "credentials_invalid"},
		{"POST", "/v1/login", credentials, login, account.ErrDisabled, 403, "account_disabled"},
		{"POST", "/v1/login", credentials, login, account.ErrBusy, 503, "busy"},
		{"POST", "/v1/login", credentials, login, idworker.ErrNoGrant, 503, "unavailable"},
		{"POST", "/v1/login", credentials, login, account.ErrBadHash, 503, "unavailable"},
		{"POST", "/v1/login", credentials, login, unknown, 503, "unavailable"},

		{"PUT", "/v1/me/password", change, changed, nil, 204, ""},
		{"PUT", "/v1/me/password", change, changed, session.ErrUnpublished, 204, ""},
		{"PUT", "/v1/me/password", change, changed, account.ErrWrong, 403, "current_password_invalid"},
		{"PUT", "/v1/me/password", change, changed, wrong, 422, "validation_failed"},
		{"PUT", "/v1/me/password", change, changed, account.ErrBusy, 503, "busy"},
		{"PUT", "/v1/me/password", change, changed, unknown, 503, "unavailable"},

		{"POST", "/v1/logout", "", end, nil, 204, ""},
		{"POST", "/v1/logout", "", end, session.ErrUnpublished, 202, ""},
		{"POST", "/v1/logout", "", end, unknown, 503, "unavailable"},

		{"GET", "/v1/me", "", verify, nil, 200, ""},
		{"GET", "/v1/verify", "", verify, nil, 200, ""},
		{"GET", "/v1/me", "", verify, flakepass.ErrReplaced, 401, "token_replaced"},
		{"GET", "/v1/me", "", verify, session.ErrNotFound, 503, "unavailable"}, // not a verdict
		{"GET", "/v1/verify", "", verify, context.DeadlineExceeded, 503, "unavailable"},
		{"PUT", "/v1/me/password", change, verify, unknown, 503, "unavailable"},
	} {
		err := c.err
		if err != nil {
			err = fmt.Errorf("domain: verb: %w", err)
		}
		status, body := ask(t, handler(t, c.make(err), nil), c.method, c.path, c.body)
		if status != c.status || c.code != "" && !strings.Contains(body, `"code":"`+c.code+`"`) {
			t.Errorf("%s %s with %v: got %d %s, want %d %s", c.method, c.path, c.err, status, body, c.status, c.code)
		}
		if strings.Contains(body, "canary") {
			t.Errorf("%s %s : the answer has the cause", c.method, c.path)
		}
	}
}

// TestLateBodyIsNoMalformedOne: over a bad network a body may not arrive in time. Nothing is wrong with
// it, so the client is told to send it again.
func TestLateBodyIsNoMalformedOne(t *testing.T) {
	for kind, path := range map[string]string{"application/json": "/v1/login", "application/x-www-form-urlencoded": "/v1/introspect"} {
		for err, want := range map[error]int{os.ErrDeadlineExceeded: 503, io.ErrUnexpectedEOF: 400} {
			late := io.MultiReader(strings.NewReader("token="), iotest.ErrReader(fmt.Errorf("read tcp: %w", err)))
			req, failed := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x"+path, late)
			if failed != nil {
				t.Fatal(failed)
			}
			req.Header.Set("Content-Type", kind)
			req.Header.Set("Authorization", "Bearer "+flakepass.NewToken(who.SessionID).Reveal())
			answer := httptest.NewRecorder()
			handler(t, &world{role: "service"}, nil).ServeHTTP(answer, req)
			if answer.Code != want || (want == 503) != (answer.Header().Get("Retry-After") != "") {
				t.Errorf("%s with %v: %d %s, want %d", path, err, answer.Code, answer.Body, want)
			}
		}
	}
}

// TestPanicIsAnAnswer: a mistake in a handler is a documented 500 that says
// nothing, and the log has it without what the request brought.
func TestPanicIsAnAnswer(t *testing.T) {
	for _, what := range []any{errors.New(cause), "a text", 7} {
		var log bytes.Buffer
		h := handler(t, &world{panics: what}, func(o *httpapi.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		for _, c := range [][3]string{
			{"POST", "/v1/register", `{"username":"alice","password":"` + password + `"}`},
			{"POST", "/v1/login", `{"username":"alice","password":"` + password + `"}`},
			{"POST", "/v1/logout", ""}, {"GET", "/v1/me", ""}, {"GET", "/v1/verify", ""},
		} {
			status, body := ask(t, h, c[0], c[1], c[2])
			if status != 500 || !strings.Contains(body, `"code":"internal_error"`) || strings.Contains(body, "canary") {
				t.Errorf("%s %s: got %d %s", c[0], c[1], status, body)
			}
		}
		if !strings.Contains(log.String(), "panic") || strings.Contains(log.String(), password) || strings.Contains(log.String(), "Bearer") {
			t.Errorf("the log: %s", log.String())
		}
	}
}

// TestNotReadySaysWhy: an instance that should get no requests says so.
func TestNotReadySaysWhy(t *testing.T) {
	w := &world{}
	h := handler(t, w, nil)
	if status, body := ask(t, h, "GET", "/readyz", ""); status != 200 {
		t.Errorf("ready: got %d %s", status, body)
	}
	w.reasons = []string{"stopping", "the database does not answer"}
	status, body := ask(t, h, "GET", "/readyz", "")
	if status != 503 || !strings.Contains(body, `"reasons":["stopping","the database does not answer"]`) {
		t.Errorf("not ready: got %d %s", status, body)
	}
	if status, body := ask(t, h, "GET", "/healthz", ""); status != 200 {
		t.Errorf("alive: got %d %s", status, body)
	}
}
