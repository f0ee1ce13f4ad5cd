package commandtest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/proof/e2e"
)

// TestRemoteServerCannotWriteToTheTerminal: whatever a server puts into its
// texts, what a terminal obeys is not printed.
func TestRemoteServerCannotWriteToTheTerminal(t *testing.T) {
	t.Parallel()
	const at = `"2026-11-21T09:12:33.123Z"`
	const session = `"id":"7","issued_at":` + at + `,"last_seen_at":` + at + `,"expires_at":` + at + `,"idle_expires_at":` + at
	const user = `"username":"ESC","role":"ESC","created_at":` + at + `,"updated_at":` + at
	const policy = `"idle_timeout_seconds":600,"absolute_lifetime_seconds":600,"touch_interval_seconds":1,"sweep_schedule":"ESC","version":1,` +
		`"updated_at":` + at + `,"updated_by":"ESC","note":"ESC"`
	const sweep = `"id":"9","instance":"ESC","started_at":` + at + `,"finished_at":` + at + `,"outcome":"ESC","cleared":1,"failed_rows":1,` +
		`"longest_batch_ms":1,"detail":"ESC"`
	answers := map[string]string{
		"GET /v1/me":                    `{"username":"ESC","role":"ESC","session":{` + session + `}}`,
		"GET /v1/admin/policy":          `{` + policy + `}`,
		"PUT /v1/admin/policy":          `{` + strings.Replace(policy, "ESC", "ESC again", 1) + `,"dry_run":true,"effect":{}}`,
		"GET /v1/admin/policy/history":  `{"policies":[{` + policy + `}]}`,
		"GET /v1/admin/users":           `{"users":[{"id":"7",` + user + `}]}`,
		"POST /v1/admin/users":          `{"id":"7",` + user + `}`,
		"GET /v1/admin/sessions":        `{"sessions":[{` + session + `,"user_id":"7","username":"ESC","role":"ESC"}]}`,
		"GET /v1/admin/audit":           `{"events":[{"id":"7","at":` + at + `,"action":"ESC","actor":{"name":"ESC"},"via":"ESC","target":{"kind":"ESC","name":"ESC"},"reason":"ESC"}]}`,
		"POST /v1/admin/sweeps":         `{` + sweep + `}`,
		"GET /v1/admin/stats":           `problem`,
		"POST /v1/admin/logout-all":     `page`,
		"DELETE /v1/admin/sessions/{n}": `problem`,
	}
	mux := http.NewServeMux()
	for path, body := range answers {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			text := body
			switch body {
			case "problem":
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusConflict)
				text = `{"code":"new_one","title":"ESC","detail":"ESC","request_id":"ESC","reasons":["ESC"],"errors":[{"field":"ESC","message":"ESC"}]}`
			case "page":
				w.Header().Set("Content-Type", "text/html")
				w.WriteHeader(http.StatusBadGateway)
			}
			_, _ = w.Write([]byte(strings.ReplaceAll(text, "ESC", `told\u001b[2J\u009b2J\u0007`)))
		})
	}
	s := httptest.NewServer(mux)
	defer s.Close()
	vars := map[string]string{"HOME": t.TempDir(), "FLAKEPASS_REMOTE_URL": s.URL, "FLAKEPASS_REMOTE_TOKEN": flakepass.NewToken(7).Reveal()}
	for _, line := range []string{
		"whoami", "policy get", "policy set --idle 5m --dry-run", "policy history", "user list", "user add abc --password-stdin", "session list", "audit",
		"sweep", "stats", "session end 7", "logout-all --yes",
	} {
		r := e2e.Command(t, vars, "violet tram sings at noon\n", append([]string{"remote"}, strings.Fields(line)...)...)
		said := r.Out + r.Errs
		if strings.ContainsAny(said, "\x1b\u009b\a") {
			t.Errorf("%s: %q", line, said)
		}
		if line != "logout-all --yes" && !strings.Contains(said, "told") {
			t.Errorf("%s: nothing of the server is shown: %q", line, said)
		}
	}
}

// TestSecretsOfARemoteServerDoNotWriteToTheTerminal: what is shown once has texts of the server beside it, and is one itself.
func TestSecretsOfARemoteServerDoNotWriteToTheTerminal(t *testing.T) {
	t.Parallel()
	const at = `"2026-11-21T09:12:33.123Z"`
	const user = `"id":"7","username":"abc","role":"user","created_at":` + at + `,"updated_at":` + at
	const reset = `{"reset_token":"fpr_ESC","url":"https://a.example/ESC#fpr_ESC","expires_at":` + at + `}`
	key := `{"key":"` + flakepass.NewServiceKey(9).Reveal() + `","id":"9","user_id":"7","name":"ESC","scopes":["ESC"],"created_at":` + at + `}`
	mux := http.NewServeMux()
	for path, body := range map[string]string{
		"GET /v1/admin/users":                      `{"users":[{` + user + `}]}`,
		"GET /v1/admin/users/{id}":                 `{` + user + `}`,
		"POST /v1/admin/users/{id}/keys":           key,
		"POST /v1/admin/users/{id}/password-reset": reset,
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.Method == http.MethodPost {
				w.WriteHeader(http.StatusCreated)
			}
			_, _ = w.Write([]byte(strings.ReplaceAll(body, "ESC", `told\u001b[2J\u009b2J\u0007`)))
		})
	}
	s := httptest.NewServer(mux)
	defer s.Close()
	vars := map[string]string{"HOME": t.TempDir(), "FLAKEPASS_REMOTE_URL": s.URL, "FLAKEPASS_REMOTE_TOKEN": flakepass.NewToken(7).Reveal()}
	for _, line := range []string{"key add abc web --scope verify", "user reset abc"} {
		r := e2e.Command(t, vars, "", append([]string{"remote"}, strings.Fields(line)...)...)
		if said := r.Out + r.Errs; strings.ContainsAny(said, "\x1b\u009b\a") || !strings.Contains(said, "told") {
			t.Errorf("%s: %q", line, said)
		}
	}
}

// TestCodeAboutAnotherNameIsNoPanic: a server may say of an alias that the username is taken, and the other way round.
func TestCodeAboutAnotherNameIsNoPanic(t *testing.T) {
	t.Parallel()
	const user = `"id":"7","username":"abc","role":"user","created_at":"2026-11-21T09:12:33.123Z","updated_at":"2026-11-21T09:12:33.123Z"`
	mux := http.NewServeMux()
	var code atomic.Pointer[string]
	for path, body := range map[string]string{"GET /v1/admin/users": `{"users":[{` + user + `}]}`, "GET /v1/admin/users/{id}": `{` + user + `}`} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(body))
		})
	}
	mux.HandleFunc("PATCH /v1/admin/users/{id}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write([]byte(`{"type":"about:blank","title":"Taken","status":409,"code":"` + *code.Load() + `","detail":"That name is taken."}`))
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	vars := map[string]string{"HOME": t.TempDir(), "FLAKEPASS_REMOTE_URL": s.URL, "FLAKEPASS_REMOTE_TOKEN": flakepass.NewToken(7).Reveal()}
	for _, c := range []struct{ code, line string }{
		{"alias_taken", "user rename abc abd"}, {"alias_taken", "user alias remove abc a@example.org"}, {"username_taken", "user alias add abc a@example.org"},
	} {
		code.Store(&c.code)
		r := e2e.Command(t, vars, "", append([]string{"remote"}, strings.Fields(c.line)...)...)
		if strings.Contains(r.Errs, "panic") || !strings.Contains(r.Errs, "taken") {
			t.Errorf("%s: %s: %s", c.line, c.code, r.Errs)
		}
	}
}
