package main

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// all is every generator that mints IDs.
func all() []generator { return slices.Concat(others(), roomyOthers(), ours(), roomyOurs()) }

// TestGeneratorsMintWhatTheyCount: each call yields as many IDs as it is
// counted for, none twice, and the times in them are near the clock.
func TestGeneratorsMintWhatTheyCount(t *testing.T) {
	const callers = 4
	for _, g := range all() {
		t.Run(g.name, func(t *testing.T) {
			s, err := g.open()
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.close(); err != nil {
					t.Error(err)
				}
			}()
			calls := 500
			if g.slow {
				calls = 50
			}
			minted := make([][]id, callers)
			var wg sync.WaitGroup
			for i := range callers {
				wg.Go(func() {
					mint := s.caller()
					out := make([]id, g.perCall())
					for range calls {
						if err := mint(out); err != nil {
							t.Error(err)
							return
						}
						minted[i] = append(minted[i], out...)
					}
				})
			}
			wg.Wait()
			now := time.Now()
			different := make(map[id]bool)
			for _, n := range slices.Concat(minted...) {
				different[n] = true
				if s.milli == nil {
					continue
				}
				// Far enough for whatever is borrowed; another epoch is years off.
				if off := now.Sub(time.UnixMilli(s.milli(n))).Abs(); off > time.Minute {
					t.Fatalf("an ID is %v off the clock", off)
				}
			}
			if want := callers * calls * g.perCall(); len(different) != want {
				t.Errorf("%d different IDs, and %d were counted", len(different), want)
			}
		})
	}
}

// TestCellsAreFilled: a measurement of a moment has every figure. If a busy
// machine lets nothing happen in it, the moment is made longer.
func TestCellsAreFilled(t *testing.T) {
	full := func(c cell) bool {
		return !slices.ContainsFunc([]float64{c.rate, c.p50, c.p99, c.p999}, func(v float64) bool { return !(v > 0) || math.IsInf(v, 0) })
	}
	for _, g := range slices.Concat(floors(), all()) {
		var c cell
		for d := 10 * time.Millisecond; !full(c) && d < 10*time.Second; d *= 4 {
			var err error
			if c, err = measure(g, 2, times{warm: d / 10, run: d, look: d}); err != nil {
				t.Fatalf("%s: %v", g.name, err)
			}
		}
		if !full(c) || c.cpu < 0 || c.allocs < 0 || c.p50 > c.p99 || c.p99 > c.p999 || c.leadMid > c.leadMax {
			t.Errorf("%s: %+v", g.name, c)
		}
	}
}

// TestTablesHaveEveryRow runs the whole program for a moment.
func TestTablesHaveEveryRow(t *testing.T) {
	var out, progress strings.Builder
	only := "^(flakepass|atomic add|google/uuid v4)$"
	args := []string{"-rounds", "2", "-warm", "1ms", "-run", "5ms", "-look", "5ms", "-long", "20ms", "-only", only}
	if err := run(args, &out, &progress); err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	for _, name := range []string{"flakepass", "atomic add", "google/uuid v4"} {
		if n := strings.Count(out.String(), "\n| "+name+" | "); n != 3 {
			t.Errorf("%d rows of %s", n, name)
		}
	}
	if strings.Contains(out.String(), "xid") {
		t.Error("-only leaves more than it should")
	}
	for _, target := range []string{"real time, 16 goroutines: CPU", "burst of 32,000", `NextN\(64\)`, "lead uncapped, 16", `[^|]*fence in a file`, `[^|]*fence in SQLite`} {
		if !regexp.MustCompile(`(?m)^\| ` + target + `[^|]*\| [^|]+ \| [^|]+ \| (yes|\*\*no\*\*) \|$`).MatchString(out.String()) {
			t.Errorf("no row %q in\n%s", target, out.String())
		}
	}
}

func TestQuantiles(t *testing.T) {
	v := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for q, want := range map[float64]float64{0: 1, .1: 1, .5: 5, .55: 6, .99: 10, 1: 10} {
		if got := quantile(v, q); got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	if !math.IsNaN(quantile(nil, .5)) {
		t.Error("no values have a median")
	}
	if s := spreadOf([]cell{{cpu: 3}, {cpu: 9}, {cpu: 1}}, cpuOf); s != (spread{3, 1, 9}) {
		t.Errorf("%+v", s)
	}
}

func TestBadFlagsAreRefused(t *testing.T) {
	for _, args := range [][]string{{"-rounds", "0"}, {"-only", "("}, {"-nonsense"}} {
		var out, progress strings.Builder
		if err := run(args, &out, &progress); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
}
