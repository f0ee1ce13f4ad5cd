//go:build unix

package main

import (
	"errors"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// TestPromiseHoldsFromOutside is a short campaign; "make campaign" runs a long
// one. What is done differs from run to run, and FLAKEPASS_CAMPAIGN_SEED repeats
// it.
func TestPromiseHoldsFromOutside(t *testing.T) {
	t.Parallel()
	seed, err := seedOf(os.Getenv("FLAKEPASS_CAMPAIGN_SEED"))
	if err != nil {
		t.Fatal(err)
	}
	o := options{bound: time.Second, seed: seed, moves: moves, program: testenv.Flakepass(t)}
	for n, c := range []configuration{{"sqlite", false}, {"mysql", true}, {"mariadb", false}} {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel() // they wait most of the time
			t.Logf("FLAKEPASS_CAMPAIGN_SEED=%d", seed)
			r, err := o.one(t.Context(), c, 12*time.Second, seed+uint64(n))
			if errors.Is(err, errAbsent) {
				testenv.Absent(t, err.Error())
			} else if err != nil {
				t.Fatal(err)
			}
			if len(r.Faults) > 0 {
				r.explain(t.Output(), 2)
				t.Error("the promise is broken")
			}
			if r.Accepts == 0 || r.Refusals == 0 || r.calms == 0 {
				t.Errorf("%d accepts, %d refusals, compared %d times: the campaign tests nothing", r.Accepts, r.Refusals, r.calms)
			}
			t.Log(table([]row{r}, o))
		})
	}
}

// TestPromiseHoldsWithWrongClocks sets the clocks of instances in a campaign. "make
// campaign" runs it: to build a program whose clock can be set takes minutes.
func TestPromiseHoldsWithWrongClocks(t *testing.T) {
	if os.Getenv("FLAKEPASS_CAMPAIGN") != "clock" {
		t.Skip("set FLAKEPASS_CAMPAIGN=clock")
	}
	const wrong = 2 * time.Second
	o := options{bound: time.Second, seed: 1, clock: wrong, program: testenv.EditedFlakepass(t, "../../..", testenv.SettableClock(wrong)...)}
	o.moves, _ = choose("^(fault|end|logout|policy|limit|lower-limit|disable)$")
	for _, c := range []configuration{{"sqlite", false}, {"mysql", true}} {
		r, err := o.one(t.Context(), c, time.Minute, o.seed)
		if errors.Is(err, errAbsent) {
			testenv.Absent(t, err.Error())
		} else if err != nil {
			t.Fatal(err)
		}
		if len(r.Faults) > 0 {
			r.explain(t.Output(), 2)
			t.Errorf("%v: the promise is broken", c)
		}
		t.Log(table([]row{r}, o))
	}
}

func TestSeedIsTakenOrChosen(t *testing.T) {
	if seed, err := seedOf("7"); seed != 7 || err != nil {
		t.Errorf("seed %d, %v; want 7", seed, err)
	}
	if _, err := seedOf("seven"); err == nil {
		t.Error("no error for what is no number")
	}
	if a, _ := seedOf(""); a == 0 {
		t.Error("no seed was chosen")
	}
}

// TestSeedDecidesWhatIsDone: each actor has numbers of its own, the same for the
// same seed.
func TestSeedDecidesWhatIsDone(t *testing.T) {
	draw := func(r *rand.Rand) [4]uint64 { return [4]uint64{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64()} }
	if a, b := draw(newRand(1, "person0")), draw(newRand(1, "person0")); a != b {
		t.Error("the same seed and actor, and other numbers")
	}
	if draw(newRand(1, "person0")) == draw(newRand(1, "person1")) || draw(newRand(1, "person0")) == draw(newRand(2, "person0")) {
		t.Error("another seed or actor, and the same numbers")
	}
}

func TestMovesAreChosenByName(t *testing.T) {
	if some, err := choose("^late"); err != nil || len(some) != 1 || some[0].name != "late-commits" {
		t.Errorf("%d moves, %v; want late-commits", len(some), err)
	}
	for _, bad := range []string{"(", "dance"} {
		if _, err := choose(bad); err == nil {
			t.Errorf("no error for -moves %s", bad)
		}
	}
}

func TestConfigurations(t *testing.T) {
	all, err := configurations([]string{"sqlite", "mariadb"}, "both")
	if err != nil || len(all) != 4 || all[0].String() != "sqlite" || all[3].String() != "mariadb and Redis" {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := configurations([]string{"oracle"}, "both"); err == nil {
		t.Error("no error for a database that is not there")
	}
	if _, err := configurations([]string{"sqlite"}, "perhaps"); err == nil {
		t.Error("no error for -redis perhaps")
	}
}
