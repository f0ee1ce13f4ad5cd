package apitest_test

import (
	"strings"
	"testing"
)

func TestPlantedMistakesAreFound(t *testing.T) {
	// Each case spoils one good answer in one way.
	for name, c := range map[string]struct {
		method, path, example string // example is the status and its key
		spoil                 func(*answer)
		want                  string
	}{
		"wrong type":             {"GET", "/v1/me", "200 alice", set("role", 7), `GET /v1/me answered 200: body /role breaks `},
		"wrong type below":       {"GET", "/v1/me", "200 alice", setIn("session", "id", 412873650192384001), `body /session/id breaks "type"`},
		"value not listed":       {"GET", "/v1/me", "200 alice", set("role", "root"), `body /role breaks "enum"`},
		"extra field":            {"GET", "/v1/me", "200 alice", set("user_id", "1"), `body breaks "additionalProperties"`},
		"extra field below":      {"GET", "/v1/me", "200 alice", setIn("session", "token", "x"), `body /session breaks "additionalProperties"`},
		"missing field":          {"GET", "/v1/me", "200 alice", set("username", nil), `body /username breaks "required"`},
		"missing field below":    {"GET", "/v1/me", "200 alice", setIn("session", "issued_at", nil), `body /session/issued_at breaks "required"`},
		"time in seconds":        {"POST", "/v1/login", "200 begun", set("expires_at", "2026-12-21T09:12:33Z"), `body /expires_at breaks "pattern"`},
		"time in seconds below":  {"GET", "/v1/me", "200 alice", setIn("session", "issued_at", "2026-11-21T09:12:33Z"), `body /session/issued_at breaks "pattern"`},
		"no such time below":     {"GET", "/v1/me", "200 alice", setIn("session", "issued_at", "2026-13-21T09:12:33.123Z"), `body /session/issued_at breaks "format"`},
		"missing token":          {"POST", "/v1/login", "200 begun", set("token", nil), `body breaks "required"`},
		"time not in UTC":        {"POST", "/v1/login", "200 begun", set("expires_at", "2026-12-21T09:12:33.123+01:00"), `body /expires_at breaks "pattern"`},
		"no such time":           {"POST", "/v1/login", "200 begun", set("expires_at", "2026-13-21T09:12:33.123Z"), `body /expires_at breaks "format"`},
		"token of wrong shape":   {"POST", "/v1/login", "200 begun", set("token", "fp_short"), `body /token breaks "pattern"`},
		"constant differs":       {"POST", "/v1/login", "200 begun", set("token_type", "bearer"), `body /token_type breaks "const"`},
		"number too small":       {"POST", "/v1/logout", "202 pending", set("effective_within_ms", 0), `body /effective_within_ms breaks "minimum"`},
		"number with fraction":   {"POST", "/v1/logout", "202 pending", set("effective_within_ms", 1.5), `body /effective_within_ms breaks "type"`},
		"not an object":          {"GET", "/v1/me", "200 alice", body(`[]`), `body breaks "type"`},
		"not JSON":               {"GET", "/v1/me", "200 alice", body(`{`), "not one JSON value"},
		"repeated name":          {"GET", "/healthz", "200 alive", body(`{"status":"ok","status":"ok"}`), "not one JSON value"},
		"data after the value":   {"GET", "/healthz", "200 alive", body(`{"status":"ok"}{}`), "not one JSON value"},
		"invalid UTF-8":          {"GET", "/healthz", "200 alive", body("{\"status\":\"ok\xff\"}"), "not one JSON value"},
		"no body":                {"GET", "/v1/me", "200 alice", body(""), "there is no body"},
		"body where none is":     {"GET", "/v1/verify", "200 -", body("{}"), "there is a body, want none"},
		"undeclared status":      {"GET", "/v1/me", "200 alice", status(203), "GET /v1/me answered 203: the status is not declared"},
		"status of another":      {"GET", "/v1/me", "200 alice", status(202), "the status is not declared"},
		"undeclared code":        {"GET", "/v1/me", "401 token_expired", code("token_old"), `body /code breaks "enum"`},
		"code of another":        {"POST", "/v1/login", "401 credentials_invalid", code("token_expired"), `body /code breaks "enum"`},
		"code of another status": {"POST", "/v1/login", "403 account_disabled", code("credentials_invalid"), `body /code breaks "enum"`},
		"status not repeated":    {"GET", "/v1/me", "401 token_expired", set("status", 403), "body /status is not the status"},
		"request not named":      {"GET", "/v1/me", "401 token_expired", set("request_id", "other"), "body /request_id is not the header"},
		"anchor of another":      {"GET", "/v1/me", "401 token_expired", set("type", "https://github.com/flakepass/flakepass/blob/main/docs/problems.md#busy"), "body /type"},
		"no errors":              {"POST", "/v1/register", "422 validation_failed", set("errors", nil), `body breaks "required"`},
		"empty errors":           {"POST", "/v1/register", "422 validation_failed", set("errors", []any{}), `body /errors breaks "minItems"`},
		"errors of another":      {"GET", "/v1/me", "401 token_expired", set("errors", []any{map[string]any{"field": "a", "code": "b", "message": "c"}}), "body /errors is for"},
		"field error too long":   {"POST", "/v1/register", "422 validation_failed", set("errors", []any{map[string]any{"field": "a", "code": "b", "message": "c", "value": "d"}}), `body /errors/0 breaks "additionalProperties"`},
		"reasons of another":     {"GET", "/v1/me", "503 unavailable", set("reasons", []any{"a"}), "body /reasons is for"},
		"effect of another":      {"GET", "/v1/me", "401 token_expired", set("effect", map[string]any{"live": 1}), "body /effect is for"},
		"no effect":              {"PUT", "/v1/admin/policy", "409 confirmation_required", set("effect", nil), `body breaks "required"`},
		"no reasons":             {"GET", "/readyz", "503 not_ready", set("reasons", nil), `body breaks "required"`},
		"no header":              {"GET", "/v1/verify", "200 -", header("X-Auth-Role", ""), "header X-Auth-Role is missing"},
		"header of wrong shape":  {"GET", "/v1/verify", "200 -", header("X-Auth-Username", "zoë"), `header X-Auth-Username breaks "pattern"`},
		"undeclared header":      {"GET", "/v1/me", "200 alice", header("Set-Cookie", "a=b"), "header Set-Cookie is not declared"},
		"time left below zero":   {"GET", "/v1/verify", "200 -", header("X-Auth-Expires-In", "-1"), `header X-Auth-Expires-In breaks "minimum"`},
		"time left that is none": {"GET", "/v1/me", "200 alice", header("X-Auth-Idle-Expires-In", "soon"), `header X-Auth-Idle-Expires-In breaks "type"`},
		"time left elsewhere":    {"PUT", "/v1/me/password", "204 -", header("X-Auth-Idle-Expires-In", "-1"), `header X-Auth-Idle-Expires-In breaks "minimum"`},
		"time left of nobody":    {"GET", "/healthz", "200 alive", header("X-Auth-Expires-In", "1"), `header X-Auth-Expires-In is not declared`},
		"identity on a refusal":  {"GET", "/v1/verify", "401 token_expired", header("X-Auth-Role", "user"), "header X-Auth-Role is not declared"},
		"header twice":           {"GET", "/v1/me", "200 alice", again("Cache-Control", "no-store"), "header Cache-Control is there more than once"},
		"no request ID":          {"POST", "/v1/logout", "204 -", header("X-Request-Id", ""), "header X-Request-Id is missing"},
		"may be kept":            {"GET", "/v1/me", "200 alice", header("Cache-Control", "private"), `header Cache-Control breaks "const"`},
		"no challenge":           {"GET", "/v1/me", "401 token_expired", header("WWW-Authenticate", ""), "header WWW-Authenticate is missing"},
		"challenge with error":   {"GET", "/v1/me", "401 token_missing", header("WWW-Authenticate", `Bearer realm="flakepass", error="invalid_token"`), "does not fit the code"},
		"challenge no error":     {"GET", "/v1/me", "401 token_expired", header("WWW-Authenticate", `Bearer realm="flakepass"`), "does not fit the code"},
		"forbidden, no scope":    {"GET", "/v1/admin/users", "403 forbidden", header("WWW-Authenticate", ""), "header WWW-Authenticate is missing"},
		"challenge for a body":   {"PUT", "/v1/me/password", "400 body_malformed", header("WWW-Authenticate", `Bearer realm="flakepass", error="invalid_request"`), "does not fit the code"},
		"503 with challenge":     {"GET", "/v1/me", "503 unavailable", header("WWW-Authenticate", `Bearer realm="flakepass"`), "is not declared"},
		"no Retry-After":         {"GET", "/v1/me", "503 unavailable", header("Retry-After", ""), "header Retry-After is missing"},
		"Retry-After as a date":  {"GET", "/v1/me", "503 unavailable", header("Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT"), `header Retry-After breaks "type"`},
		"Retry-After of zero":    {"GET", "/v1/me", "503 unavailable", header("Retry-After", "0"), `header Retry-After breaks "minimum"`},
		"two waits":              {"GET", "/v1/me", "503 unavailable", set("retry_after", 2), "body /retry_after is not the header"},
		"wrong content type":     {"GET", "/v1/me", "200 alice", header("Content-Type", "text/html"), "the content type is not declared"},
		"problem as plain JSON":  {"GET", "/v1/me", "401 token_expired", header("Content-Type", "application/json"), "the content type is not declared"},
		"no content type":        {"GET", "/v1/me", "200 alice", header("Content-Type", ""), "the content type is not declared"},
		"endless body":           {"GET", "/openapi.yaml", "200 start", body(strings.Repeat("#", 1<<20+1)), "has more than"},
	} {
		t.Run(name, func(t *testing.T) {
			a := example(t, c.method, c.path, c.example)
			c.spoil(&a)
			if faults := send(t, c.method, c.path, a); !strings.Contains(strings.Join(faults, "\n"), c.want) {
				t.Errorf("got %q, want %q among them", faults, c.want)
			}
		})
	}
}
