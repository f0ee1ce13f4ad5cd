package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestRemoteShowsNoToken: no command that uses the login prints its secret, on
// success or on failure, and none has it on its command line, which everybody on
// the machine can read.
func TestRemoteShowsNoToken(t *testing.T) {
	t.Parallel()
	d := onSQLite(t)
	i := d.start(t)
	password := newPassword()
	must(t, d.vars, password+"\n", "user", "add", "root", "--role", "admin", "--password-stdin")
	home := t.TempDir()
	vars := map[string]string{"HOME": home, "XDG_CONFIG_HOME": home}
	var said strings.Builder
	run := func(args ...string) {
		r := command(t, vars, password+"\n", append([]string{"remote"}, args...)...)
		said.WriteString(r.out + r.errs)
	}
	run("login", "http://"+i.public, "root", "--password-stdin")
	first, err := os.ReadFile(filepath.Join(home, "flakepass", "remote.json"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := parseTarget("x", first)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		"whoami", "whoami --json", "policy get --json", "policy history", "policy set --idle 9d", "user list --json", "user add x", "session list --json",
		"session end " + f.Token.ID().String() + " --reason x", "whoami", "stats", "audit --json", "logout", "whoami",
	} {
		run(strings.Fields(args)...)
	}
	secret := f.Token.Reveal()[14:40]
	if strings.Contains(said.String(), secret) || strings.Contains(said.String(), password) {
		t.Errorf("a secret was printed:\n%s", said.String())
	}
	if !strings.Contains(said.String(), "token_revoked") || !strings.Contains(said.String(), "logged in to") {
		t.Errorf("the commands said:\n%s", said.String())
	}
}

// TestRemoteKeepsTheTokenOffTheCommandLine looks at a process that is waiting for
// its answer.
func TestRemoteKeepsTheTokenOffTheCommandLine(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("looks into /proc")
	}
	token := flakepass.NewToken(7).Reveal()
	asked, over := make(chan string, 8), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Get("Authorization")
		select {
		case <-over:
		case <-r.Context().Done():
		}
	}))
	defer s.Close()
	defer close(over)
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	cmd := exec.CommandContext(ctx, binary(t), "remote", "whoami")
	cmd.Env = environ(map[string]string{remoteURL: s.URL, remoteToken: token, "HOME": t.TempDir()})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { kill(); _ = cmd.Wait() }()
	testenv.Eventually(t, patience, func() bool {
		select {
		case header := <-asked:
			if header != "Bearer "+token {
				t.Error("the token of the environment was not sent")
			}
			return true
		default:
			return false
		}
	}, "the command asks")
	line, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(line), token) || !strings.Contains(string(line), "whoami") {
		t.Errorf("the command line is %q", line)
	}
}

// TestRemoteRefusesToSendInTheClear: whatever the way to write a host that is not
// this machine.
func TestRemoteRefusesToSendInTheClear(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]bool{
		"https://auth.example.org": true, "https://10.0.0.1:8443/below": true, "http://127.0.0.1:8080": true, "http://localhost": true, "http://[::1]:80": true,
		"http://127.1.2.3": true,
		"http://auth":      false, "http://10.0.0.1": false, "http://localhost.example.org": false, "http://127.0.0.1.example.org": false,
		"http://2130706433": false, "http://0.0.0.0:8080": false, "http://[::]": false, "HTTP://auth": false, "http://127.0.0.1@auth": false,
		"http://user:x@127.0.0.1": false, "ftp://127.0.0.1": false, "": false, "auth": false, "https://": false, "https://a?x": false,
	} {
		if err := checkURL(url, false); (err == nil) != want {
			t.Errorf("%q: %v", url, err)
		}
	}
	if err := checkURL("http://auth", true); err != nil {
		t.Errorf("--insecure: %v", err)
	}
}

// FuzzTarget: what is read of the file is a server and its token, or an error
// that repeats neither.
func FuzzTarget(f *testing.F) {
	f.Add([]byte(`{"url":"https://auth.example.org","username":"root","token":"` + flakepass.NewToken(7).Reveal() + `"}`))
	f.Add([]byte(`{"url":"https://a:b@c","username":"root","token":"fp_canary"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := parseTarget("path", b)
		switch {
		case err == nil && (got.Token.IsZero() || got.Username == "" || checkURL(got.URL, true) != nil):
			t.Errorf("half a target: %+v", got)
		case err != nil && err.Error() != "path is damaged; remove it, and say `flakepass remote login URL NAME`":
			t.Errorf("the error is %q", err)
		}
	})
}
