package main

import (
	"crypto/sha1"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// stolenList is a file with these passwords, as Pwned Passwords has them.
func stolenList(t testing.TB, passwords ...string) string {
	t.Helper()
	lines := make([]string, 1000)
	for i := range lines {
		lines[i] = fmt.Sprintf("%X:%d\r\n", sha1.Sum(fmt.Append(nil, i)), i+1)
	}
	for _, p := range passwords {
		lines = append(lines, fmt.Sprintf("%X:3\r\n", sha1.Sum([]byte(p))))
	}
	slices.Sort(lines)
	path := filepath.Join(t.TempDir(), "pwned.txt")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestStolenPasswordsAreRefusedEverywhere: at every door at which somebody gets
// a password, and at none at which it is shown.
func TestStolenPasswordsAreRefusedEverywhere(t *testing.T) {
	t.Parallel()
	stolen := newPassword()
	d := onSQLite(t)
	d.vars["FLAKEPASS_BREACHED_PASSWORDS"] = stolenList(t, stolen)
	i := d.start(t)
	c := newClient(t, i.public)
	breached := func(a answer) {
		t.Helper()
		c.want(a, 422, "validation_failed")
		if !strings.Contains(string(a.body), `"code":"breached"`) {
			t.Errorf("%s", a.body)
		}
	}

	testenv.Eventually(t, patience, func() bool { return setupLink.MatchString(i.out.String()) }, "there is a link")
	link, err := url.Parse(setupLink.FindString(i.out.String()))
	if err != nil {
		t.Fatal(err)
	}
	form := url.Values{"code": {link.Query().Get("code")}, "username": {"root"}, "password": {stolen}}
	if status, page := postForm(t, "http://"+i.public+"/console/setup", form); status != 422 || !strings.Contains(page, "list of stolen passphrases") {
		t.Errorf("the first admin: %d\n%s", status, page)
	}

	password := newPassword()
	if r := command(t, d.vars, stolen+"\n", "user", "add", "root", "--role", "admin", "--password-stdin"); r.code != 1 ||
		!strings.Contains(r.errs, "list of stolen passwords") {
		t.Errorf("user add: %d %s", r.code, r.errs)
	}
	must(t, d.vars, password+"\n", "user", "add", "root", "--role", "admin", "--password-stdin")
	if r := command(t, d.vars, stolen+"\n", "user", "passwd", "root", "--password-stdin"); r.code != 1 ||
		!strings.Contains(r.errs, "list of stolen passwords") {
		t.Errorf("user passwd: %d %s", r.code, r.errs)
	}
	breached(c.register("alice", stolen))
	admin := c.login("root", password)
	breached(c.do("POST", "/v1/admin/users", object("username", "bob", "password", stolen, "role", "user"), bearer(admin)))
	breached(c.do("PUT", "/v1/me/password", object("current_password", password, "new_password", stolen), bearer(admin)))
	made := c.want(c.do("POST", "/v1/admin/users", `{"username":"oscar","role":"user"}`, bearer(admin)), 201, "")
	given, _ := made.fields["password_reset"].(map[string]any)
	reset := fmt.Sprint(given["reset_token"])
	breached(c.do("POST", "/v1/password-resets", object("reset_token", reset, "new_password", stolen)))
	form = url.Values{"reset_token": {reset}, "password": {stolen}, "password_again": {stolen}}
	if status, page := postForm(t, "http://"+i.public+"/console/password", form); status != 422 || !strings.Contains(page, "list of stolen passphrases") {
		t.Errorf("by a one-time link: %d\n%s", status, page)
	}
	_, codes := enrolByAPI(t, c, admin, password)
	breached(c.do("PUT", "/v1/me/password", object("current_password", password, "new_password", stolen, "code", fmt.Sprint(codes[0])), bearer(admin)))
	c.alive(admin)

	// A command that sets no password does not need the list.
	d.vars["FLAKEPASS_BREACHED_PASSWORDS"] = filepath.Join(t.TempDir(), "gone")
	must(t, d.vars, "", "user", "list")
	must(t, d.vars, "", "user", "logout", "root")
	if r := command(t, d.vars, password+"\n", "user", "passwd", "root", "--password-stdin"); r.code != 1 ||
		!strings.Contains(r.errs, "FLAKEPASS_BREACHED_PASSWORDS") {
		t.Errorf("user passwd without the list: %d %s", r.code, r.errs)
	}
}

// postForm sends what a page of the console would.
func postForm(t testing.TB, address string, form url.Values) (status int, page string) {
	t.Helper()
	resp, err := (&http.Client{Timeout: patience}).PostForm(address, form) //nolint:noctx // the client has a timeout
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// TestBrokenListAcceptsAndTells: while the server runs, a list that cannot be read
// keeps nobody from a password; the log has one line, the metric each time.
func TestBrokenListAcceptsAndTells(t *testing.T) {
	t.Parallel()
	d, path := onSQLite(t), stolenList(t)
	i := d.start(t, "FLAKEPASS_BREACHED_PASSWORDS", path)
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	c := newClient(t, i.public)
	for n := range 3 {
		c.want(c.register(fmt.Sprintf("alice%d", n), newPassword()), 201, "")
	}
	const metric = "flakepass_breached_list_failures_total"
	text := metrics(t, i.ops)
	if n := gauge(t, text, metric); n < 3 {
		t.Errorf("%v failures", n)
	}
	if n := strings.Count(i.log.String(), "accepted without it"); n != 1 {
		t.Errorf("%d lines in the log\n%s", n, i.log)
	}
	doc, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	_, help, _ := strings.Cut(string(text), "# HELP "+metric+" ")
	help, _, _ = strings.Cut(help, "\n")
	if !strings.Contains(string(doc), "| `"+metric+"` | counter | "+help+" |\n") {
		t.Errorf("docs/metrics.md lacks %s: %s", metric, help)
	}
}

// TestServeRefusesWhatIsNoList: with a sentence that says what to take.
func TestServeRefusesWhatIsNoList(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "words.txt")
	if err := os.WriteFile(path, []byte("password\n123456\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := command(t, onSQLite(t).with("FLAKEPASS_BREACHED_PASSWORDS", path), "", "serve")
	if r.code != 1 || !strings.Contains(r.errs, "FLAKEPASS_BREACHED_PASSWORDS") || !strings.Contains(r.errs, "ordered by hash") {
		t.Errorf("%d: %s", r.code, r.errs)
	}
}
