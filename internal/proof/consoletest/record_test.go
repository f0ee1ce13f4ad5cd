package consoletest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/e2e"
)

// A twin is a deployment that is used over the API, or as the console is: the same
// acts by the same people.
type twin struct {
	t       *testing.T
	d       *e2e.Deployment
	i       *e2e.Instance
	c       *e2e.Client
	console bool

	token  string // of ada, an admin
	secret string
	codes  []string // recovery codes, unused
	dead   string   // a token of a login that was replaced
}

func newTwin(t *testing.T, console bool, settings ...string) *twin {
	t.Helper()
	d := e2e.OnSQLite(t)
	w := &twin{t: t, d: d, console: console}
	w.i = d.Start(t, settings...)
	e2e.NewAdmin(t, d, "ada", account.RoleAdmin)
	w.c = e2e.NewClient(t, w.i.Public)
	for _, name := range []string{"bob", "dora", "gina"} {
		w.c.Want(w.c.Register(name, e2e.Passphrase), 201, "")
	}
	e2e.Must(t, d.Vars, "", "user", "disable", "dora")
	return w
}

// form sends a form of the console, as ada if she is logged in, and returns the
// page. The status 0 is any.
func (w *twin) form(status int, path string, fields ...string) string {
	w.t.Helper()
	values := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		values.Set(fields[i], fields[i+1])
	}
	return w.browse("POST", status, path, w.token, values)
}

func (w *twin) browse(method string, status int, path, token string, values url.Values) string {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, "http://"+w.i.Public+path, strings.NewReader(values.Encode()))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if token != "" {
		r.AddCookie(&http.Cookie{Name: "__Host-flakepass", Value: token})
	}
	client := &http.Client{Timeout: e2e.Patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	if status != 0 && resp.StatusCode != status {
		w.t.Fatalf("%s %s: got %d, want %d\n%s", method, path, resp.StatusCode, status, page)
	}
	for _, cookie := range resp.Cookies() {
		if cookie.Name == "__Host-flakepass" {
			w.token = cookie.Value
		}
	}
	return string(page)
}

// ask sends ada's request to the API.
func (w *twin) ask(status int, code, method, path, body string) e2e.Answer {
	w.t.Helper()
	return w.c.Want(w.c.Do(method, path, body, e2e.Bearer(w.token)), status, code)
}

func (w *twin) id(name string) string {
	w.t.Helper()
	return strconv.Itoa(e2e.Count(w.t, w.d.SQL(w.t), "SELECT id FROM users WHERE username = '"+name+"'"))
}

// recovery is a recovery code that is not used yet.
func (w *twin) recovery() string {
	code := w.codes[0]
	w.codes = w.codes[1:]
	return code
}

var (
	secretOnPage   = regexp.MustCompile(`id="secret">([^<]+)<`)
	codesOnPage    = regexp.MustCompile(`<li><code>([^<]+)</code></li>`)
	issuerInReason = regexp.MustCompile(`issued by user \d+`)
	ticketOnPage   = regexp.MustCompile(`name="ticket" value="([^"]+)"`)
)

func (w *twin) keepCodes(page string) {
	w.codes = nil
	for _, found := range codesOnPage.FindAllStringSubmatch(page, -1) {
		w.codes = append(w.codes, found[1])
	}
}

func (w *twin) keepAnswer(a e2e.Answer) {
	w.codes = nil
	list, _ := a.Fields["recovery_codes"].([]any)
	for _, code := range list {
		w.codes = append(w.codes, fmt.Sprint(code))
	}
}

// An act is something that can be done over the API and in the console.
type act struct {
	name         string
	api, console func(w *twin)
}

