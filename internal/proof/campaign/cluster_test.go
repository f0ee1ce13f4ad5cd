//go:build unix

package main

import (
	"errors"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/campaign/judge"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// inMakeTest are the faults of clusters that "make test" has happen, of those that hold:
// a minute for all. "make cluster" has all of them happen.
var inMakeTest = map[string][]string{"galera-one": {"writer-killed"}, "semisync": {"writer-killed"}}

// TestPromiseHoldsOverClusters has some faults of clusters of databases happen, with
// three instances of the program on them.
func TestPromiseHoldsOverClusters(t *testing.T) {
	t.Parallel()
	o := options{bound: 2 * time.Second, seed: 1, moves: moves, program: testenv.Flakepass(t), faults: regexp.MustCompile(".")}
	for database, names := range inMakeTest {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			o := o
			o.configurations = []configuration{{database: database}}
			o.only = func(_, name string) bool { return slices.Contains(names, name) }
			tried, broken, err := o.directed(t.Context(), t.Output())
			if errors.Is(err, errAbsent) {
				testenv.Absent(t, err.Error())
			} else if err != nil {
				t.Fatal(err)
			}
			if broken {
				t.Error("the promise is broken")
			}
			if tried != len(names) {
				t.Errorf("%d of %d faults were judged", tried, len(names))
			}
		})
	}
}

// TestNamesOfFaultsAreThere holds the lists of faults to the faults that there are.
func TestNamesOfFaultsAreThere(t *testing.T) {
	for database, names := range unmet {
		there := faultNames(database)
		for _, r := range rules {
			there = append(there, r.name)
		}
		for _, name := range names {
			if !slices.Contains(there, name) {
				t.Errorf("%s has no fault %q", database, name)
			}
		}
	}
	for database, names := range inMakeTest {
		for _, name := range names {
			if !required(database, name) {
				t.Errorf(`"make test" has %s of %s happen, which is among those that are broken`, name, database)
			}
		}
	}
	for database := range topologies {
		if names := faultNames(database); len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) || len(names) < 5 {
			t.Errorf("the faults of %s: %v", database, names)
		}
	}
}

// TestRowSaysWhatIsBroken: what is red, and what is only slow.
func TestRowSaysWhatIsBroken(t *testing.T) {
	red := trial{}
	red.Faults = []judge.Fault{{Point: 1}}
	for _, c := range []struct {
		trial
		want string
	}{
		{red, "RED: point 1 (1)"}, {trial{back: time.Minute}, "holds; slow"}, {trial{back: time.Second}, "holds"},
		{trial{backless: errors.New("no logins")}, "RED: no logins"},
	} {
		if got := c.word(); got != c.want {
			t.Errorf("%q; want %q", got, c.want)
		}
	}
}
