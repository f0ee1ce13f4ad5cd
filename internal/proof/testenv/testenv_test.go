//go:build unix

package testenv_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

func TestAbsentServerSkipsUnlessRequired(t *testing.T) {
	for _, variable := range []string{"FLAKEPASS_TEST_MYSQL", "FLAKEPASS_TEST_MARIADB", "FLAKEPASS_TEST_REDIS", "FLAKEPASS_TEST_ZOOKEEPER"} {
		t.Setenv(variable, "")
	}
	needs := map[string]func(testing.TB){
		"MySQL":       func(tb testing.TB) { testenv.MySQL(tb) },
		"MariaDB":     func(tb testing.TB) { testenv.MariaDB(tb) },
		"ZooKeeper":   func(tb testing.TB) { testenv.ZooKeeper(tb) },
		"SharedRedis": func(tb testing.TB) { testenv.SharedRedis(tb) },
		"Program":     func(tb testing.TB) { testenv.Program(tb, "no-such-program") },
	}
	for name, need := range needs {
		t.Setenv("FLAKEPASS_TEST_REQUIRE_SERVERS", "")
		if got := outcome(t, need); !strings.HasPrefix(got, "skip: ") || !strings.Contains(got, "make test") {
			t.Errorf("%s, not required: %q, want a skip that says what to run", name, got)
		}
		t.Setenv("FLAKEPASS_TEST_REQUIRE_SERVERS", "1")
		if got := outcome(t, need); !strings.HasPrefix(got, "fatal: ") || !strings.Contains(got, "make test") {
			t.Errorf("%s, required: %q, want a failure that says what to run", name, got)
		}
	}
}

func TestEventuallyReturnsOnceTrue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		got := outcome(t, func(tb testing.TB) {
			testenv.Eventually(tb, time.Minute, func() bool { return time.Since(began) >= time.Second }, "a second")
		})
		if waited := time.Since(began); got != "" || waited > 2*time.Second {
			t.Errorf("Eventually: %q after %v, want nothing after a second", got, waited)
		}
	})
}

func TestEventuallyNamesWhatDidNotHappen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := outcome(t, func(tb testing.TB) {
			testenv.Eventually(tb, time.Second, func() bool { return false }, "the moon is full")
		})
		if want := "fatal: not within 1s: the moon is full"; got != want {
			t.Errorf("Eventually: %q, want %q", got, want)
		}
	})
}

// TestFreePortIsNotAnOutgoingOne holds for Linux as it comes, whose outgoing
// connections start at 32768.
func TestFreePortIsNotAnOutgoingOne(t *testing.T) {
	for range 50 {
		if port := testenv.FreePort(t); port < 1024 || port >= 32768 {
			t.Errorf("FreePort: %d", port)
		}
	}
}

// outcome runs f as a test of its own and says how it ended: "" for well,
// "skip: ..." or "fatal: ...".
func outcome(t *testing.T, f func(testing.TB)) string {
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r.said
}

// A recorder is a test that keeps its end to itself.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper() {}

func (r *recorder) Skipf(format string, args ...any) { r.end("skip: "+format, args) }

func (r *recorder) Fatalf(format string, args ...any) { r.end("fatal: "+format, args) }

func (r *recorder) end(format string, args []any) {
	r.said = fmt.Sprintf(format, args...)
	runtime.Goexit()
}
