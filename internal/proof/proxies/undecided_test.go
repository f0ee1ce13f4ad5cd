//go:build unix

package proxies

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// An instance stands for a flakepass that answers what the test wants.
type instance struct {
	*httptest.Server
	answers atomic.Int64 // the status; 0: nothing, as long as the client waits
}

const ownProblem = `{"code":"unavailable","title":"of the instance"}`

func newInstance(t *testing.T) *instance {
	t.Helper()
	i := &instance{}
	i.answers.Store(200)
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := int(i.answers.Load())
		switch status {
		case 0:
			_, _ = io.Copy(io.Discard, r.Body) // only then is the end of the connection noticed
			<-r.Context().Done()
			return
		case 503:
			w.Header().Set("Content-Type", "application/problem+json")
			w.Header().Set("Retry-After", "7")
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, ownProblem)
	}))
	t.Cleanup(i.Close)
	return i
}

// TestUndecidedPassesTheDeployedProxy: what both instances answer while the database is
// away reaches the client as it is, however long that lasts, and an answer that nginx has to
// give itself is the same refusal. It was 502 and a page of HTML from the fourth request on.
func TestUndecidedPassesTheDeployedProxy(t *testing.T) {
	t.Parallel()
	one, two := newInstance(t), newInstance(t)
	w := &world{t: t, proxy: fmt.Sprintf("127.0.0.1:%d", testenv.FreePort(t))}
	deploy(t, w, one.Listener.Addr().String(), two.Listener.Addr().String(), "proxy_read_timeout 20s", "proxy_read_timeout 1s")

	wants := func(when string, status int, retryAfter, detail string) {
		t.Helper()
		for n := range 12 {
			for _, method := range []string{"GET", "POST"} {
				got := w.ask(method, "/v1/me", "")
				bad := got.status != status
				if status == 503 {
					bad = bad || got.header.Get("Content-Type") != "application/problem+json" || got.problem.Code != "unavailable" ||
						got.header.Get("Retry-After") != retryAfter || got.problem.Detail != detail || len(got.header.Values("Www-Authenticate")) > 0
				}
				if bad {
					t.Fatalf("%s: request %d, %s: %d %v %s", when, n, method, got.status, got.header, got.body)
				}
			}
		}
	}
	wants("all is well", 200, "", "")
	one.answers.Store(503)
	two.answers.Store(503)
	wants("both instances say 503", 503, "7", "")
	one.answers.Store(200)
	two.answers.Store(200)
	wants("both are back", 200, "", "")
	one.answers.Store(503)
	for range 12 {
		if got := w.ask("GET", "/v1/me", ""); got.status != 200 {
			t.Errorf("one instance can tell: %d %s", got.status, got.body)
		}
	}
	one.answers.Store(0)
	two.answers.Store(0)
	if got := w.ask("POST", "/v1/login", ""); got.status != 503 || got.problem.Code != "unavailable" || got.header.Get("Retry-After") != "1" {
		t.Errorf("no answer: %d %v %s", got.status, got.header, got.body)
	}
	two.answers.Store(200)
	one.Close()
	wants("one instance is gone", 200, "", "")
	two.Close()
	wants("both are gone", 503, "1", "try again, and keep the token if you have one")
}
