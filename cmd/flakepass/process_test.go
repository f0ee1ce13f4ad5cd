package main

import (
	"context"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// A process is the program as an operator runs it.
type process struct {
	public, ops, link string
	out, log          *testenv.Journal
	cmd               *exec.Cmd
	ended             chan struct{} // closed when the process is gone
}

var (
	apiLine = regexp.MustCompile(`API +https?://(\S+)`)
	opsLine = regexp.MustCompile(`ops +http://(\S+)`)
	setup   = regexp.MustCompile(`http://\S+/console/setup\?code=\S+`)
)

// startProcess runs `flakepass serve` in dir with those variables and no
// others, until it prints where it listens.
func startProcess(t testing.TB, dir string, vars map[string]string) *process {
	t.Helper()
	return startProgram(t, binary(t), dir, vars)
}

// startProgram is startProcess for the program at path.
func startProgram(t testing.TB, path, dir string, vars map[string]string) *process {
	t.Helper()
	p := &process{out: &testenv.Journal{}, log: &testenv.Journal{}, ended: make(chan struct{})}
	ctx, kill := context.WithCancel(context.WithoutCancel(t.Context()))
	p.cmd = exec.CommandContext(ctx, path, "serve")
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = dir, environ(vars), p.out, p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { defer close(p.ended); _ = p.cmd.Wait() }()
	t.Cleanup(func() {
		kill()
		<-p.ended
		noToken(t, "what a server printed", p.out.String()+p.log.String())
	})
	testenv.Eventually(t, patience, func() bool {
		select {
		case <-p.ended:
			t.Fatalf("exit code %d\n%s%s", p.cmd.ProcessState.ExitCode(), p.out, p.log)
		default:
		}
		out := p.out.String()
		public, ops := apiLine.FindStringSubmatch(out), opsLine.FindStringSubmatch(out)
		if public == nil || ops == nil || !strings.Contains(out, "worker number") {
			return false
		}
		p.public, p.ops = public[1], ops[1]
		return true
	}, "the program does not say where it listens")
	c := newClient(t, p.ops)
	testenv.Eventually(t, patience, func() bool { return c.do("GET", "/readyz", "").status == 200 }, "the program is not ready")
	p.link = setup.FindString(p.out.String()) // printed in one go with the addresses
	return p
}

// end waits for the end of the process and returns its exit code.
func (p *process) end(t testing.TB) int {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatalf("the process does not end\n%s", p.log)
	}
	return p.cmd.ProcessState.ExitCode()
}

func (p *process) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// anyPort is all that has to be set where the default ports may be taken, and
// where all who log in come from one address.
func anyPort() map[string]string {
	return map[string]string{"FLAKEPASS_LISTEN": "127.0.0.1:0", "FLAKEPASS_OPS_LISTEN": "127.0.0.1:0", "FLAKEPASS_THROTTLE": "off"}
}

