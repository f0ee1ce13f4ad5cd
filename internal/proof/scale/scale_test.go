package scale

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// sizes is the variable with which "make scale" says how many users, in numbers
// separated by commas, each a multiple of 200,000; 1000000x5 gives each user five sessions.
const sizes = "FLAKEPASS_SCALE_USERS"

// TestNothingGrowsWithTheUsers: with 200,000 users, a poll reads what ended and
// nothing else, also beside those of other instances, the sweep clears what is stale and nothing
// else, and a global floor ends every login with no question to the database.
func TestNothingGrowsWithTheUsers(t *testing.T) {
	r := &report{t: t}
	r.size("200000")
	d := build(t, 200_000, 0, false, r)
	for _, n := range []int{1, 5} {
		d.fleet(t, n, 2*time.Second, 0)
	}
	d.polls(t, 1_000, 1_000)
	d.previews(t)
	d.lists(t)
	d.lookups(t)
	d.sweeps(t)
	d.floor(t)
}

// TestScale measures, on a server of its own that it sets up for its purpose,
// and prints a table.
func TestScale(t *testing.T) {
	wanted := os.Getenv(sizes)
	if wanted == "" {
		t.Skipf("takes half an hour and 10 GB of disk; `make scale` runs it, with the numbers of users in %s", sizes)
	}
	r := &report{t: t}
	for text := range strings.SplitSeq(wanted, ",") {
		users, each, _ := strings.Cut(text+"x1", "x")
		n, err := strconv.Atoi(users)
		slots, wrong := strconv.Atoi(strings.TrimSuffix(each, "x1"))
		if err != nil || n <= 0 || n%200_000 != 0 || wrong != nil || slots < 1 || slots > 32 {
			t.Fatalf("%s has %q; want numbers of users such as 1000000,10000000x5, multiples of 200000, each with 1 to 32 sessions", sizes, text)
		}
		r.size(text)
		t.Run(text, func(t *testing.T) {
			r.t = t
			start := time.Now()
			d := build(t, n, slots-1, true, r)
			d.time("build: all of it, until it is on the disk", time.Since(start))
			d.cost(t, 20*time.Second)
			d.previews(t)
			d.lists(t)
			d.polls(t, 20_000, 1_000)
			d.lookups(t)
			d.sweeps(t)
			t.Run("pages", func(t *testing.T) { d.pages(t) }) // the program ends with it
			d.floor(t)
		})
		r.t = t
		t.Logf("\n%s", r)
	}
}
