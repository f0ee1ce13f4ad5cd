//go:build unix

package attack

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

const hookSecret = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// hooked is a world with an import hook, which old answers.
func hooked(t *testing.T, old http.HandlerFunc) *world {
	t.Helper()
	hook := httptest.NewServer(old)
	t.Cleanup(hook.Close)
	return newWorld(t, "IMPORT_HOOK_URL="+hook.URL, "IMPORT_HOOK_SECRET=whsec_"+hookSecret)
}

func answers(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, text)
}

// TestFloodOfNamesReachesTheHookAsAFew: hundreds of logins of made-up names at once are eight for
// the other system, from one network; and people who have a password here log in meanwhile.
func TestFloodOfNamesReachesTheHookAsAFew(t *testing.T) {
	var now, top, asked atomic.Int64
	full := make(chan struct{})
	fill := sync.OnceFunc(func() { close(full) })
	w := hooked(t, func(to http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		asked.Add(1)
		n := now.Add(1)
		for old := top.Load(); old < n && !top.CompareAndSwap(old, n); old = top.Load() {
		}
		if n == 8 {
			fill()
		}
		select {
		case <-full:
		case <-r.Context().Done(): // given up after two seconds
		}
		now.Add(-1)
		answers(to, `{"result":"unknown"}`)
	})
	w.register("alice")
	var got [600]atomic.Int64
	var flood sync.WaitGroup
	for i := range 100 {
		flood.Go(func() {
			a := w.send("POST", w.api, "/v1/login", object("username", fmt.Sprint("nobody", i), "password", password))
			got[a.status].Add(1)
			if a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") == "" {
				t.Errorf("503 without Retry-After: %s", a.body)
			}
		})
	}
	w.alive(w.login("alice"))
	flood.Wait()
	if top.Load() != 8 || got[401].Load()+got[503].Load() != 100 {
		t.Errorf("%d at once, %d in all; %d refused and %d undecided", top.Load(), asked.Load(), got[401].Load(), got[503].Load())
	}
}

// TestALyingHookMakesOnlyUsers: whatever it answers, nobody is an admin, no account that is here is opened, and no
// password is in the log.
func TestALyingHookMakesOnlyUsers(t *testing.T) {
	var text atomic.Pointer[string]
	says := func(s string) { text.Store(&s) }
	w := hooked(t, func(to http.ResponseWriter, r *http.Request) {
		var q struct{ Password string }
		if body, err := io.ReadAll(r.Body); err != nil || json.Unmarshal(body, &q) != nil || q.Password == "" || strings.Contains(r.URL.String(), q.Password) {
			t.Errorf("%d bytes: %v", len(body), err)
		}
		answers(to, *text.Load())
	})
	w.register("alice")
	try := func(name string) answer {
		return w.send("POST", w.api, "/v1/login", object("username", name, "password", "another "+password))
	}
	for _, text := range []string{`{"result":"right","role":"admin"}`, `{"result":"right","username":"alice"}`, `{"result":"right","result":"right"}`, `right`} {
		says(text)
		if a := try("mallory"); a.status != http.StatusServiceUnavailable || strings.Contains(a.body, "token") {
			t.Errorf("%s: %d %s", text, a.status, a.body)
		}
	}
	says(`{"result":"right","role":"user"}`)
	if a := try("alice"); a.status != http.StatusUnauthorized {
		t.Errorf("another password of an account here: %d %s", a.status, a.body)
	}
	var opened struct{ Token string }
	if a := try("mallory"); json.Unmarshal([]byte(a.body), &opened) != nil || opened.Token == "" {
		t.Fatalf("somebody who is not here: %d", a.status)
	}
	if a := w.send("GET", w.api, "/v1/me", "", bearer(opened.Token)...); !strings.Contains(a.body, `"role":"user"`) {
		t.Errorf("mallory is %s", a.body)
	}
	if log := w.process.Log(); strings.Contains(log, "another "+password) || strings.Contains(log, hookSecret) {
		t.Error("a secret is in the log")
	}
}
