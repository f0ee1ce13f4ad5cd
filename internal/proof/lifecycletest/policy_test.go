package lifecycletest

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/server/run"
)

// A policyWorld is two server processes on one database, an operator, and logins
// of which some have been idle for longer than five minutes.
type policyWorld struct {
	*e2e.Deployment
	a, b   *e2e.Process
	admin  *e2e.Client // at a
	token  string      // the operator's
	keep   *e2e.Canaries
	idle   []string // tokens that were not shown yet
	active []string
}

const idleLogins, activeLogins = 10, 3

func newPolicyWorld(t *testing.T, make func(testing.TB) *e2e.Deployment) *policyWorld {
	w := &policyWorld{Deployment: make(t), keep: &e2e.Canaries{}}
	w.Vars = w.With("FLAKEPASS_REVOCATION_BOUND", policyBound.String())
	w.a, w.b = e2e.StartProcess(t, t.TempDir(), w.Vars), e2e.StartProcess(t, t.TempDir(), w.Vars)
	w.admin = e2e.NewClient(t, w.a.Public)
	w.admin.Keep = w.keep
	password := e2e.NewPassword()
	w.keep.Password(password)
	e2e.Must(t, w.Vars, password, "user", "add", "root", "--role", "admin", "--password-stdin")
	w.token = w.admin.Login("root", password)
	db := w.SQL(t)
	for i := range idleLogins + activeLogins {
		name := fmt.Sprintf("user%02d", i)
		w.admin.Want(w.admin.Register(name, password), 201, "")
		token := w.admin.Login(name, password)
		if i >= idleLogins {
			w.active = append(w.active, token)
			continue
		}
		w.idle = append(w.idle, token)
		// Time has passed for this one.
		e2e.Execute(t, db, "UPDATE users SET token_seen_at = token_seen_at - ? WHERE username = ?", (time.Duration(i+6) * time.Minute).Milliseconds(), name)
	}
	return w
}

// policyBound is long enough for a machine that is busy with something else.
const policyBound = 5 * time.Second

// ask sends an operator's request.
func (w *policyWorld) ask(method, path, body string, edits ...func(*http.Request)) e2e.Answer {
	w.admin.T.Helper()
	return w.admin.Do(method, path, body, append([]func(*http.Request){e2e.Bearer(w.token)}, edits...)...)
}

// inForce waits until the other process acts by that version.
func (w *policyWorld) inForce(t *testing.T, version int) {
	t.Helper()
	line := fmt.Sprintf(`"policy changed" version=%d `, version)
	testenv.Eventually(t, e2e.Patience, func() bool { return strings.Contains(w.b.Log.String(), line) }, "the other process has not read the policy")
}

func wantedPolicy(idle int, schedule, more string) string {
	return fmt.Sprintf(`{"idle_timeout_seconds":%d,"absolute_lifetime_seconds":2592000,"touch_interval_seconds":60,"sweep_schedule":%q%s}`, idle, schedule, more)
}

