package commandtest

import (
	"context"
	"encoding/json"
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
	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestRemoteShowsNoToken: no command that uses the login prints its secret, on
// success or on failure, and none has it on its command line, which everybody on
// the machine can read.
func TestRemoteShowsNoToken(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	i := d.Start(t)
	password := e2e.NewPassword()
	e2e.Must(t, d.Vars, password+"\n", "user", "add", "root", "--role", "admin", "--password-stdin")
	home := t.TempDir()
	vars := map[string]string{"HOME": home, "XDG_CONFIG_HOME": home}
	var said strings.Builder
	run := func(args ...string) {
		r := e2e.Command(t, vars, password+"\n", append([]string{"remote"}, args...)...)
		said.WriteString(r.Out + r.Errs)
	}
	run("login", "http://"+i.Public, "root", "--password-stdin")
	first, err := os.ReadFile(filepath.Join(home, "flakepass", "remote.json"))
	if err != nil {
		t.Fatal(err)
	}
	var f struct{ Token string }
	if err := json.Unmarshal(first, &f); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		"whoami", "whoami --json", "policy get --json", "policy history", "policy set --idle 9d", "user list --json", "user add x", "session list --json",
		"session end " + e2e.IDOf(f.Token) + " --reason x", "whoami", "stats", "audit --json", "logout", "whoami",
	} {
		run(strings.Fields(args)...)
	}
	secret := f.Token[14:40]
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
	cmd := exec.CommandContext(ctx, e2e.Binary(t), "remote", "whoami")
	cmd.Env = e2e.Environ(map[string]string{"FLAKEPASS_REMOTE_URL": s.URL, "FLAKEPASS_REMOTE_TOKEN": token, "HOME": t.TempDir()})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { kill(); _ = cmd.Wait() }()
	testenv.Eventually(t, e2e.Patience, func() bool {
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
