//go:build unix

package chaos

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// patience is how long a test waits for what has to come. Nothing that works
// takes nearly as long; it is the limit on a machine that stands still.
const patience = 2 * time.Minute

// A world is a deployment: a database, a Redis, and instances that reach both
// through links of their own.
type world struct {
	bound     time.Duration
	database  database
	mysql     *testenv.MySQLServer // nil if others use the server of the database too
	redis     *testenv.RedisServer // nil if there is none, or if sentinels watch a group of them
	sentinel  *testenv.Sentinel    // or nil
	instances []*instance
}

// A recipe says how a world is made.
type recipe struct {
	instances int
	bound     time.Duration
	on        func(testing.TB) database // nil: a MySQL of its own
	noRedis   bool
	sentinel  bool
	program   string           // empty: as it is
	more      map[int][]string // variables of single instances, as NAME=value
}

func newWorld(t *testing.T, r recipe) *world {
	t.Helper()
	w := &world{bound: r.bound}
	if r.on != nil {
		w.database = r.on(t)
	} else {
		w.mysql = testenv.OwnMySQL(t)
		w.database = ownDatabase(w.mysql)
	}
	switch {
	case r.sentinel:
		w.sentinel = testenv.RedisSentinel(t)
	case !r.noRedis:
		w.redis = testenv.Redis(t)
	}
	if r.program == "" {
		r.program = testenv.Flakepass(t)
	}
	for i := range r.instances {
		w.instances = append(w.instances, w.instance(t, i, r.program, r.more[i]...))
	}
	for _, i := range w.instances { // the first makes the tables
		i.start(t)
	}
	return w
}

func TestMain(m *testing.M) { testenv.Main(m) }

// any is one of the instances.
func (w *world) any(r *rand.Rand) *instance { return w.instances[r.IntN(len(w.instances))] }

// heal ends whatever was done to the links.
func (w *world) heal() {
	for _, i := range w.instances {
		i.mysql.Heal()
		if i.redis != nil {
			i.redis.Heal()
		}
	}
}

// seed is the seed of this run: the one that FLAKEPASS_CHAOS_SEED names, or a
// new one. It decides the order of the faults, whom they strike, and when people
// do what; not how the processes are scheduled.
func seed(t testing.TB) uint64 {
	t.Helper()
	text := os.Getenv("FLAKEPASS_CHAOS_SEED")
	if text == "" {
		return rand.Uint64()
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("FLAKEPASS_CHAOS_SEED is %q; set it to the number that an earlier run printed", text)
	}
	return n
}

// whole reports whether all faults are to run, as in "make chaos".
func whole() bool { return os.Getenv("FLAKEPASS_CHAOS") == "whole" }

func newRand(seed uint64, who string) *rand.Rand {
	h := uint64(14695981039346656037)
	for _, b := range []byte(who) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, h))
}
