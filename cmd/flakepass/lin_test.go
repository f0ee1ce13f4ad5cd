package main

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

	"github.com/flakepass/flakepass/internal/lincheck"
)

// How long each history is, and the seed of what its people do. "make lin" sets
// the first, and whoever wants to see a history again the second.
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

// A campaign is one history: where it is recorded, what is done to the system
// meanwhile, and the bound that it has to be legal with.
type campaign struct {
	name   string
	on     func(testing.TB) *deployment
	more   []string // variables
	bound  time.Duration
	during func(t testing.TB, c *cohort, length time.Duration)
}

// campaigns are the situations in which a logout has to hold. That an instance
// stands still for longer than the bound needs no exception: see the package
// comment of lincheck.
var campaigns = []campaign{
	{name: "nothing cached", on: onMySQLAlone, more: []string{"FLAKEPASS_CACHE_ENTRIES", "0"}},
	{name: "Redis", on: onMySQL, bound: bound},
	{name: "no Redis", on: onMySQLAlone, bound: bound},
	{name: "Redis killed", on: onMySQL, bound: bound, during: func(_ testing.TB, c *cohort, length time.Duration) {
		<-time.After(length / 3)
		c.d.redis.Kill()
		<-time.After(length / 3)
		c.d.redis.Start() // empty
	}},
	{name: "Redis flushed", on: onMySQL, bound: bound, during: func(_ testing.TB, c *cohort, length time.Duration) {
		for range 10 {
			<-time.After(length / 11)
			c.d.redis.Command("FLUSHALL")
		}
	}},
	{name: "instance paused", on: onMySQL, bound: bound, during: func(t testing.TB, c *cohort, length time.Duration) {
		for range int(max(1, length/(10*time.Second))) {
			<-time.After(min(length, 10*time.Second) / 4)
			c.servers[2].signal(t, syscall.SIGSTOP)
			<-time.After(5 * bound / 2)
			c.servers[2].signal(t, syscall.SIGCONT)
		}
	}},
}

// TestRecordedHistories: whatever the situation, one order explains what everybody
// was told, with accepts that are late by the bound at most; with nothing cached,
// by nothing. It measures by how much they are.
func TestRecordedHistories(t *testing.T) {
	var mu sync.Mutex
	var table strings.Builder
	fmt.Fprintf(&table, "%-16s %8s %8s %8s %10s %10s\n", "situation", "ops", "logins", "lost", "promised", "measured")
	t.Run("each", func(t *testing.T) {
		for _, c := range campaigns {
			t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
				t.Parallel()
				line := c.run(t)
				mu.Lock()
				defer mu.Unlock()
				table.WriteString(line)
			})
		}
	})
	t.Log("\n" + table.String())
}

func (c campaign) run(t *testing.T) string {
	length, seed := linLength(t), seedOf(t)
	t.Logf("%v, %s=%d", length, linSeed, seed)
	all := gather(t, c.on(t), binary(t), 3, 16, c.more...)
	all.run(seed, length, func(all *cohort) {
		if c.during != nil {
			c.during(t, all, length)
		}
	})
	all.sound()
	history := all.rec.History()
	if v := lincheck.Check(history, c.bound); !v.Legal {
		t.Errorf("%v\nthe whole history: %s", v, write(t, history))
	}
	logins := 0
	for _, o := range history {
		if o.Kind == lincheck.Login && o.Outcome == lincheck.Done {
			logins++
		}
	}
	if logins < 20 || len(history) < 20*logins/10 {
		t.Errorf("%d logins in %d ops: this history proves nothing", logins, len(history))
	}
	smallest, v := lincheck.MeasuredBound(history)
	if !v.Legal {
		t.Errorf("no bound at all: %v", v)
	}
	return fmt.Sprintf("%-16s %8d %8d %8d %10v %10v\n", c.name, len(history), logins, all.lost.Load(), c.bound, smallest)
}

// write keeps a history for whoever has to find out; run the test with -artifacts.
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
