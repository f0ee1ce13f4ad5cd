package apitest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/flakepass/flakepass/api"
	"github.com/flakepass/flakepass/internal/proof/apitest"
)

// An answer is a transport that always gives this answer.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) RoundTrip(req *http.Request) (*http.Response, error) {
	content := a.body
	if req.Method == http.MethodHead {
		content = ""
	}
	return &http.Response{StatusCode: a.status, Header: a.header.Clone(), Body: io.NopCloser(strings.NewReader(content)), Request: req}, nil
}

// A listener also keeps the body of the last request.
type listener struct {
	answer
	received string
}

func (l *listener) RoundTrip(req *http.Request) (*http.Response, error) {
	data, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	l.received = string(data)
	return l.answer.RoundTrip(req)
}

// A recorder is a test that keeps what is reported instead of failing.
type recorder struct {
	testing.TB
	faults []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

func send(t *testing.T, method, path string, a answer) []string {
	t.Helper()
	rec := &recorder{TB: t}
	req := httptest.NewRequestWithContext(t.Context(), method, "http://flakepass.test"+path, nil)
	resp, err := apitest.Transport(rec, a).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return rec.faults
}

// examples are the answers that the contract shows for one response.
func examples(t *testing.T, status string, r *openapi3.Response) map[string]answer {
	t.Helper()
	base := answer{header: make(http.Header)}
	if _, err := fmt.Sscan(status, &base.status); err != nil {
		t.Fatal(err)
	}
	for name, h := range r.Headers {
		base.header.Set(name, fmt.Sprint(h.Value.Example))
	}
	if len(r.Content) == 0 {
		return map[string]answer{"-": base}
	}
	all := make(map[string]answer)
	for media, m := range r.Content {
		for key, e := range m.Examples {
			a := base
			a.header = base.header.Clone()
			a.header.Set("Content-Type", media)
			if text, ok := e.Value.Value.(string); ok {
				a.body = text
			} else {
				data, err := json.Marshal(e.Value.Value)
				if err != nil {
					t.Fatal(err)
				}
				a.body = string(data)
			}
			if doc, ok := e.Value.Value.(map[string]any); ok && doc["retry_after"] != nil {
				a.header.Set("Retry-After", fmt.Sprint(doc["retry_after"]))
			}
			switch key { // one header of the response differs by code
			case "token_missing", "second_factor_required", "second_factor_invalid":
				a.header.Set("WWW-Authenticate", `Bearer realm="flakepass"`)
			case "token_revoked":
				a.header.Set("WWW-Authenticate", `Bearer realm="flakepass", error="invalid_token", error_description="login revoked"`)
			case "body_malformed", "token_in_url", "reauthentication_required", "impersonated", "impersonation_off", "impersonation_refused", "self_deletion_off", "service_key_required", "role_not_issuable", "account_protected":
				a.header.Del("WWW-Authenticate")
			}
			if key == "account_disabled" && status == "403" {
				a.header.Del("WWW-Authenticate")
			}
			all[key] = a
		}
	}
	return all
}

func example(t *testing.T, method, path, which string) answer {
	t.Helper()
	doc := load(t)
	status, key, _ := strings.Cut(which, " ")
	a, ok := examples(t, status, doc.Paths.Value(path).GetOperation(method).Responses.Value(status).Value)[key]
	if !ok {
		t.Fatalf("the contract has no example %s of %s %s", which, method, path)
	}
	return a
}

var spec = sync.OnceValues(func() (*openapi3.T, error) { return openapi3.NewLoader().LoadFromData(api.Spec()) })

func load(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := spec()
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func problem(status int, code string) answer {
	return answer{
		status: status,
		header: http.Header{"Content-Type": {"application/problem+json"}, "Cache-Control": {"no-store"}, "X-Request-Id": {"request-1"}},
		body: fmt.Sprintf(`{"type":"https://github.com/flakepass/flakepass/blob/main/docs/problems.md#%s",`+
			`"title":"t","status":%d,"code":%q,"request_id":"request-1"}`, code, status, code),
	}
}

func body(s string) func(*answer) { return func(a *answer) { a.body = s } }
func status(n int) func(*answer)  { return func(a *answer) { a.status = n } }
func again(name, value string) func(*answer) {
	return func(a *answer) { a.header.Add(name, value) }
}

// header sets a header, or removes it if value is empty.
func header(name, value string) func(*answer) {
	return func(a *answer) {
		a.header.Del(name)
		if value != "" {
			a.header.Set(name, value)
		}
	}
}

// set sets a field of the body, or removes it if value is nil.
func set(name string, value any) func(*answer) {
	return edit(func(doc map[string]any) { put(doc, name, value) })
}

func setIn(parent, name string, value any) func(*answer) {
	return edit(func(doc map[string]any) { put(doc[parent].(map[string]any), name, value) })
}

// code replaces the code of a problem everywhere but in the status.
func code(to string) func(*answer) {
	return edit(func(doc map[string]any) {
		doc["code"] = to
		doc["type"] = "https://github.com/flakepass/flakepass/blob/main/docs/problems.md#" + to
	})
}

func put(doc map[string]any, name string, value any) {
	if value == nil {
		delete(doc, name)
		return
	}
	doc[name] = value
}

func edit(change func(map[string]any)) func(*answer) {
	return func(a *answer) {
		var doc map[string]any
		if err := json.Unmarshal([]byte(a.body), &doc); err != nil {
			panic(err)
		}
		change(doc)
		data, err := json.Marshal(doc)
		if err != nil {
			panic(err)
		}
		a.body = string(data)
	}
}
