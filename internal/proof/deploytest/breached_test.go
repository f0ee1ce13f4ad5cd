package deploytest

import (
	"crypto/sha1"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/e2e"
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

// TestStolenPasswordsAreRefusedEverywhere: at every endpoint at which a user gets
// a password, and at none at which it is shown.
func TestStolenPasswordsAreRefusedEverywhere(t *testing.T) {
	t.Parallel()
	stolen := e2e.NewPassword()
	d := e2e.OnSQLite(t)
	d.Vars["FLAKEPASS_BREACHED_PASSWORDS"] = stolenList(t, stolen)
	i := d.Start(t)
	c := e2e.NewClient(t, i.Public)
	breached := func(a e2e.Answer) {
		t.Helper()
		c.Want(a, 422, "validation_failed")
		if !strings.Contains(string(a.Body), `"code":"breached"`) {
			t.Errorf("%s", a.Body)
		}
	}

	testenv.Eventually(t, e2e.Patience, func() bool { return e2e.SetupLink.MatchString(i.Out.String()) }, "there is a link")
	link, err := url.Parse(e2e.SetupLink.FindString(i.Out.String()))
	if err != nil {
		t.Fatal(err)
	}
	form := url.Values{"code": {link.Query().Get("code")}, "username": {"root"}, "password": {stolen}}
	if status, page := e2e.PostForm(t, "http://"+i.Public+"/console/setup", form); status != 422 || !strings.Contains(page, "list of stolen passphrases") {
		t.Errorf("the first admin: %d\n%s", status, page)
	}

	password := e2e.NewPassword()
	if r := e2e.Command(t, d.Vars, stolen+"\n", "user", "add", "root", "--role", "admin", "--password-stdin"); r.Code != 1 ||
		!strings.Contains(r.Errs, "list of stolen passwords") {
		t.Errorf("user add: %d %s", r.Code, r.Errs)
	}
	e2e.Must(t, d.Vars, password+"\n", "user", "add", "root", "--role", "admin", "--password-stdin")
	if r := e2e.Command(t, d.Vars, stolen+"\n", "user", "passwd", "root", "--password-stdin"); r.Code != 1 ||
		!strings.Contains(r.Errs, "list of stolen passwords") {
		t.Errorf("user passwd: %d %s", r.Code, r.Errs)
	}
	breached(c.Register("alice", stolen))
	admin := c.Login("root", password)
	breached(c.Do("POST", "/v1/admin/users", e2e.Object("username", "bob", "password", stolen, "role", "user"), e2e.Bearer(admin)))
	breached(c.Do("PUT", "/v1/me/password", e2e.Object("current_password", password, "new_password", stolen), e2e.Bearer(admin)))
	made := c.Want(c.Do("POST", "/v1/admin/users", `{"username":"oscar","role":"user"}`, e2e.Bearer(admin)), 201, "")
	given, _ := made.Fields["password_reset"].(map[string]any)
	reset := fmt.Sprint(given["reset_token"])
	breached(c.Do("POST", "/v1/password-resets", e2e.Object("reset_token", reset, "new_password", stolen)))
	form = url.Values{"reset_token": {reset}, "password": {stolen}, "password_again": {stolen}}
	if status, page := e2e.PostForm(t, "http://"+i.Public+"/console/password", form); status != 422 || !strings.Contains(page, "list of stolen passphrases") {
		t.Errorf("by a one-time link: %d\n%s", status, page)
	}
	_, codes := e2e.EnrolByAPI(t, c, admin, password)
	breached(c.Do("PUT", "/v1/me/password", e2e.Object("current_password", password, "new_password", stolen, "code", fmt.Sprint(codes[0])), e2e.Bearer(admin)))
	c.Alive(admin)

	// A command that sets no password does not need the list.
	d.Vars["FLAKEPASS_BREACHED_PASSWORDS"] = filepath.Join(t.TempDir(), "gone")
	e2e.Must(t, d.Vars, "", "user", "list")
	e2e.Must(t, d.Vars, "", "user", "logout", "root")
	if r := e2e.Command(t, d.Vars, password+"\n", "user", "passwd", "root", "--password-stdin"); r.Code != 1 ||
		!strings.Contains(r.Errs, "FLAKEPASS_BREACHED_PASSWORDS") {
		t.Errorf("user passwd without the list: %d %s", r.Code, r.Errs)
	}
}

// TestBrokenListAcceptsAndReports: while the server runs, a list that cannot be read
// keeps no user from a password; the log has one line, the metric each time.
func TestBrokenListAcceptsAndReports(t *testing.T) {
	t.Parallel()
	d, path := e2e.OnSQLite(t), stolenList(t)
	i := d.Start(t, "FLAKEPASS_BREACHED_PASSWORDS", path)
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	c := e2e.NewClient(t, i.Public)
	for n := range 3 {
		c.Want(c.Register(fmt.Sprintf("alice%d", n), e2e.NewPassword()), 201, "")
	}
	const metric = "flakepass_breached_list_failures_total"
	text := e2e.Metrics(t, i.Ops)
	if n := gauge(t, text, metric); n < 3 {
		t.Errorf("%v failures", n)
	}
	if n := strings.Count(i.Log.String(), "accepted without it"); n != 1 {
		t.Errorf("%d lines in the log\n%s", n, i.Log)
	}
	doc, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	_, help, _ := strings.Cut(string(text), "# HELP "+metric+" ")
	help, _, _ = strings.Cut(help, "\n")
	if !strings.Contains(string(doc), "| `"+metric+"` | counter | "+help+" |\n") {
		t.Errorf("docs/metrics.md lacks %s: %s", metric, help)
	}
}

// TestUselessListIsReportedWithoutAPassword: the log says that a new list cannot be used although
// nobody sets a password. It was silent until somebody did.
func TestUselessListIsReportedWithoutAPassword(t *testing.T) {
	t.Parallel()
	d, path := e2e.OnSQLite(t), stolenList(t)
	i := d.Start(t, "FLAKEPASS_BREACHED_PASSWORDS", path)
	if err := os.WriteFile(path+".new", []byte("<html>not found</html>"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, e2e.Patience, func() bool { return strings.Contains(i.Log.String(), "a new list of stolen passwords is not used") }, "the log says nothing")
}

// TestServeRefusesWhatIsNoList: with a sentence that says what to take.
func TestServeRefusesWhatIsNoList(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "words.txt")
	if err := os.WriteFile(path, []byte("password\n123456\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := e2e.Command(t, e2e.OnSQLite(t).With("FLAKEPASS_BREACHED_PASSWORDS", path), "", "serve")
	if r.Code != 1 || !strings.Contains(r.Errs, "FLAKEPASS_BREACHED_PASSWORDS") || !strings.Contains(r.Errs, "ordered by hash") {
		t.Errorf("%d: %s", r.Code, r.Errs)
	}
}