// TestPolicyActsAtOnceOnEveryProcess: a shorter timeout ends what it said it
// would, at once where it was set and within the bound elsewhere; and neither a
// longer one, nor a sweep, nor going back revives any of it.
func TestPolicyActsAtOnceOnEveryProcess(t *testing.T) {
	t.Parallel()
	for _, setup := range setups {
		t.Run(setup.name, func(t *testing.T) {
			t.Parallel()
			w := newPolicyWorld(t, setup.make)
			here, there := e2e.NewClient(t, w.a.Public), e2e.NewClient(t, w.b.Public)
			const never = "0 0 1 1 *"
			tag := func() func(*http.Request) {
				a := w.admin.Want(w.ask("GET", "/v1/admin/policy", ""), 200, "")
				return e2e.Header("If-Match", a.Header.Get("ETag"))
			}

			// No other user logs in, and nothing happens unasked.
			here.Want(here.Do("GET", "/v1/admin/policy", "", e2e.Bearer(w.active[0])), 403, "forbidden")
			shorter := wantedPolicy(300, never, "")
			const effect = `"effect":{"live":{"count":14,"error":0},"ends_now":{"count":10,"error":0},"ends_within_hour":{"count":4,"error":0}}`
			asked := w.admin.Want(w.ask("PUT", "/v1/admin/policy?dry_run=true", shorter, tag()), 200, "")
			refused := w.admin.Want(w.ask("PUT", "/v1/admin/policy", shorter, tag()), 409, "confirmation_required")
			for _, a := range []e2e.Answer{asked, refused} {
				if !bytes.Contains(a.Body, []byte(effect)) {
					t.Errorf("got %s, want %s", a.Body, effect)
				}
			}
			r := e2e.Command(t, w.Vars, "", "policy", "set", "--idle", "5m")
			if r.Code != 1 || !strings.Contains(r.Errs, "This ends 10 of 14 living logins. Nothing was changed") || !strings.Contains(r.Errs, "--yes") {
				t.Errorf("from the command line: %d\n%s%s", r.Code, r.Out, r.Errs)
			}
			w.admin.Want(w.ask("PUT", "/v1/admin/policy", shorter, e2e.Header("If-Match", `"9"`)), 412, "version_conflict")
			w.admin.Want(w.ask("PUT", "/v1/admin/policy", shorter), 428, "precondition_required")

			a := w.admin.Want(w.ask("PUT", "/v1/admin/policy", wantedPolicy(300, never, `,"confirm":true,"note":"lost phones"`), tag()), 200, "")
			changed := time.Now()
			if a.Header.Get("ETag") != `"2"` || !bytes.Contains(a.Body, []byte(effect)) {
				t.Errorf("changed: %s", a.Body)
			}
			// Here at once.
			first, second, unseen := w.idle[:3], w.idle[3:7], w.idle[7:]
			for _, token := range first {
				here.Dead(token, "token_idle_timeout")
			}
			// Elsewhere within the bound: each token is shown once until it is known,
			// for whom an instance lets in meanwhile is seen by that.
			var last time.Time
			testenv.Eventually(t, e2e.Patience, func() bool {
				if len(second) > 2 && time.Since(last) > 200*time.Millisecond {
					last = time.Now()
					if got := there.Me(second[0]); got.Status == 200 && last.Sub(changed) > policyBound {
						t.Fatalf("accepted %v after the change", last.Sub(changed))
					}
					second = second[1:]
				}
				return strings.Contains(w.b.Log.String(), `"policy changed" version=2 `)
			}, "the other process has not read the policy")
			over := append(append([]string{}, first...), second...)
			for _, token := range over {
				there.Dead(token, "token_idle_timeout")
			}
			for _, token := range w.active {
				here.Alive(token)
				there.Alive(token)
			}

			// A longer timeout revives nothing, shown or not, swept or not; nor does
			// going back to what was.
			w.admin.Want(w.ask("PUT", "/v1/admin/policy", wantedPolicy(30*24*3600, never, ""), tag()), 200, "")
			w.inForce(t, 3)
			over = append(over, unseen...)
			dead := func() {
				t.Helper()
				for _, token := range over {
					here.Dead(token, "token_idle_timeout")
					there.Dead(token, "token_idle_timeout")
				}
			}
			dead()
			// Nor does it for an instance that has never known the shorter one.
			third := e2e.NewClient(t, e2e.StartProcess(t, t.TempDir(), w.Vars).Public)
			for _, token := range over {
				third.Dead(token, "token_idle_timeout")
			}
			w.admin.Want(w.ask("PUT", "/v1/admin/policy", wantedPolicy(30*24*3600, "@every 1s", ""), tag()), 200, "")
			db := w.SQL(t)
			testenv.Eventually(t, e2e.Patience, func() bool {
				return e2e.Count(t, db, "SELECT COUNT(*) FROM users WHERE token_id IS NULL") >= len(over)
			}, "the sweep has not cleared the rows")
			dead()
			back := w.admin.Want(w.ask("POST", "/v1/admin/policy/revert", `{"version":1,"note":"back"}`, tag()), 200, "")
			if back.Header.Get("ETag") != `"5"` || !bytes.Contains(back.Body, []byte(`"ends_now":{"count":0,"error":0}`)) {
				t.Errorf("back: %s", back.Body)
			}
			w.inForce(t, 5)
			dead()
			for _, token := range w.active {
				there.Alive(token)
			}
			w.onRecord(t)
		})
	}
}

