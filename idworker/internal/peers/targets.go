package main

import (
	"fmt"
	"io"
	"time"
)

const (
	// perSecond is what 12 bits of sequence hold in real time.
	perSecond = 4096 * 1000

	// What Baidu's CachedUidGenerator did with one thread and with sixteen, on
	// JDK 17, on another day on a machine of the same kind.
	cached1, cached16 = 3.9e6, 2.6e6
)

// A target is something that idworker is to reach, and what it did.
type target struct {
	what, want, got string
	met             bool
}

// targets measures what the package is held to. It takes twice long for each
// number of goroutines, and about long for the rest.
func targets(progress io.Writer, long time.Duration) ([]target, error) {
	var found []target
	for _, part := range []func(time.Duration) ([]target, error){sustained, bursts, batches, uncapped, fences} {
		t, err := part(long)
		if err != nil {
			return nil, err
		}
		for _, t := range t {
			_, _ = fmt.Fprintf(progress, "%s: %s\n", t.what, t.got)
		}
		found = append(found, t...)
	}
	return found, nil
}

func targetTable(w io.Writer, found []target) {
	_, _ = fmt.Fprint(w, "\n| what | target | seen | met |\n|---|---|---|---|\n")
	for _, t := range found {
		_, _ = fmt.Fprintf(w, "| %s | %s | %s | %s |\n", t.what, t.want, t.got, map[bool]string{true: "yes", false: "**no**"}[t.met])
	}
}

func count(goroutines int) string {
	if goroutines == 1 {
		return "1 goroutine"
	}
	return fmt.Sprintf("%d goroutines", goroutines)
}

// sustained compares minting flat out in real time with bwmarrin's, which is
// the one that most programs use.
func sustained(long time.Duration) ([]target, error) {
	var found []target
	t := times{warm: min(200*time.Millisecond, long), run: long}
	for _, n := range goroutines {
		theirs, err := measure(others()[0], n, t)
		if err != nil {
			return nil, err
		}
		own, err := measure(ours()[0], n, t)
		if err != nil {
			return nil, err
		}
		found = append(found,
			target{
				what: "real time, " + count(n) + ": rate", want: "≥ 99 % of 4.096 M/s",
				got: fmt.Sprintf("%.2f %% (bwmarrin %.2f %%)", 100*own.rate/perSecond, 100*theirs.rate/perSecond), met: own.rate >= .99*perSecond,
			},
			target{
				what: "real time, " + count(n) + ": CPU", want: "≤ 1/4 of bwmarrin's",
				got: fmt.Sprintf("%.0f ns per ID against %.0f: 1/%.1f", own.cpu, theirs.cpu, theirs.cpu/own.cpu),
				met: own.cpu <= theirs.cpu/4,
			})
	}
	return found, nil
}

// short is for what has no pace to keep.
func short(long time.Duration) times {
	return times{warm: min(50*time.Millisecond, long/20), run: min(time.Second, long/10)}
}

func batches(long time.Duration) ([]target, error) {
	s, allocs, err := repeat(roomyOurs()[1], 1, 5, short(long))
	if err != nil {
		return nil, err
	}
	one, each, err := repeat(roomyOurs()[0], 1, 5, short(long))
	if err != nil {
		return nil, err
	}
	// The garbage collector and the measuring allocate now and then.
	const none = .01
	return []target{
		{"NextN(64) with room, 1 goroutine", "≤ 4 ns per ID", show(inverse(s), 1e9) + " ns", 1e9/s.mid <= 4},
		{"allocations per 1,000 IDs: NextN(64), Next with room", "0", fmt.Sprintf("%.3f, %.3f", allocs, each),
			allocs < none && each < none && one.mid > 0},
	}, nil
}

func uncapped(long time.Duration) ([]target, error) {
	var found []target
	for _, u := range []struct {
		goroutines int
		cached     float64
	}{{1, cached1}, {16, cached16}} {
		s, _, err := repeat(ours()[3], u.goroutines, 5, short(long)) // an error would be a refusal
		if err != nil {
			return nil, err
		}
		found = append(found, target{
			what: "lead uncapped, " + count(u.goroutines), want: fmt.Sprintf("≥ 5 × %.1f M/s, none refused", u.cached/1e6),
			got: show(s, 1e-6) + " M/s, none refused", met: s.mid >= 5*u.cached,
		})
	}
	return found, nil
}

// repeat is the rate of a few measurements, and the allocations of the median.
func repeat(g generator, goroutines, rounds int, t times) (rate spread, allocs float64, err error) {
	var cells []cell
	for range rounds {
		c, err := measure(g, goroutines, t)
		if err != nil {
			return rate, 0, err
		}
		cells = append(cells, c)
	}
	return spreadOf(cells, rateOf), spreadOf(cells, func(c cell) float64 { return c.allocs }).mid, nil
}

func inverse(s spread) spread { return spread{1 / s.mid, 1 / s.high, 1 / s.low} }
