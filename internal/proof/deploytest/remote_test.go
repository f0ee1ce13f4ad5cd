package deploytest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/proof/testenv/faultproxy"
)

// An example is cmd/example-api, or another one, as a process of its own.
type example struct {
	t    *testing.T
	base string
	http *http.Client
	out  *testenv.Journal
	log  *testenv.Journal
}

var exampleLine = regexp.MustCompile(`listening on (http://\S+)`)

// startExample runs the example in front of the server at that address.
func startExample(t *testing.T, server, key string) *example {
	t.Helper()
	return startExampleOf(t, "example-api", server, key)
}

func startExampleOf(t *testing.T, name, server, key string) *example {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-tags", "nomsgpack", "-o", path, "../../../cmd/"+name).CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	e := &example{t: t, out: &testenv.Journal{}, log: &testenv.Journal{}, http: &http.Client{Timeout: e2e.Patience}}
	ctx, kill := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, path)
	cmd.Env = e2e.Environ(map[string]string{"FLAKEPASS_URL": "http://" + server, "FLAKEPASS_KEY": key, "LISTEN": "127.0.0.1:0"})
	cmd.Stdout, cmd.Stderr = e.out, e.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(); _ = cmd.Wait(); e.http.CloseIdleConnections() })
	testenv.Eventually(t, e2e.Patience, func() bool {
		line := exampleLine.FindStringSubmatch(e.out.String())
		if line != nil {
			e.base = line[1]
		}
		return line != nil
	}, "the example listens")
	return e
}

// hello is what the example answers the holder of that token.
func (e *example) hello(token string) (status int, body string) {
	e.t.Helper()
	req, err := http.NewRequestWithContext(e.t.Context(), http.MethodGet, e.base+"/hello", nil)
	if err != nil {
		e.t.Fatal(err)
	}
	e2e.Bearer(token)(req)
	resp, err := e.http.Do(req)
	if err != nil {
		e.t.Fatalf("hello: %v\n%s", err, e.log)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		e.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// dies fails the test if the token is accepted later than the bound after its
// end was acknowledged, or if anything but want is said in the end.
func (e *example) dies(token string, acknowledged time.Time, want int) {
	e.t.Helper()
	testenv.Eventually(e.t, e2e.Patience, func() bool {
		asked := time.Now()
		status, _ := e.hello(token)
		if late := asked.Sub(acknowledged); status == 200 && late >= e2e.Bound {
			e.t.Fatalf("accepted %v after the logout was acknowledged", late)
		}
		return status == want && asked.Sub(acknowledged) >= e2e.Bound
	}, "the token is refused")
}

// withoutFlakepass asks until it is undecided, and returns how often the token was
// good until then: later than the bound it must not be.
func (e *example) withoutFlakepass(token string) (good int) {
	e.t.Helper()
	stopped := time.Now()
	testenv.Eventually(e.t, e2e.Patience, func() bool {
		asked := time.Now()
		status, _ := e.hello(token)
		switch {
		case status == 200 && asked.Sub(stopped) > e2e.Bound:
			e.t.Fatalf("accepted %v after flakepass stood still", asked.Sub(stopped))
		case status == 200:
			good++
		case status != 503:
			e.t.Fatalf("%d while flakepass stands still", status)
		}
		return status == 503
	}, "it is undecided")
	return good
}

// TestRemoteInAnotherProcess: a service that has nothing but the URL of
// flakepass, and what its users see when something breaks.
func TestRemoteInAnotherProcess(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	p := e2e.StartProcess(t, t.TempDir(), d.Vars)
	c := e2e.NewClient(t, p.Public)
	link := faultproxy.New(t, p.Public)
	e2e.NewAdmin(t, d, "orders", account.RoleService)
	var made struct{ Key string }
	if err := json.Unmarshal([]byte(e2e.Must(t, d.Vars, "", "key", "add", "orders", "example", "--scope", "verify", "--json").Out), &made); err != nil {
		t.Fatal(err)
	}
	e := startExample(t, link.Addr, made.Key)

	alice, password := d.Person(t, c, "alice", "user")
	use := func(token string, d time.Duration) {
		t.Helper()
		for end := time.Now().Add(d); time.Now().Before(end); {
			// On a machine that stands still now and then, it may be undecided.
			if status, body := e.hello(token); status != 503 && (status != 200 || body != "hello alice") {
				t.Fatalf("%d %s\n%s", status, body, e.log)
			}
			<-time.After(20 * time.Millisecond)
		}
	}
	use(alice, 2*e2e.Bound)
	c.Want(c.Logout(alice), 204, "")
	e.dies(alice, time.Now(), 401)

	// flakepass stands still: what is in use is good for a while, then it is
	// undecided, and never 401.
	alice = c.Login("alice", password)
	// On a machine that stands still in between nothing is good for any time, and
	// it is done again.
	testenv.Eventually(t, e2e.Patience, func() bool {
		use(alice, 2*e2e.Bound)
		p.Signal(t, syscall.SIGSTOP)
		good := e.withoutFlakepass(alice)
		p.Signal(t, syscall.SIGCONT)
		testenv.Eventually(t, e2e.Patience, func() bool { status, _ := e.hello(alice); return status == 200 }, "all is well again")
		return good > 0
	}, "something is good for a time without flakepass")

	// The stream is cut, and comes back.
	use(alice, 2*e2e.Bound)
	link.Reset()
	c.Want(c.Logout(alice), 204, "")
	e.dies(alice, time.Now(), 401)

	// Nothing passes any more, and no error is returned.
	alice = c.Login("alice", password)
	use(alice, 2*e2e.Bound)
	link.Cut(faultproxy.Both)
	c.Want(c.Logout(alice), 204, "")
	e.dies(alice, time.Now(), 503)
	link.Heal()
	testenv.Eventually(t, e2e.Patience, func() bool { status, _ := e.hello(alice); return status == 401 }, "the end is known")
}