// onRecord looks at what the API and the console say of the changes, and that no event holds
// a secret.
func (w *policyWorld) onRecord(t *testing.T) {
	t.Helper()
	// The command line says the same as the API.
	api := w.admin.Want(w.ask("GET", "/v1/admin/policy", ""), 200, "")
	cli := map[string]any{}
	if err := json.Unmarshal([]byte(e2e.Must(t, w.Vars, "", "policy", "get", "--json").Out), &cli); err != nil {
		t.Fatal(err)
	}
	if delete(cli, "updated_at"); len(cli) != len(api.Fields)-1 {
		t.Errorf("from the command line %v, over HTTP %v", cli, api.Fields)
	}
	for name, value := range cli {
		if !reflect.DeepEqual(api.Fields[name], value) {
			t.Errorf("%s is %v from the command line, and %v over HTTP", name, value, api.Fields[name])
		}
	}
	e2e.Must(t, w.Vars, "", "policy", "set", "--touch", "30s", "--note", "from a shell")

	here := e2e.NewClient(t, w.a.Public)
	here.Want(here.Do("GET", "/v1/admin/audit", "", e2e.Bearer(w.active[0])), 403, "forbidden")
	a := w.admin.Want(w.ask("GET", "/v1/admin/audit?action=policy.changed&limit=2", ""), 200, "")
	page, _ := a.Fields["events"].([]any)
	if len(page) != 2 || a.Field("next_cursor") == "" {
		t.Fatalf("the record: %s", a.Body)
	}
	shell, _ := page[0].(map[string]any)
	actor, _ := shell["actor"].(map[string]any)
	if name, _ := actor["name"].(string); shell["via"] != "cli" || shell["reason"] != "from a shell" || !strings.Contains(name, "@") || actor["id"] != nil {
		t.Errorf("the event of a command: %v", shell)
	}
	next := w.admin.Want(w.ask("GET", "/v1/admin/audit?actor=root&cursor="+a.Field("next_cursor"), ""), 200, "")
	if n := bytes.Count(next.Body, []byte(`"action":"policy.changed"`)); n != 3 || !bytes.Contains(next.Body, []byte(`"reason":"lost phones"`)) {
		t.Errorf("%d more of root: %s", n, next.Body)
	}
	if out := e2e.Must(t, w.Vars, "", "audit", "--actor", "ROOT", "--action", "policy.changed", "--json").Out; strings.Count(out, "\n") != 4 {
		t.Errorf("root's events on the command line:\n%s", out)
	}

	for _, query := range []string{"SELECT password_hash FROM users", "SELECT token_hash FROM users WHERE token_hash IS NOT NULL",
		"SELECT ended_token_hash FROM users WHERE ended_token_hash IS NOT NULL"} {
		for _, hash := range binaries(t, w.Deployment, query) {
			for _, text := range []string{string(hash), hex.EncodeToString(hash), base64.StdEncoding.EncodeToString(hash), base64.RawURLEncoding.EncodeToString(hash)} {
				w.keep.Add(text, "a hash")
			}
		}
	}
	events, err := run.EventsOf(w.Open(t)).List(t.Context(), audit.Filter{Limit: 1000})
	if err != nil || len(events) < 5 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	for i := range events {
		w.keep.Absent(t, string(events[i].Action), spelled(reflect.ValueOf(events[i])))
		for _, value := range []json.RawMessage{events[i].Old, events[i].New} {
			if secretName.Match(value) {
				t.Errorf("%s has a value %s", events[i].Action, value)
			}
		}
	}
}

// secretName is the name of a field that no event has.
var secretName = regexp.MustCompile(`(?i)"[^"]*(password|token|hash|secret)[^"]*" *:`)

// spelled is every text in v, however deep, also those within JSON.
func spelled(v reflect.Value) (all []byte) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			all = append(all, spelled(v.Field(i))...)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			var value any
			all = append(all, v.Bytes()...)
			if json.Unmarshal(v.Bytes(), &value) == nil {
				all = append(all, spelled(reflect.ValueOf(value))...)
			}
			return append(all, '\n')
		}
		for i := range v.Len() {
			all = append(all, spelled(v.Index(i))...)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			all = append(append(all, spelled(key)...), spelled(v.MapIndex(key))...)
		}
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			all = spelled(v.Elem())
		}
	default:
		all = fmt.Appendln(nil, v)
	}
	return all
}

// binaries is the one column of a query.
func binaries(t *testing.T, d *e2e.Deployment, query string) (list [][]byte) {
	t.Helper()
	rows, err := d.SQL(t).QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var b []byte
		if err := rows.Scan(&b); err != nil {
			t.Fatal(err)
		}
		list = append(list, b)
	}
	if rows.Err() != nil || len(list) == 0 {
		t.Fatalf("%s: nothing, %v", query, rows.Err())
	}
	return list
}