// acts are in the order in which they are done. Those that need no proof come
// before ada has a second factor.
var acts = []act{
	{
		"a wrong password",
		func(w *twin) { w.c.Want(w.c.TryLogin("ada", "a wrong passphrase"), 401, "credentials_invalid") },
		func(w *twin) { w.form(401, "/console/login", "username", "ada", "password", "a wrong passphrase") },
	},
	{
		"a name that no account has",
		func(w *twin) { w.c.Want(w.c.TryLogin("nobody", "a wrong passphrase"), 401, "credentials_invalid") },
		func(w *twin) { w.form(401, "/console/login", "username", "nobody", "password", "a wrong passphrase") },
	},
	{
		"a disabled account",
		func(w *twin) { w.c.Want(w.c.TryLogin("dora", e2e.Passphrase), 403, "account_disabled") },
		func(w *twin) { w.form(403, "/console/login", "username", "dora", "password", e2e.Passphrase) },
	},
	{
		"a login, and another in its place",
		func(w *twin) { w.dead = w.c.Login("ada", e2e.Passphrase); w.token = w.c.Login("ada", e2e.Passphrase) },
		func(w *twin) {
			w.form(303, "/console/login", "username", "ada", "password", e2e.Passphrase)
			w.dead, w.token = w.token, ""
			w.form(303, "/console/login", "username", "ada", "password", e2e.Passphrase)
		},
	},
	{
		"a token of a login that was ended",
		func(w *twin) { w.c.Dead(w.dead, "token_replaced") },
		func(w *twin) {
			kept := w.token
			w.browse("GET", 303, "/console/users", w.dead, nil)
			w.token = kept
		},
	},
	{
		"a token that was made up",
		func(w *twin) { w.c.Dead(e2e.Forge(w.token), "token_invalid") },
		func(w *twin) {
			kept := w.token
			w.browse("GET", 303, "/console/users", e2e.Forge(w.token), nil)
			w.token = kept
		},
	},
	{
		"a role that may not",
		func(w *twin) {
			w.c.Want(w.c.Do("GET", "/v1/admin/users", "", e2e.Bearer(w.c.Login("bob", e2e.Passphrase))), 403, "forbidden")
		},
		func(w *twin) {
			kept := w.token
			w.browse("GET", 303, "/console/users", w.c.Login("bob", e2e.Passphrase), nil)
			w.token = kept
		},
	},
	{
		"a new user",
		func(w *twin) {
			w.ask(201, "", "POST", "/v1/admin/users", e2e.Object("username", "erin", "password", e2e.Passphrase, "role", "user", "reason", "new here"))
		},
		func(w *twin) {
			w.form(303, "/console/users", "username", "erin", "password", e2e.Passphrase, "role", "user", "reason", "new here")
		},
	},
	{
		"an invited user",
		func(w *twin) {
			w.ask(201, "", "POST", "/v1/admin/users", `{"username":"finn","role":"user","reason":"new here","reset_lifetime_seconds":3600}`)
		},
		func(w *twin) {
			w.form(201, "/console/users", "username", "finn", "by", "link", "life", "3600", "role", "user", "reason", "new here")
		},
	},
	{
		"another role",
		func(w *twin) {
			w.ask(204, "", "POST", "/v1/me/reauthenticate", e2e.Object("password", e2e.Passphrase))
			w.ask(200, "", "PATCH", "/v1/admin/users/"+w.id("erin"), e2e.Object("role", "service", "reason", "asks"))
		},
		func(w *twin) {
			w.form(303, "/console/users/"+w.id("erin"), "do", "role", "role", "service", "reason", "asks", "confirm_password", e2e.Passphrase)
		},
	},
	{
		"an account that is disabled and enabled",
		func(w *twin) {
			w.ask(200, "", "PATCH", "/v1/admin/users/"+w.id("erin"), `{"disabled":true,"reason":"left"}`)
			w.ask(200, "", "PATCH", "/v1/admin/users/"+w.id("erin"), `{"disabled":false,"reason":"back"}`)
		},
		func(w *twin) {
			w.form(303, "/console/users/"+w.id("erin"), "do", "disabled", "reason", "left")
			w.form(303, "/console/users/"+w.id("erin"), "do", "enabled", "reason", "back")
		},
	},
	{
		"a link that is given, withdrawn, given again and used",
		func(w *twin) {
			path := "/v1/admin/users/" + w.id("erin") + "/password-reset"
			w.ask(201, "", "POST", path, `{"reset_lifetime_seconds":600,"reason":"forgot"}`)
			w.ask(204, "", "DELETE", path, e2e.Object("reason", "not needed"))
			given := w.ask(201, "", "POST", path, `{"reset_lifetime_seconds":600,"reason":"forgot"}`).Field("reset_token")
			for token, status := range map[string]int{given: 204, account.NewResetToken().Reveal(): 403} {
				if got := w.c.Do("POST", "/v1/password-resets", e2e.Object("reset_token", token, "new_password", e2e.Passphrase+" new")); got.Status != status {
					w.t.Fatalf("got %d %s", got.Status, got.Body)
				}
			}
		},
		func(w *twin) {
			path := "/console/users/" + w.id("erin") + "/reset"
			give := func() string {
				return e2e.ResetText.FindString(w.form(201, path, "life", "600", "reason", "forgot"))
			}
			give()
			w.form(303, path+"/withdraw", "reason", "not needed")
			for token, status := range map[string]int{give(): 200, account.NewResetToken().Reveal(): 403} {
				w.form(status, "/console/password", "reset_token", token, "password", e2e.Passphrase+" new", "password_again", e2e.Passphrase+" new")
			}
		},
	},
	{
		"a link of a user who is disabled",
		func(w *twin) {
			given := w.ask(201, "", "POST", "/v1/admin/users/"+w.id("dora")+"/password-reset", "").Field("reset_token")
			w.c.Want(w.c.Do("POST", "/v1/password-resets", e2e.Object("reset_token", given, "new_password", e2e.Passphrase)), 403, "account_disabled")
		},
		func(w *twin) {
			given := e2e.ResetText.FindString(w.form(201, "/console/users/"+w.id("dora")+"/reset", "life", "86400"))
			w.form(403, "/console/password", "reset_token", given, "password", e2e.Passphrase, "password_again", e2e.Passphrase)
		},
	},
	{
		"all open links of an issuer, withdrawn",
		func(w *twin) {
			w.ask(201, "", "POST", "/v1/admin/users/"+w.id("bob")+"/password-reset", "")
			w.ask(200, "", "DELETE", "/v1/admin/users/"+w.id("ada")+"/issued-password-resets", e2e.Object("reason", "lost laptop"))
		},
		func(w *twin) {
			w.form(201, "/console/users/"+w.id("bob")+"/reset", "life", "86400")
			w.form(303, "/console/users/"+w.id("ada")+"/resets/withdraw", "reason", "lost laptop")
		},
	},
	{
		"a login of another that is ended",
		func(w *twin) {
			w.ask(204, "", "DELETE", "/v1/admin/sessions/"+w.session("bob"), e2e.Object("reason", "lost phone"))
		},
		func(w *twin) {
			w.form(303, "/console/logins/end", "id", w.session("bob"), "reason", "lost phone")
		},
	},
	{
		"the second factor of another, removed",
		func(w *twin) {
			e2e.EnrolByAPI(w.t, w.c, w.c.Login("gina", e2e.Passphrase), e2e.Passphrase)
			w.ask(204, "", "DELETE", "/v1/admin/users/"+w.id("gina")+"/second-factor", e2e.Object("reason", "lost phone"))
		},
		func(w *twin) {
			e2e.EnrolByAPI(w.t, w.c, w.c.Login("gina", e2e.Passphrase), e2e.Passphrase)
			w.form(303, "/console/users/"+w.id("gina")+"/second-factor", "reason", "lost phone")
		},
	},
	{
		"another policy",
		func(w *twin) {
			w.c.Want(w.c.Do("PUT", "/v1/admin/policy", `{"idle_timeout_seconds":1123200,"absolute_lifetime_seconds":2592000,"touch_interval_seconds":60,"sweep_schedule":"@every 1m","note":"shorter","confirm":true}`,
				e2e.Bearer(w.token), e2e.Header("If-Match", `"1"`)), 200, "")
		},
		func(w *twin) {
			w.form(303, "/console/expiry", "idle", "13d", "absolute", "30d", "touch", "1m", "schedule", "@every 1m", "version", "1", "note", "shorter", "do", "save")
		},
	},
	{
		"a wrong password of one's own",
		func(w *twin) {
			w.ask(403, "current_password_invalid", "PUT", "/v1/me/password", e2e.Object("current_password", "wrong", "new_password", e2e.Passphrase+" new"))
			w.ask(403, "current_password_invalid", "POST", "/v1/me/second-factor", e2e.Object("current_password", "wrong"))
		},
		func(w *twin) {
			w.form(403, "/console/account", "do", "password", "current_password", "wrong", "new_password", e2e.Passphrase+" new")
			w.form(403, "/console/account", "do", "enrol", "current_password", "wrong")
		},
	},
	{
		"a second factor of one's own",
		func(w *twin) {
			w.secret = w.ask(201, "", "POST", "/v1/me/second-factor", e2e.Object("current_password", e2e.Passphrase)).Field("secret")
			w.keepAnswer(w.ask(200, "", "POST", "/v1/me/second-factor/confirm", e2e.Object("code", e2e.NextCode(w.t, w.secret, 0))))
		},
		func(w *twin) {
			page := w.form(200, "/console/account", "do", "enrol", "current_password", e2e.Passphrase)
			w.secret = strings.ReplaceAll(secretOnPage.FindStringSubmatch(page)[1], " ", "")
			w.keepCodes(w.form(200, "/console/account", "do", "confirm", "code", e2e.NextCode(w.t, w.secret, 0)))
		},
	},
	{
		"new recovery codes",
		func(w *twin) {
			w.keepAnswer(w.ask(200, "", "POST", "/v1/me/second-factor/recovery-codes", e2e.Object("current_password", e2e.Passphrase, "code", w.recovery())))
		},
		func(w *twin) {
			w.keepCodes(w.form(200, "/console/account", "do", "renew", "current_password", e2e.Passphrase, "code", w.recovery()))
		},
	},
	{
		"a wrong code of one's own",
		func(w *twin) {
			w.ask(403, "current_code_invalid", "PUT", "/v1/me/password", e2e.Object("current_password", e2e.Passphrase, "new_password", e2e.Passphrase+" new", "code", "000000"))
		},
		func(w *twin) {
			w.form(403, "/console/account", "do", "password", "current_password", e2e.Passphrase, "new_password", e2e.Passphrase+" new", "code", "000000")
		},
	},
	{
		"another password of one's own",
		func(w *twin) {
			w.ask(204, "", "PUT", "/v1/me/password", e2e.Object("current_password", e2e.Passphrase, "new_password", e2e.Passphrase+" new", "code", w.recovery()))
		},
		func(w *twin) {
			w.form(303, "/console/account", "do", "password", "current_password", e2e.Passphrase, "new_password", e2e.Passphrase+" new", "code", w.recovery())
		},
	},
	{
		"a login without the code, with a wrong one, and with a recovery code",
		func(w *twin) {
			w.c.Want(w.c.TryLogin("ada", e2e.Passphrase+" new"), 401, "second_factor_required")
			w.c.Want(w.c.Do("POST", "/v1/login", e2e.Object("username", "ada", "password", e2e.Passphrase+" new", "code", "000000")), 401, "second_factor_invalid")
			w.token = w.c.Want(w.c.Do("POST", "/v1/login", e2e.Object("username", "ada", "password", e2e.Passphrase+" new", "code", w.recovery())), 200, "").Field("token")
		},
		func(w *twin) {
			w.token = ""
			page := w.form(200, "/console/login", "username", "ada", "password", e2e.Passphrase+" new")
			ticket := ticketOnPage.FindStringSubmatch(page)[1]
			w.form(401, "/console/login/code", "ticket", ticket, "code", "000000")
			w.form(303, "/console/login/code", "ticket", ticket, "code", w.recovery())
		},
	},
	{
		"one's own second factor, removed",
		func(w *twin) {
			w.ask(204, "", "DELETE", "/v1/me/second-factor", e2e.Object("current_password", e2e.Passphrase+" new", "code", w.recovery()))
		},
		func(w *twin) {
			w.form(303, "/console/account", "do", "remove", "current_password", e2e.Passphrase+" new", "code", w.recovery())
		},
	},
	{
		"a logout",
		func(w *twin) { w.c.Want(w.c.Logout(w.token), 204, "") },
		func(w *twin) { w.form(303, "/console/logout") },
	},
	{
		"all users logged out",
		func(w *twin) {
			w.token = w.c.Login("ada", e2e.Passphrase+" new")
			w.ask(200, "", "POST", "/v1/admin/logout-all", e2e.Object("reason", "an incident"))
		},
		func(w *twin) {
			w.token = ""
			w.form(303, "/console/login", "username", "ada", "password", e2e.Passphrase+" new")
			w.form(303, "/console/logins/end-all", "phrase", "log everybody out", "reason", "an incident")
		},
	},
}

