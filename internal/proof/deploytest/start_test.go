package deploytest

import (
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestServeFromNothing: with nothing configured the program starts, prints how
// to make the first admin, keeps its data over a restart, and answers
// the requests that are under way when it has to stop.
func TestServeFromNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := e2e.StartProcess(t, dir, e2e.AnyPort())
	if p.Link == "" {
		t.Fatalf("no link to create the first admin:\n%s", p.Out)
	}
	admin, user := e2e.NewPassword(), e2e.NewPassword()
	createAdmin(t, p.Link, "root", admin)
	c := e2e.NewClient(t, p.Public)
	if got := c.Alive(c.Login("root", admin)).Field("role"); got != "admin" {
		t.Errorf("the first admin has the role %q", got)
	}
	c.Want(c.Register("alice", user), 201, "")
	token := c.Login("alice", user)
	c.Alive(token)

	stopUnderWay(t, p, user)

	p = e2e.StartProcess(t, dir, e2e.AnyPort())
	if p.Link != "" {
		t.Errorf("there is an admin, and yet: %s", p.Out)
	}
	c = e2e.NewClient(t, p.Public)
	// Several logins have replaced it, and the row remembers the last.
	c.Dead(token, "token_invalid")
	c.Alive(c.Login("alice", user))
	p.Signal(t, syscall.SIGINT)
	if code := p.End(t); code != 0 {
		t.Errorf("exit code %d after SIGINT\n%s", code, p.Log)
	}
}

// createAdmin does what a person does in a browser, with a form.
func createAdmin(t *testing.T, link, name, password string) {
	t.Helper()
	send := func(method, address, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if body != "" {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		resp, err := (&http.Client{Timeout: e2e.Patience}).Do(req)
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
	status, page := send("GET", link, "")
	if status != 200 || !strings.Contains(page, `name="password"`) {
		t.Fatalf("the link opens %d\n%s", status, page)
	}
	address, code, _ := strings.Cut(link, "?code=")
	form := "code=" + code + "&username=" + name + "&password=" + strings.ReplaceAll(password, " ", "+")
	if status, page = send("POST", address, form); status != 200 || strings.Contains(page, password) {
		t.Fatalf("the form answers %d\n%s", status, page)
	}
	if status, _ = send("GET", link, ""); status != 410 {
		t.Errorf("the link opens again: %d", status)
	}
	if status, _ = send("POST", address, form); status != 410 {
		t.Errorf("the form works again: %d", status)
	}
}

// TestTwoLinksMakeOneAdmin: two instances on an empty database each give out a
// link, and both are used while passwords are being hashed.
func TestTwoLinksMakeOneAdmin(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	statuses := make(chan int, 2)
	var links []string
	for range cap(statuses) {
		i := d.Start(t)
		testenv.Eventually(t, e2e.Patience, func() bool { return e2e.Setup.MatchString(i.Out.String()) }, "there is a link")
		links = append(links, e2e.Setup.FindString(i.Out.String()))
	}
	for n, link := range links {
		address, code, _ := strings.Cut(link, "?code=")
		form := "code=" + code + "&username=root" + string(rune('a'+n)) + "&password=" + strings.ReplaceAll(e2e.NewPassword(), " ", "+")
		go func() {
			resp, err := (&http.Client{Timeout: e2e.Patience}).Post(address, "application/x-www-form-urlencoded", strings.NewReader(form)) //nolint:noctx // the client has a timeout
			if err != nil {
				statuses <- 0
				return
			}
			_ = resp.Body.Close()
			statuses <- resp.StatusCode
		}()
	}
	if one, other := <-statuses, <-statuses; one+other != 200+410 || one == other {
		t.Errorf("the forms answer %d and %d, want one 200 and one 410", one, other)
	}
	if n := e2e.Count(t, d.SQL(t), "SELECT COUNT(*) FROM users WHERE role = 'admin'"); n != 1 {
		t.Errorf("%d first admins", n)
	}
}

// TestBadConfigurationIsReportedAtOnce: all that is wrong, in one go, and no secret.
func TestBadConfigurationIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	r := e2e.Command(t, map[string]string{
		"FLAKEPASS_LISTEN":           "nowhere",
		"FLAKEPASS_REVOCATION_BOUND": "5",
		"FLAKEPASS_REGISTRATION":     "maybe",
		"FLAKEPASS_DATABASE":         "mysql://root:canary@host:port/name",
		"FLAKEPASS_REDSI":            "redis://x",
	}, "", "serve")
	if r.Code != 2 {
		t.Errorf("exit code %d, want 2", r.Code)
	}
	for _, name := range []string{"5 problems", "FLAKEPASS_LISTEN", "FLAKEPASS_REVOCATION_BOUND", "FLAKEPASS_REGISTRATION",
		"FLAKEPASS_DATABASE", "FLAKEPASS_REDSI"} {
		if !strings.Contains(r.Errs, name) {
			t.Errorf("nothing about %s in:\n%s", name, r.Errs)
		}
	}
	if strings.Contains(r.Errs+r.Out, "canary") {
		t.Errorf("the password is shown:\n%s", r.Errs)
	}
}

// TestPortInUseIsASentence: also when it is the second port that is taken.
func TestPortInUseIsASentence(t *testing.T) {
	t.Parallel()
	p := e2e.StartProcess(t, t.TempDir(), e2e.AnyPort())
	for _, variable := range []string{"FLAKEPASS_LISTEN", "FLAKEPASS_OPS_LISTEN"} {
		vars := e2e.AnyPort()
		vars["FLAKEPASS_DATA_DIR"] = t.TempDir()
		vars[variable] = p.Public
		r := e2e.Command(t, vars, "", "serve")
		if r.Code != 1 || !strings.Contains(r.Errs, "cannot listen on "+p.Public) || !strings.Contains(r.Errs, "set "+variable) {
			t.Errorf("%s: exit code %d\n%s", variable, r.Code, r.Errs)
		}
	}
}

// BenchmarkStart reports how long it takes from the start of the process until
// it is ready: "new" makes the database, "again" finds it there.
func BenchmarkStart(b *testing.B) {
	e2e.Binary(b) // built before anything is measured
	for _, again := range []bool{false, true} {
		name := map[bool]string{false: "new", true: "again"}[again]
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			if again {
				quit(b, e2e.StartProcess(b, dir, e2e.AnyPort()))
			}
			for b.Loop() {
				b.StopTimer()
				if !again {
					dir = b.TempDir()
				}
				b.StartTimer()
				p := e2e.StartProcess(b, dir, e2e.AnyPort())
				b.StopTimer()
				quit(b, p)
				b.StartTimer()
			}
		})
	}
}

func quit(t testing.TB, p *e2e.Process) {
	t.Helper()
	p.Signal(t, syscall.SIGTERM)
	if code := p.End(t); code != 0 {
		t.Fatalf("exit code %d\n%s", code, p.Log)
	}
}

func TestBenchmarksRun(t *testing.T) { t.Parallel(); testenv.Benchmarks(t) }
