package apitest_test

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/apitest"
)

// TestContractAllowsItsOwnExamples sends every example of every answer, with
// the example of every header. It is the other half of the planted mistakes
// below: a check that refuses everything would find those too.
func TestContractAllowsItsOwnExamples(t *testing.T) {
	doc := load(t)
	sent := 0
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			for status, response := range op.Responses.Map() {
				for _, a := range examples(t, status, response.Value) {
					sent++
					if faults := send(t, method, path, a); len(faults) != 0 {
						t.Errorf("%s", faults)
					}
				}
			}
		}
	}
	for name, request := range map[string][2]string{"NotFound": {"GET", "/v1/nothing"}, "MethodNotAllowed": {"DELETE", "/v1/verify"}} {
		r := doc.Components.Responses[name].Value
		for _, a := range examples(t, map[string]string{"NotFound": "404", "MethodNotAllowed": "405"}[name], r) {
			sent++
			if faults := send(t, request[0], request[1], a); len(faults) != 0 {
				t.Errorf("%s", faults)
			}
		}
	}
	if sent < 60 {
		t.Errorf("sent %d examples, want more: the loop misses some", sent)
	}
}

func TestUnknownPathsAndMethodsHaveTheirOwnAnswers(t *testing.T) {
	ok := example(t, "GET", "/v1/me", "200 alice")
	missing := problem(404, "not_found")
	wrong := problem(405, "method_not_allowed")
	wrong.header.Set("Allow", "GET")
	for name, c := range map[string]struct {
		method, path string
		answer       answer
		want         string // empty: allowed
	}{
		"unknown path":                 {"GET", "/v1/nothing", missing, ""},
		"slash at the end":             {"GET", "/v1/me/", missing, ""},
		"unknown path that answers":    {"GET", "/v1/nothing", ok, "GET (no such operation) answered 200: the contract has no such path"},
		"unknown path, wrong problem":  {"GET", "/v1/nothing", wrong, "want 404"},
		"known path is not found":      {"GET", "/v1/me", missing, "the status is not declared"},
		"unknown method":               {"DELETE", "/v1/verify", wrong, ""},
		"unknown method that answers":  {"DELETE", "/v1/verify", ok, "want 405"},
		"unknown method, not found":    {"DELETE", "/v1/verify", missing, "want 405"},
		"Allow lists another":          {"DELETE", "/v1/login", wrong, "does not list exactly POST"},
		"HEAD, whose body is not sent": {"HEAD", "/v1/verify", wrong, ""},
		"HEAD that answers":            {"HEAD", "/v1/me", ok, "want 405"},
	} {
		t.Run(name, func(t *testing.T) {
			faults := strings.Join(send(t, c.method, c.path, c.answer), "\n")
			if (c.want == "") != (faults == "") || !strings.Contains(faults, c.want) {
				t.Errorf("got %q, want %q", faults, c.want)
			}
		})
	}
}

// TestFaultsNeverRepeatAValue puts a secret wherever an answer has room.
func TestFaultsNeverRepeatAValue(t *testing.T) {
	const secret = "fp_0KdV4mQ2xZbSECRETSECRETSECRETSECRETS000001"
	me, gone := "200 alice", "401 token_expired"
	for name, c := range map[string]struct {
		path, example string
		spoil         func(*answer)
	}{
		"value":          {"/v1/me", me, set("role", secret)},
		"value below":    {"/v1/me", me, setIn("session", "id", secret)},
		"name":           {"/v1/me", me, set(secret, "x")},
		"value of extra": {"/v1/me", me, set("extra", secret)},
		"name below":     {"/v1/me", me, setIn("session", secret, "x")},
		"whole body":     {"/v1/me", me, body(secret)},
		"broken body":    {"/v1/me", me, body(`{"` + secret + `":1,"` + secret + `":1}`)},
		"bare string":    {"/v1/me", me, body(`"` + secret + `"`)},
		"code":           {"/v1/me", gone, set("code", secret)},
		"detail":         {"/v1/me", gone, set("detail", []any{secret})},
		"header":         {"/v1/me", me, header("Cache-Control", secret)},
		"header name":    {"/v1/me", me, header(secret, "x")},
		"content type":   {"/v1/me", me, header("Content-Type", secret)},
		"challenge":      {"/v1/me", gone, header("WWW-Authenticate", secret)},
		"path":           {"/v1/" + secret, me, func(*answer) {}},
	} {
		t.Run(name, func(t *testing.T) {
			a := example(t, "GET", "/v1/me", c.example)
			c.spoil(&a)
			faults := strings.Join(send(t, "GET", c.path, a), "\n")
			if faults == "" || strings.Contains(strings.ToLower(faults), strings.ToLower(secret)) {
				t.Errorf("got %q, want faults without the secret", faults)
			}
		})
	}
}

func TestBadRequestsAreCountedAndTolerated(t *testing.T) {
	rec := &recorder{TB: t}
	next := &listener{answer: problem(400, "body_malformed")}
	transport := apitest.Record(rec, next)
	good := `{"username":"alice","password":"violet tram sings at noon"}`
	for _, c := range []struct {
		body  string
		again bool // the body can be read a second time
	}{{good, true}, {`{"username":`, true}, {`{"username":1}`, true}, {good, false}} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://flakepass.test/v1/register", strings.NewReader(c.body))
		req.Header.Set("Content-Type", "application/json")
		if c.again {
			req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(c.body)), nil }
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if next.received != c.body {
			t.Errorf("the server reads %q, want %q", next.received, c.body)
		}
		if got, _ := io.ReadAll(resp.Body); string(got) != next.body {
			t.Errorf("the caller reads %q, want %q", got, next.body)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(rec.faults) != 0 {
		t.Errorf("got %q, want none", rec.faults)
	}
	kind := apitest.Exchange{Operation: apitest.Operation{Method: "POST", Path: "/v1/register"}, Status: 400, Code: "body_malformed"}
	valid := kind
	valid.RequestValid = true
	if got, want := transport.Seen(), (map[apitest.Exchange]int{kind: 3, valid: 1}); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTransportWorksOverTheNetworkAtOnce(t *testing.T) {
	a := example(t, "GET", "/healthz", "200 alive")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		maps.Copy(w.Header(), a.header)
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body)
	}))
	defer server.Close()
	client := &http.Client{Transport: apitest.Transport(t, server.Client().Transport)}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/healthz", nil)
			if err != nil {
				t.Error(err)
				return
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			_ = resp.Body.Close()
		})
	}
	wg.Wait()
}