// TestServeFromNothing: with nothing configured the program starts, tells how
// to make the first admin, keeps what it was told over a restart, and answers
// the requests that are under way when it is told to stop.
func TestServeFromNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startProcess(t, dir, anyPort())
	if p.link == "" {
		t.Fatalf("no link to create the first admin:\n%s", p.out)
	}
	admin, user := newPassword(), newPassword()
	createAdmin(t, p.link, "root", admin)
	c := newClient(t, p.public)
	if got := c.alive(c.login("root", admin)).field("role"); got != "admin" {
		t.Errorf("the first admin has the role %q", got)
	}
	c.want(c.register("alice", user), 201, "")
	token := c.login("alice", user)
	c.alive(token)

	stopUnderWay(t, p, user)

	p = startProcess(t, dir, anyPort())
	if p.link != "" {
		t.Errorf("there is an admin, and yet: %s", p.out)
	}
	c = newClient(t, p.public)
	// Several logins have replaced it, and the row remembers the last.
	c.dead(token, "token_invalid")
	c.alive(c.login("alice", user))
	p.signal(t, syscall.SIGINT)
	if code := p.end(t); code != 0 {
		t.Errorf("exit code %d after SIGINT\n%s", code, p.log)
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
		resp, err := (&http.Client{Timeout: patience}).Do(req)
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
	d := onSQLite(t)
	statuses := make(chan int, 2)
	var links []string
	for range cap(statuses) {
		i := d.start(t)
		testenv.Eventually(t, patience, func() bool { return setup.MatchString(i.out.String()) }, "there is a link")
		links = append(links, setup.FindString(i.out.String()))
	}
	for n, link := range links {
		address, code, _ := strings.Cut(link, "?code=")
		form := "code=" + code + "&username=root" + string(rune('a'+n)) + "&password=" + strings.ReplaceAll(newPassword(), " ", "+")
		go func() {
			resp, err := (&http.Client{Timeout: patience}).Post(address, "application/x-www-form-urlencoded", strings.NewReader(form)) //nolint:noctx // the client has a timeout
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
	if n := count(t, d.sql(t), "SELECT COUNT(*) FROM users WHERE role = 'admin'"); n != 1 {
		t.Errorf("%d first admins", n)
	}
}

// TestBadConfigurationIsToldAtOnce: all that is wrong, in one go, and no secret.
func TestBadConfigurationIsToldAtOnce(t *testing.T) {
	t.Parallel()
	r := command(t, map[string]string{
		"FLAKEPASS_LISTEN":           "nowhere",
		"FLAKEPASS_REVOCATION_BOUND": "5",
		"FLAKEPASS_REGISTRATION":     "maybe",
		"FLAKEPASS_DATABASE":         "mysql://root:canary@host:port/name",
		"FLAKEPASS_REDSI":            "redis://x",
	}, "", "serve")
	if r.code != 2 {
		t.Errorf("exit code %d, want 2", r.code)
	}
	for _, name := range []string{"5 problems", "FLAKEPASS_LISTEN", "FLAKEPASS_REVOCATION_BOUND", "FLAKEPASS_REGISTRATION",
		"FLAKEPASS_DATABASE", "FLAKEPASS_REDSI"} {
		if !strings.Contains(r.errs, name) {
			t.Errorf("nothing about %s in:\n%s", name, r.errs)
		}
	}
	if strings.Contains(r.errs+r.out, "canary") {
		t.Errorf("the password is shown:\n%s", r.errs)
	}
}

// TestPortInUseIsASentence: also when it is the second port that is taken.
func TestPortInUseIsASentence(t *testing.T) {
	t.Parallel()
	p := startProcess(t, t.TempDir(), anyPort())
	for _, variable := range []string{"FLAKEPASS_LISTEN", "FLAKEPASS_OPS_LISTEN"} {
		vars := anyPort()
		vars["FLAKEPASS_DATA_DIR"] = t.TempDir()
		vars[variable] = p.public
		r := command(t, vars, "", "serve")
		if r.code != 1 || !strings.Contains(r.errs, "cannot listen on "+p.public) || !strings.Contains(r.errs, "set "+variable) {
			t.Errorf("%s: exit code %d\n%s", variable, r.code, r.errs)
		}
	}
}

// BenchmarkStart reports how long it takes from the start of the process until
// it is ready: "new" makes the database, "again" finds it there.
func BenchmarkStart(b *testing.B) {
	binary(b) // built before anything is measured
	for _, again := range []bool{false, true} {
		name := map[bool]string{false: "new", true: "again"}[again]
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			if again {
				startProcess(b, dir, anyPort()).quit(b)
			}
			for b.Loop() {
				b.StopTimer()
				if !again {
					dir = b.TempDir()
				}
				b.StartTimer()
				p := startProcess(b, dir, anyPort())
				b.StopTimer()
				p.quit(b)
				b.StartTimer()
			}
		})
	}
}

func (p *process) quit(t testing.TB) {
	t.Helper()
	p.signal(t, syscall.SIGTERM)
	if code := p.end(t); code != 0 {
		t.Fatalf("exit code %d\n%s", code, p.log)
	}
}

func TestBenchmarksRun(t *testing.T) { t.Parallel(); testenv.Benchmarks(t) }