// session is the ID of the login of a user.
func (w *twin) session(name string) string {
	w.t.Helper()
	return strconv.Itoa(e2e.Count(w.t, w.d.SQL(w.t), "SELECT token_id FROM users WHERE username = '"+name+"'"))
}

// entries are the record, each entry with all that does not differ by chance: an
// ID or an address is only there or not.
func (w *twin) entries(all string) (list []string) {
	w.t.Helper()
	// Repeated refusals are one entry a minute with their count: a minute that ends
	// in the middle makes two of one.
	counted := map[string]float64{}
	for line := range strings.Lines(all) {
		var e struct {
			Actor, Target       struct{ ID, Kind, Name string }
			Via, Action, Reason string
			RequestID           string `json:"request_id"`
			Address             string
			Old, New            map[string]any
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			w.t.Fatalf("%s: %v", line, err)
		}
		want := map[bool]string{false: "api", true: "console"}[w.console]
		if e.Via != want {
			continue // what the test does beside it
		}
		if strings.HasPrefix(e.Action, "access.") {
			e.Reason = "the route"
		}
		if w.console && e.Action == "login.began" { // the clients of the API say nothing of themselves here
			if e.New["device_class"] != "web" || e.New["device_name"] != "flakepass console" {
				w.t.Errorf("a login in the console is on a device %v", e.New)
			}
			e.New = nil
		}
		e.Reason = issuerInReason.ReplaceAllString(e.Reason, "issued by somebody")
		for _, values := range []map[string]any{e.Old, e.New} {
			for name := range values {
				if strings.HasSuffix(name, "_at") || strings.HasSuffix(name, "_id") || name == "issued_by" || name == "ended" || name == "ended_error" {
					values[name] = "something"
				}
			}
		}
		count, repeated := e.New["count"].(float64)
		delete(e.New, "count")
		before, _ := json.Marshal(e.Old)
		after, _ := json.Marshal(e.New)
		placed := e.Address != ""
		entry := fmt.Sprintf("%s: reason %q, actor %q (ID %v), target %s %q (ID %v), address %v, request %v, old %s, new %s", e.Action, e.Reason,
			e.Actor.Name, e.Actor.ID != "", e.Target.Kind, e.Target.Name, e.Target.ID != "", placed, e.RequestID != "", before, after)
		if repeated {
			counted[entry] += count
		} else {
			list = append(list, entry)
		}
	}
	for entry, count := range counted {
		list = append(list, fmt.Sprintf("%s, %v times", entry, count))
	}
	slices.Sort(list)
	return list
}

