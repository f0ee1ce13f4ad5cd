//go:build unix

package testenv

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// built is the program of this test process, and the folder that it is in, which
// Main makes.
var built struct {
	sync.Once
	dir, path string
	err       error
}

// Main runs the tests of a package that asks for [Flakepass], takes away what that
// made, and ends the process. Call it from TestMain.
func Main(m *testing.M) { os.Exit(Run(m)) }

// Run is [Main] for a package that has more to do at the end: it returns the exit code.
func Run(m interface{ Run() int }) int {
	dir, err := os.MkdirTemp("", "flakepass-test-*")
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	built.dir = dir
	return m.Run()
}

// Flakepass returns the path of the command, built as people run it: the file that
// FLAKEPASS_TEST_PROGRAM names, which "make test" builds once for all packages, or else one
// that is built once in a test process. The package needs [Main]. It ends the test if the
// command cannot be built.
func Flakepass(t testing.TB) string {
	t.Helper()
	built.Do(func() {
		if built.dir == "" {
			built.err = fmt.Errorf("the package has no func TestMain(m *testing.M) { testenv.Main(m) }")
			return
		}
		if built.path = os.Getenv("FLAKEPASS_TEST_PROGRAM"); built.path != "" {
			_, built.err = os.Stat(built.path) // so that a new program is a new test for "go test", too
			return
		}
		built.path = filepath.Join(built.dir, "flakepass")
		// Not the context of t, which is only the first that asks.
		out, err := exec.CommandContext(context.WithoutCancel(t.Context()), "go", "build", "-tags", "nomsgpack", "-ldflags", "-s -w", "-o", built.path,
			"github.com/flakepass/flakepass/cmd/flakepass").CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("go build: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatalf("testenv: %v", built.err)
	}
	return built.path
}
