package lineartest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/lincheck"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// How long each history is, and the seed of what its people do. "make lin" sets
// the first; set the second to repeat a history.
const (
	linTime = "FLAKEPASS_TEST_LIN_TIME" // a duration
	linSeed = "FLAKEPASS_TEST_LIN_SEED"
)

func linLength(t testing.TB) time.Duration {
	t.Helper()
	length, err := time.ParseDuration(cmp.Or(os.Getenv(linTime), "9s"))
	if err != nil {
		t.Fatalf("%s: %v; write a duration, such as 60s", linTime, err)
	}
	return length
}

func seedOf(t testing.TB) uint64 {
	t.Helper()
	text := os.Getenv(linSeed)
	if text == "" {
		return rand.Uint64()
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v; write a number", linSeed, err)
	}
	return seed
}

// A situation is where one history is recorded, and the bound that it has to be
// legal with.
type situation struct {
	name  string
	bound time.Duration
	begin func(testing.TB) setting
}

// A setting is a deployment, further variables of each instance, and what is done
// to the system while people use it. vars and during may be nil.
type setting struct {
	d      *e2e.Deployment
	vars   func(instance int) []string
	during func(c *cohort, length time.Duration)
}

// situations are those in which a logout has to hold; unless "make lin" runs, only
// the first few are tried. An instance that stands still for longer than the bound
// needs no exception: see the package comment of lincheck.
var situations = []situation{
	{"nothing cached", 0, func(t testing.TB) setting {
		return setting{d: e2e.OnMySQLAlone(t), vars: func(int) []string { return []string{"FLAKEPASS_CACHE_ENTRIES", "0"} }}
	}},
	{"Redis", e2e.Bound, func(t testing.TB) setting { return setting{d: e2e.OnMySQL(t)} }},
	{"no Redis", e2e.Bound, func(t testing.TB) setting { return setting{d: e2e.OnMySQLAlone(t)} }},
	{"Redis killed", e2e.Bound, func(t testing.TB) setting {
		return setting{d: e2e.OnMySQL(t), during: func(c *cohort, length time.Duration) {
			<-time.After(length / 3)
			c.d.Redis.Kill()
			<-time.After(length / 3)
			c.d.Redis.Start() // empty
		}}
	}},
	{"Redis flushed", e2e.Bound, func(t testing.TB) setting {
		return setting{d: e2e.OnMySQL(t), during: func(c *cohort, length time.Duration) {
			for range 10 {
				<-time.After(length / 11)
				c.d.Redis.Command("FLUSHALL")
			}
		}}
	}},
	{"instance paused", e2e.Bound, func(t testing.TB) setting {
		return setting{d: e2e.OnMySQL(t), during: func(c *cohort, length time.Duration) {
			for range int(max(1, length/(10*time.Second))) {
				<-time.After(min(length, 10*time.Second) / 4)
				c.servers[2].Signal(t, syscall.SIGSTOP)
				<-time.After(5 * e2e.Bound / 2)
				c.servers[2].Signal(t, syscall.SIGCONT)
			}
		}}
	}},
	{"commits cut", e2e.Bound, func(t testing.TB) setting {
		d := e2e.OnMySQLAlone(t)
		proxy, through := e2e.Between(t, d)
		proxy.Decide(func(statement string) e2e.Fate {
			switch n := rand.IntN(20); {
			case !e2e.Ends(statement) && statement != "COMMIT", n > 1:
				return e2e.Passes
			case n == 1:
				return e2e.NeverSent
			default:
				return e2e.NoReply
			}
		})
		return setting{d: d, vars: func(instance int) []string {
			if instance == 0 {
				return through
			}
			return nil
		}}
	}},
}

// TestRecordedHistories: whatever the situation, one order explains all answers,
// with accepts that are late by the bound at most; with nothing cached, by nothing.
// It measures how late they are.
func TestRecordedHistories(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var table strings.Builder
	fmt.Fprintf(&table, "%-16s %8s %8s %8s %10s %10s\n", "situation", "ops", "logins", "lost", "promised", "measured")
	t.Cleanup(func() { t.Log("\n" + table.String()) }) // when the last one is over
	for i, c := range situations {
		if i >= 4 && os.Getenv(linTime) == "" {
			break
		}
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			line := c.run(t)
			mu.Lock()
			defer mu.Unlock()
			table.WriteString(line)
		})
	}
}

func (c situation) run(t *testing.T) string {
	length, seed := linLength(t), seedOf(t)
	sessions := sessionsOf(seed)
	t.Logf("%v, %s=%d, %d sessions a person", length, linSeed, seed, sessions)
	now := c.begin(t)
	all := gather(t, now.d, e2e.Binary(t), 3, 16, sessions, now.vars)
	all.run(seed, length, func() {
		if now.during != nil {
			now.during(all, length)
		}
		// On a machine that hardly moves, long enough to prove something.
		testenv.Eventually(t, e2e.Patience, func() bool { return logins(all.rec.History()) >= 20 }, "people log in")
	})
	all.sound()
	history := all.rec.History()
	if v := lincheck.Check(history, c.bound); !v.Legal {
		t.Errorf("%v\nthe whole history: %s", v, write(t, history))
	}
	smallest, v := lincheck.MeasuredBound(history)
	if !v.Legal {
		t.Errorf("no bound at all: %v", v)
	}
	return fmt.Sprintf("%-16s %8d %8d %8d %10v %10v\n", c.name, len(history), logins(history), all.lost.Load(), c.bound, smallest)
}

func logins(history []lincheck.Op) (n int) {
	for _, o := range history {
		if o.Kind == lincheck.Login && o.Outcome == lincheck.Done {
			n++
		}
	}
	return n
}

// write keeps a history that is not legal; run the test with -artifacts.
func write(t *testing.T, history []lincheck.Op) string {
	t.Helper()
	text, err := json.MarshalIndent(history, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.ArtifactDir(), "history.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
