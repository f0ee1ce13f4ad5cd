package deploytest

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

func askMany(c *e2e.Client, token string, body any) e2e.Answer {
	c.T.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		c.T.Fatal(err)
	}
	return c.Do("POST", "/v1/verifications", string(text), e2e.Bearer(token))
}

type verdicts struct {
	Verifications []struct {
		State, Code string
		Identity    struct {
			Username  string
			SessionID string `json:"session_id"`
			ExpiresIn int64  `json:"expires_in_ms"`
		}
		AsOfAge int64 `json:"as_of_age_ms"`
		Believe int64 `json:"believe_ms"`
	}
	Used []bool
}

// TestVerificationsAnswerEachTokenByItself: in order, whatever the others are.
func TestVerificationsAnswerEachTokenByItself(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	i := d.Start(t)
	c := e2e.NewClient(t, i.Public)
	service, _ := d.Person(t, c, "orders", "service")
	alice, _ := d.Person(t, c, "alice", "user")
	bob, _ := d.Person(t, c, "bob", "user")
	c.Want(c.Logout(bob), 204, "")

	for role, token := range map[string]string{"user": alice, "nobody": bob} {
		want := map[string]int{"user": 403, "nobody": 401}[role]
		if a := askMany(c, token, map[string]any{"tokens": []string{alice}}); a.Status != want {
			t.Errorf("asked by %s: %d, want %d", role, a.Status, want)
		}
	}
	sum := sha256.Sum256([]byte(alice))
	use := map[string]any{"session_id": c.Alive(alice).Fields["session"].(map[string]any)["id"], "ago_ms": 10,
		"proof": base64.RawURLEncoding.EncodeToString(sum[:])}
	stranger := map[string]any{"session_id": use["session_id"], "ago_ms": 10, "proof": base64.RawURLEncoding.EncodeToString(make([]byte, 32))}
	a := c.Want(askMany(c, service, map[string]any{
		"tokens": []string{alice, "x", e2e.Forge(alice), bob, service}, "used": []any{use, stranger},
	}), 200, "")
	var got verdicts
	if err := json.Unmarshal(a.Body, &got); err != nil {
		t.Fatal(err)
	}
	var states []string
	for _, v := range got.Verifications {
		states = append(states, v.State+" "+v.Code+v.Identity.Username)
	}
	want := "alive alice|refused token_malformed|refused token_invalid|refused token_logged_out|alive orders"
	if s := strings.Join(states, "|"); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	if v := got.Verifications[0]; v.AsOfAge > e2e.Bound.Milliseconds() || v.Believe < 30_000 || v.Identity.ExpiresIn < 1000 {
		t.Errorf("ages and times left: %+v", v)
	}
	if len(got.Used) != 2 || !got.Used[0] || got.Used[1] {
		t.Errorf("used: %v, want that only who knows the token's hash is believed", got.Used)
	}
	for what, body := range map[string]any{
		"no token":   map[string]any{},
		"101 tokens": map[string]any{"tokens": make([]string, 101)},
		"a bad use":  map[string]any{"used": []any{map[string]any{"session_id": "1", "proof": "x", "ago_ms": 1}}},
		"the future": map[string]any{"used": []any{map[string]any{"session_id": "1", "proof": use["proof"], "ago_ms": -1}}},
	} {
		if a := askMany(c, service, body); a.Status != 422 {
			t.Errorf("%s: %d, want 422", what, a.Status)
		}
	}
}

// An event of a stream.
type event struct{ id, kind, data string }

