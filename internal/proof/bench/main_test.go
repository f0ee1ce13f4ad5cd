package bench

import (
	"fmt"
	"os"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestMain lets the test program be the other processes that a comparison over
// HTTP needs: whatever serves or loads is a process of its own, whose CPU time
// is counted apart.
func TestMain(m *testing.M) {
	parts := map[string]func(args []string) error{
		"serve-bare":  serveBare,
		"serve-redis": serveRedis,
		"load":        load,
	}
	if len(os.Args) > 1 {
		if part, ok := parts[os.Args[1]]; ok {
			if err := part(os.Args[2:]); err != nil {
				_, _ = fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	code := m.Run()
	_ = os.RemoveAll(built.dir)
	os.Exit(code)
}

func TestBenchmarksRun(t *testing.T) { testenv.Benchmarks(t) }
