//go:build unix

package attack

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	_ "modernc.org/sqlite"
)

// A bodied operation takes a JSON object.
type bodied struct {
	method, path string
	members      map[string]string // names, and a value of the type of each
}

// bodiedOperations are all of the contract, about that user and that login.
func bodiedOperations(t *testing.T, user, session string) (all []bodied) {
	t.Helper()
	for path, item := range contract(t).Paths.Map() {
		for method, op := range item.Operations() {
			if op.OperationID == "changeNames" {
				continue // it takes service keys only; its body is that of changeUser, read by the same type
			}
			if op.RequestBody == nil || op.RequestBody.Value.Content["application/json"] == nil {
				continue
			}
			members := map[string]string{}
			collect(op.RequestBody.Value.Content["application/json"].Schema.Value, members)
			all = append(all, bodied{method, strings.NewReplacer("users/{id}", "users/"+user, "sessions/{id}", "sessions/"+session, "keys/{id}", "keys/"+session).Replace(path), members})
		}
	}
	if len(all) < 8 {
		t.Fatalf("the contract has %d operations with a body: this test does not find them", len(all))
	}
	return all
}

func collect(s *openapi3.Schema, into map[string]string) {
	for _, part := range slices.Concat(s.AllOf, s.OneOf, s.AnyOf) {
		collect(part.Value, into)
	}
	for name, p := range s.Properties {
		switch {
		case p.Value.Type.Includes("boolean"):
			into[name] = "true"
		case p.Value.Type.Includes("integer"), p.Value.Type.Includes("number"):
			into[name] = "7"
		case p.Value.Type.Includes("array"):
			into[name] = "[]"
		default:
			into[name] = `"violet tram sings at noon"`
		}
	}
}

func (b bodied) object(more ...string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(b.members)) {
		parts = append(parts, fmt.Sprintf("%q:%s", name, b.members[name]))
	}
	return "{" + strings.Join(append(parts, more...), ",") + "}"
}

// malformed are bodies that two parsers could read differently, by name.
func (b bodied) malformed() map[string]string {
	good := b.object()
	all := map[string]string{
		"blanks": " \n", "null": "null", "a list": "[" + good + "]", "a text": `"x"`, "a number": "1e400", "true": "true", "two": good + good,
		"something after it": good + " x", "a NUL after it": good + "\x00", "a byte order mark": "\ufeff" + good, "UTF-16": "\xff\xfe{\x00}\x00", "a comment": "/**/" + good,
		"a comma too many": strings.TrimSuffix(good, "}") + ",}", "an open object": strings.TrimSuffix(good, "}"), "single quotes": strings.ReplaceAll(good, `"`, "'"),
		"an unknown member": b.object(`"surprise":1`), "__proto__": b.object(`"__proto__":{"role":"admin"}`), "an empty name": b.object(`"":1`),
		"depth": b.object(`"a":` + strings.Repeat("[", 3000) + strings.Repeat("]", 3000)), "an open depth": strings.Repeat(`{"a":`, 1500),
		"a huge number": b.object(`"a":1` + strings.Repeat("0", 4000)), "NaN": b.object(`"a":NaN`), "a leading zero": b.object(`"a":01`),
		"8 KiB and one byte": good + strings.Repeat(" ", 8193-len(good)),
	}
	for name, value := range b.members {
		again := func(what, spelling string) { all[name+", "+what] = b.object(fmt.Sprintf("%s:%s", spelling, value)) }
		again("twice", fmt.Sprintf("%q", name))
		again("in capitals as well", fmt.Sprintf("%q", strings.ToUpper(name)))
		again("escaped as well", fmt.Sprintf(`"\u%04x%s"`, name[0], name[1:]))
		again("with a long s as well", fmt.Sprintf("%q", strings.ReplaceAll(name, "s", "ſ")))
		again("with a NUL as well", fmt.Sprintf(`"%s\u0000"`, name))
		instead := func(what, value string) {
			other := bodied{members: maps.Clone(b.members)}
			other.members[name] = value
			all[name+", "+what] = other.object()
		}
		other := bodied{members: maps.Clone(b.members)}
		delete(other.members, name)
		other.members[strings.ToUpper(name)] = value
		all[name+", in capitals"] = other.object()
		instead("an object", `{"$gt":""}`)
		instead("a list", `[["a"]]`)
		instead("1e400", "1e400")
		instead("invalid UTF-8", "\"\xff\xfe\"")
		instead("a lone surrogate", `"\ud800"`)
		instead("a raw control character", "\"a\x01\"")
		instead("an overlong slash", "\"\xc0\xaf\"")
		if value[0] == '"' { // elsewhere null is none
			instead("a number", "0")
			instead("false", "false")
		} else {
			instead("a text", `"true"`)
			instead("a fraction", "7.5")
			instead("beyond 64 bits", "18446744073709551617")
		}
		if !strings.Contains(name, "s") {
			delete(all, name+", with a long s as well")
		}
	}
	return all
}