// follow opens a stream and returns its events, until it ends.
func follow(t *testing.T, address, token, last string, edits ...func(*http.Request)) (events <-chan event, cut func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/v1/revocations", nil)
	if err != nil {
		t.Fatal(err)
	}
	e2e.Bearer(token)(req)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	for _, edit := range edits {
		edit(req)
	}
	next := &http.Transport{}
	resp, err := next.RoundTrip(req) //nolint:bodyclose // by the goroutine below
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("a stream: %d %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	parts := make(chan event, 1000)
	go func() {
		defer next.CloseIdleConnections()
		defer resp.Body.Close()
		defer close(parts)
		var e event
		for s := bufio.NewScanner(resp.Body); s.Scan(); {
			name, value, _ := strings.Cut(s.Text(), ": ")
			switch name {
			case "id":
				e.id = value
			case "event":
				e.kind = value
			case "data":
				e.data = value
			case "":
				parts <- e
				e = event{}
			}
		}
	}()
	t.Cleanup(cancel)
	return parts, cancel
}

// until reads events up to one of that kind.
func until(t *testing.T, events <-chan event, kind string) event {
	t.Helper()
	limit := time.After(e2e.Patience)
	for {
		select {
		case e, ok := <-events:
			if !ok {
				t.Fatalf("the stream ended before %q", kind)
			}
			if e.kind == kind {
				return e
			}
		case <-limit:
			t.Fatalf("no %q", kind)
		}
	}
}

func ended(t *testing.T, events <-chan event, what string) {
	t.Helper()
	testenv.Eventually(t, e2e.Patience, func() bool {
		select {
		case _, ok := <-events:
			return !ok
		default:
			return false
		}
	}, what)
}

// TestRevocationsReportEveryEnd: of those here and those on another instance,
// in a stream that resumes, and that ends with its owner's login.
func TestRevocationsReportEveryEnd(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	one, other := d.Start(t), d.Start(t)
	c := e2e.NewClient(t, one.Public)
	service, _ := d.Person(t, c, "orders", "service")
	events, cut := follow(t, one.Public, service, "")
	first := until(t, events, "reset")
	until(t, events, "policy")
	if beat := until(t, events, "beat"); !strings.Contains(beat.data, `"horizon_age_ms"`) || !strings.Contains(beat.data, `"elapsed_ms"`) {
		t.Errorf("a beat says %s", beat.data)
	}
	alice, _ := d.Person(t, c, "alice", "user")
	bob, _ := d.Person(t, c, "bob", "user")
	c.Want(c.Logout(alice), 204, "")
	here := until(t, events, "end")
	if !strings.Contains(here.data, e2e.IDOf(alice)) || !strings.Contains(here.data, "token_logged_out") || here.id == "" {
		t.Errorf("an end says %+v, want %s logged out", here, e2e.IDOf(alice))
	}
	away := e2e.NewClient(t, other.Public)
	away.Want(away.Logout(bob), 204, "")
	there := until(t, events, "end")
	if !strings.Contains(there.data, e2e.IDOf(bob)) {
		t.Errorf("an end elsewhere says %+v, want %s", there, e2e.IDOf(bob))
	}
	cut()

	again, cut := follow(t, one.Public, service, here.id)
	until(t, again, "resumed")
	if e := until(t, again, "end"); e != there {
		t.Errorf("after %s there is %+v, want %+v", here.id, e, there)
	}
	cut()
	fresh, cut := follow(t, other.Public, service, first.id)
	if e := <-fresh; e.kind != "reset" {
		t.Errorf("a mark of another instance is answered %q, want reset", e.kind)
	}
	cut()

	last, _ := follow(t, one.Public, service, "")
	until(t, last, "beat")
	away.Want(away.Logout(service), 204, "")
	ended(t, last, "a stream whose owner has logged out ends")
}

// TestStreamsDoNotHoldUpTheEnd: an instance that stops ends its streams.
func TestStreamsDoNotHoldUpTheEnd(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	i := d.Start(t, "FLAKEPASS_SHUTDOWN_TIMEOUT", "25s")
	c := e2e.NewClient(t, i.Public)
	service, _ := d.Person(t, c, "orders", "service")
	events, _ := follow(t, i.Public, service, "")
	until(t, events, "beat")
	if err := i.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	ended(t, events, "the stream ends")
}
