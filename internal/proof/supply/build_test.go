package supply

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const stamp = "9.8.7-test"

var update = flag.Bool("update", false, "write docs/licences.md and internal/server/release/licences.txt")

var cold = flag.Bool("cold", false, "compile what is not ours anew, too, where two builds are compared")

// scratch is where the program that several tests look at is built.
var scratch string

func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	if scratch, err = os.MkdirTemp("", "flakepass-supply-"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(scratch)
	os.Exit(code)
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// environment is what a command gets: this process's, without what make and the
// go command were set around this test.
func environment(more ...string) []string {
	env := []string{}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "BIN", "VERSION", "GOFLAGS":
		default:
			env = append(env, v)
		}
	}
	// Not unset: the file of go env -w may hold flags, too.
	return append(append(env, "GOFLAGS= "), more...)
}

// run runs a command in dir and returns what it printed, and its exit code.
func run(t *testing.T, dir string, env []string, name string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func mustRun(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	out, code := run(t, dir, env, name, args...)
	if code != 0 {
		t.Fatalf("%s %s: exit code %d\n%s", name, strings.Join(args, " "), code, out)
	}
	return out
}

// tool builds the tool whose versions are in a file of its own. The go command
// takes such a file only outside of a workspace.
func tool(t *testing.T, name, pkg string) string {
	t.Helper()
	path := filepath.Join(scratch, name)
	mustRun(t, root(t), environment("GOWORK=off"), "go", "build", "-modfile="+filepath.Join("internal", "tools", name+".mod"), "-o", path, pkg)
	return path
}

var built struct {
	sync.Once
	path string
}

// program is the path of flakepass as make builds it.
func program(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("it builds the whole program")
	}
	built.Do(func() {
		path := filepath.Join(scratch, "flakepass")
		mustRun(t, root(t), environment(), "make", "build", "BIN="+path, "VERSION="+stamp)
		built.path = path
	})
	if built.path == "" {
		t.Fatal("the program could not be built")
	}
	return built.path
}

// modules is what is linked into the program: version by module.
func modules(t *testing.T) map[string]string {
	t.Helper()
	info, err := buildinfo.ReadFile(program(t))
	if err != nil {
		t.Fatal(err)
	}
	linked := make(map[string]string)
	for _, dep := range info.Deps {
		if strings.HasPrefix(dep.Path, info.Main.Path+"/") {
			continue // a module of ours, of the same sources
		}
		if dep.Replace != nil {
			t.Fatalf("%s is replaced by %s: say in docs/licences.md what that is", dep.Path, dep.Replace.Path)
		}
		linked[dep.Path] = dep.Version
	}
	if len(linked) < 20 {
		t.Fatalf("%d modules found: that is not the whole program", len(linked))
	}
	return linked
}

// TestSameSourcesMakeTheSameProgram builds the program a second time, in a
// folder of another name that is a Git repository of its own, with another home
// and another build cache, and compares every byte. The cache has no package of
// ours, so all of them are compiled anew. With the flag -cold it is empty: the
// rest is compiled anew, too, which takes minutes.
func TestSameSourcesMakeTheSameProgram(t *testing.T) {
	first := program(t)
	elsewhere := filepath.Join(t.TempDir(), "another", "place")
	sources(t, elsewhere)
	git := []string{"-c", "user.name=nobody", "-c", "user.email=nobody@example.org", "-c", "commit.gpgsign=false"}
	mustRun(t, elsewhere, environment(), "git", "init", "--quiet")
	mustRun(t, elsewhere, environment(), "git", append(git, "commit", "--quiet", "--allow-empty", "-m", "other")...)

	goenv := strings.Split(strings.TrimSpace(mustRun(t, elsewhere, environment(), "go", "env", "GOMODCACHE", "GOPROXY", "GOSUMDB", "GONOSUMDB")), "\n")
	for len(goenv) < 4 { // an empty one at the end
		goenv = append(goenv, "")
	}
	cache := t.TempDir()
	if !*cold {
		seed(t, cache)
	}
	second := filepath.Join(scratch, "again", "program")
	said := mustRun(t, elsewhere, environment("GOFLAGS=-x", "GOCACHE="+cache, "HOME="+t.TempDir(),
		"GOMODCACHE="+goenv[0], "GOPROXY="+goenv[1], "GOSUMDB="+goenv[2], "GONOSUMDB="+goenv[3]),
		"make", "build", "BIN="+second, "VERSION="+stamp)
	if anew, want := compiled(said), ours(t); anew != want {
		t.Errorf("%d packages of ours were compiled again, not all %d: the others were not compared", anew, want)
	}
	if a, b := sum(t, first), sum(t, second); a != b {
		t.Errorf("%s in one place and %s in another", a, b)
	}
	if got := strings.TrimSpace(mustRun(t, t.TempDir(), environment(), second, "version", "--short")); got != stamp {
		t.Errorf("it says that it is version %q, not %q", got, stamp)
	}
}

// TestProgramNamesNoFolder: a path of the machine that built it is in a stack trace, and
// makes two builds differ.
func TestProgramNamesNoFolder(t *testing.T) {
	text, err := os.ReadFile(program(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{root(t), strings.TrimSpace(mustRun(t, root(t), environment(), "go", "env", "GOMODCACHE"))} {
		if bytes.Contains(text, []byte(folder+"/")) {
			t.Errorf("the program has the path %s in it", folder)
		}
	}
}

func sum(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// sources copies what a build can read to dir.
func sources(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"Makefile", "go.work", "go.work.sum", "go.mod", "go.sum", "api", "cmd", "idworker", "internal", "migrations"} {
		from, to := filepath.Join(root(t), name), filepath.Join(dir, name)
		info, err := os.Stat(from)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() {
			err = os.CopyFS(to, os.DirFS(from))
		} else {
			err = copyFile(from, to)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ours, err := filepath.Glob(filepath.Join(root(t), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range ours {
		if err := copyFile(name, filepath.Join(dir, filepath.Base(name))); err != nil {
			t.Fatal(err)
		}
	}
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}