// dump is what the database holds about users, the policy and the record.
func (w *world) dump(tables ...string) string {
	w.t.Helper()
	db, err := sql.Open("sqlite", "file:"+w.file+"?mode=ro&_pragma=busy_timeout(5000)")
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	var text strings.Builder
	for _, table := range tables {
		columns := map[string]string{"users": "id, username, password_hash, password_version, role, disabled_at, token_id, token_floor, created_at", "settings": "*", "policies": "*", "audit_events": "*"}[table]
		rows, err := db.QueryContext(w.t.Context(), "SELECT "+columns+" FROM "+table+" ORDER BY 1")
		if err != nil {
			w.t.Fatal(err)
		}
		names, err := rows.Columns()
		if err != nil {
			w.t.Fatal(err)
		}
		for rows.Next() {
			values := make([]any, len(names))
			for i := range values {
				values[i] = new(any)
			}
			if err := rows.Scan(values...); err != nil {
				w.t.Fatal(err)
			}
			for _, v := range values {
				fmt.Fprintf(&text, "%v|", *v.(*any))
			}
			text.WriteByte('\n')
		}
		if err := rows.Close(); err != nil {
			w.t.Fatal(err)
		}
		if rows.Err() != nil {
			w.t.Fatal(rows.Err())
		}
	}
	return text.String()
}

var allTables = []string{"users", "settings", "policies", "audit_events"}

// TestBodiesOfTwoReadingsChangeNothing: at every operation, for an admin, through
// nginx as well. Each is refused, and the refusal repeats nothing.
func TestBodiesOfTwoReadingsChangeNothing(t *testing.T) { //nolint:tparallel // its parts take turns on one server
	t.Parallel()
	w := newWorld(t)
	token := w.admin("root")
	w.register("alice")
	user, session := w.idsOf(w.login("alice"))
	issuer := w.key(token, "sms-backend", "issue")
	before := w.dump(allTables...)
	w.directAndProxied(t, func(t *testing.T, at string) {
		for _, op := range bodiedOperations(t, user, session) {
			token := token
			if op.path == "/v1/issue" { // for a key only
				token = issuer
			}
			for name, body := range op.malformed() {
				a := w.send(op.method, at, op.path, body, append(bearer(token), "If-Match", `"1"`, "Content-Type", "application/json")...)
				if a.status != 400 && a.status != 413 && a.status != 422 {
					t.Errorf("%s %s, %s: got %d %s", op.method, op.path, name, a.status, a.body)
				}
				if strings.Contains(a.body, "violet") || strings.Contains(a.body, "surprise") {
					t.Errorf("%s %s, %s: the answer repeats the body: %s", op.method, op.path, name, a.body)
				}
			}
			for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json; charset=utf-7", "text/json", "application/xml", "application/problem+json"} {
				if a := w.send(op.method, at, op.path, op.object(), append(bearer(token), "If-Match", `"1"`, "Content-Type", kind)...); a.status != 415 {
					t.Errorf("%s %s as %s: got %d", op.method, op.path, kind, a.status)
				}
			}
		}
	})
	if after := w.dump(allTables...); after != before {
		t.Errorf("the database was\n%s\nand is\n%s", before, after)
	}
	w.alive(token)
}

// TestARequestWritesNoColumnByItsName: what is stored is not what is sent.
func TestARequestWritesNoColumnByItsName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.admin("root")
	alice := w.register("alice")
	user, session := w.idsOf(alice)
	columns := []string{
		"id", "username", "password_hash", "password_version", "role", "disabled_at", "token_id", "token_hash", "token_seen_at", "token_floor", "token_floor_at",
		"ended_token_id", "ended_reason", "created_at", "updated_at", "global_floor", "idle_base", "updated_by", "actor", "actor_id", "via", "admin", "is_admin",
		"isAdmin", "Role", "user_id", "userId", "disabled", "enabled", "token", "user", "users", "roles", "scope", "permissions", "verified", "$set", "constructor",
	}
	issuer := w.key(token, "sms-backend", "issue")
	before := w.dump(allTables...)
	for _, op := range bodiedOperations(t, user, session) {
		token := token
		if op.path == "/v1/issue" { // for a key only
			token = issuer
		}
		for _, column := range columns {
			if _, known := op.members[column]; known {
				continue
			}
			for _, value := range []string{`"admin"`, "1"} {
				for _, who := range []string{token, alice} {
					a := w.send(op.method, w.api, op.path, op.object(fmt.Sprintf("%q:%s", column, value)), append(bearer(who), "If-Match", `"1"`)...)
					if a.status != 400 && (who != alice || a.status != 403) {
						t.Errorf("%s %s with %s: %s: got %d %s", op.method, op.path, column, value, a.status, a.body)
					}
				}
			}
		}
	}
	if after := w.dump(allTables...); after != before {
		t.Errorf("the database was\n%s\nand is\n%s", before, after)
	}
}