// sameRecord stops both, and fails the test unless they have the same on record.
func sameRecord(t *testing.T, api, console *twin, known func(entry string) bool) {
	t.Helper()
	var lists [2][]string
	for n, w := range []*twin{api, console} {
		if err := w.i.Stop(); err != nil {
			t.Fatal(err)
		}
		for _, e := range w.entries(e2e.Must(t, w.d.Vars, "", "audit", "--limit", "0", "--json").Out) {
			if !known(e) {
				lists[n] = append(lists[n], e)
			}
		}
	}
	if len(lists[0]) == 0 {
		t.Error("nothing is on record")
	}
	for _, e := range lists[0] {
		if n := slices.Index(lists[1], e); n >= 0 {
			lists[1] = slices.Delete(lists[1], n, n+1)
		} else {
			t.Errorf("over the API only:\n  %s", e)
		}
	}
	for _, e := range lists[1] {
		t.Errorf("in the console only:\n  %s", e)
	}
}

// TestConsoleAndAPIRecordTheSame: each act that both have is on record alike,
// field by field, whichever way it was done.
func TestConsoleAndAPIRecordTheSame(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("5a", 32)
	api, console := newTwin(t, false, "FLAKEPASS_SECOND_FACTOR_KEY", key), newTwin(t, true, "FLAKEPASS_SECOND_FACTOR_KEY", key)
	for _, a := range acts {
		t.Log(a.name)
		a.api(api)
		a.console(console)
	}
	// What the API is used for in both.
	beside := []string{`actor "bob"`, `actor "gina"`, `user.created: reason "", actor "dora"`}
	sameRecord(t, api, console, func(e string) bool {
		return slices.ContainsFunc(beside, func(text string) bool { return strings.Contains(e, text) }) && !strings.HasPrefix(e, "access.")
	})
	if got := e2e.Recorded(t, console.d.SQL(t), "access.forbidden"); len(got) != 1 || !strings.HasPrefix(got[0], "GET /console/users {") {
		t.Errorf("the route is on record as %q", got)
	}
	// Nor does an act that the log reports over the API go without its line here.
	for _, what := range []string{
		"user created", "user invited", "user changed", "password reset started", "password reset withdrawn", "password resets withdrawn", "password reset", "password not reset",
		"login ended", "second factor removed", "policy set", "all logins ended", "login", "login refused", "logout", "forbidden",
	} {
		for _, w := range []*twin{api, console} {
			line := regexp.MustCompile(`(?m)^.* msg=("` + what + `"|` + what + `) .*$`).FindString(w.i.Log.String())
			if !strings.Contains(line, " request_id=") || !strings.Contains(line, " from=127.") {
				t.Errorf("the log of %q has the line %q (console: %v)", what, line, w.console)
			}
		}
	}
}

