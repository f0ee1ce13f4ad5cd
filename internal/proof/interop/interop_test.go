//go:build unix

package interop_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

const (
	patience = 2 * time.Minute
	password = "violet tram sings at noon"
)

// A server is flakepass on SQLite, with alice, who is a user, and gateway, which
// is a service.
type server struct {
	program, base string
	vars          []string
}

var listens = regexp.MustCompile(`API +(http://\S+)`)

func TestMain(m *testing.M) { testenv.Main(m) }

// start runs the program until the test ends.
func start(t *testing.T, settings ...string) *server {
	t.Helper()
	dir := t.TempDir()
	s := &server{program: testenv.Flakepass(t), vars: []string{
		"FLAKEPASS_LISTEN=127.0.0.1:0", "FLAKEPASS_OPS_LISTEN=127.0.0.1:0", "FLAKEPASS_DATA_DIR=" + filepath.Join(dir, "data"),
		"FLAKEPASS_SERVICE_PASSWORD_LOGIN=on",
	}}
	s.vars = append(s.vars, settings...)
	s.add(t, "alice", "user")
	s.add(t, "gateway", "service")

	out, ended := &testenv.Journal{}, make(chan struct{})
	ctx, kill := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, s.program, "serve")
	cmd.Env, cmd.Stdout, cmd.Stderr = s.vars, out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { defer close(ended); _ = cmd.Wait() }()
	t.Cleanup(func() { kill(); <-ended })
	testenv.Eventually(t, patience, func() bool {
		select {
		case <-ended:
			t.Fatalf("the server has ended:\n%s", out)
		default:
		}
		if m := listens.FindStringSubmatch(out.String()); m != nil {
			s.base = m[1]
		}
		return s.base != ""
	}, "the server says where it listens")
	return s
}

func (s *server) add(t *testing.T, name, role string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.program, "user", "add", "--role", role, "--password-stdin", name)
	cmd.Env, cmd.Stdin = s.vars, strings.NewReader(password+"\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("add %s: %v\n%s", name, err, out)
	}
}

// login returns the token of a login.
func (s *server) login(t *testing.T, name string) string {
	t.Helper()
	token, err := login(t.Context(), s.base, name)
	if err != nil {
		t.Fatalf("login of %s: %v", name, err)
	}
	return token
}

// A folder is where scripts run, beside the packages that they import.
type folder struct{ dir, node string }

func newFolder(t *testing.T, files ...string) folder {
	t.Helper()
	modules, node := testenv.NodeModules(t, ".")
	f := folder{dir: t.TempDir(), node: node}
	if err := os.Symlink(modules, filepath.Join(f.dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f.write(t, name, text)
	}
	return f
}

func (f folder) write(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs a script to its end, which must be a good one, with those variables.
func (f folder) run(t *testing.T, vars []string, script string, args ...string) string {
	t.Helper()
	return f.start(t, vars, f.node, append([]string{script}, args...)...)
}

// start runs a program to its end, as run does a script.
func (f folder) start(t *testing.T, vars []string, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = f.dir
	cmd.Env = append([]string{"HOME=" + f.dir, "PATH=" + os.Getenv("PATH"), "CI=true"}, vars...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}

// generate is the command of docs/clients.md that generates a client. With
// npm_config_offline npx takes what the lock file names, and loads nothing.
func generate(t *testing.T) string {
	t.Helper()
	testenv.Program(t, "npx")
	text, err := os.ReadFile("../../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`(?m)^npx .*$`).FindAllString(string(text), -1)
	if len(command) != 1 {
		t.Fatalf("docs/clients.md has %d commands with npx", len(command))
	}
	return command[0]
}

// TestClientsOfOthers: programs in another language, which are not ours,
// get on with the server.
func TestClientsOfOthers(t *testing.T) {
	testenv.NodeModules(t, ".") // or there is nothing to run
	s := start(t)

	// A library that knows the RFCs and not flakepass introspects and revokes.
	t.Run("oauth4webapi", func(t *testing.T) {
		f := newFolder(t, "oauth.mjs")
		vars := []string{"BASE=" + s.base, "USERNAME=alice", "USER=" + s.login(t, "alice"), "SERVICE=" + s.login(t, "gateway")}
		if out := f.run(t, vars, "oauth.mjs"); !strings.Contains(out, "oauth4webapi: done") {
			t.Errorf("the script did not come to its end:\n%s", out)
		}
	})

	// A client that was generated from the contract passes the type checker, knows
	// the codes of each operation, and works.
	t.Run("generated client", func(t *testing.T) {
		f := newFolder(t, "client.ts", "tsconfig.json")
		if err := os.Mkdir(filepath.Join(f.dir, "api"), 0o700); err != nil {
			t.Fatal(err)
		}
		f.write(t, "api/openapi.yaml", api.Spec())
		f.start(t, []string{"npm_config_offline=true"}, "sh", "-c", generate(t))
		f.run(t, nil, "node_modules/typescript/bin/tsc", "--project", ".")
		vars := []string{"BASE=" + s.base, "USERNAME=alice", "PASSWORD=" + password, "SERVICE=" + s.login(t, "gateway")}
		if out := f.run(t, vars, "out/client.js"); !strings.Contains(out, "generated client: done") {
			t.Errorf("the script did not come to its end:\n%s", out)
		}
	})
}