// TestConsoleAndAPIRecordTheSameLimits: the limit that was reached is on record
// by its name.
func TestConsoleAndAPIRecordTheSameLimits(t *testing.T) {
	t.Parallel()
	api, console := newTwin(t, false, "FLAKEPASS_THROTTLE", "on"), newTwin(t, true, "FLAKEPASS_THROTTLE", "on")
	api.token = api.c.Login("ada", e2e.Passphrase)
	console.form(303, "/console/login", "username", "ada", "password", e2e.Passphrase)
	for range 8 {
		api.c.Do("PUT", "/v1/me/password", e2e.Object("current_password", "wrong", "new_password", e2e.Passphrase+" new"), e2e.Bearer(api.token))
		console.form(0, "/console/account", "do", "password", "current_password", "wrong", "new_password", e2e.Passphrase+" new")
		api.c.TryLogin("bob", "a wrong passphrase")
		kept := console.token
		console.token = ""
		console.form(0, "/console/login", "username", "bob", "password", "a wrong passphrase")
		console.token = kept
	}
	for range 40 {
		api.c.Do("POST", "/v1/password-resets", e2e.Object("reset_token", "x", "new_password", e2e.Passphrase))
		console.form(0, "/console/password", "reset_token", "x", "password", e2e.Passphrase, "password_again", e2e.Passphrase)
	}
	sameRecord(t, api, console, func(e string) bool { return strings.HasPrefix(e, "user.created") })
	for action, want := range map[string]string{"login.throttled": "rate_limited: login-place", "user.reset_refused": "rate_limited: reset"} {
		got := e2e.Recorded(t, console.d.SQL(t), action)
		if !slices.ContainsFunc(got, func(e string) bool { return strings.HasPrefix(e, want) }) {
			t.Errorf("%s is on record as %q, and not as %s", action, got, want)
		}
	}
}
