package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// tables writes what was measured as Markdown: what one ID costs, and what one
// call has to put up with.
func tables(w io.Writer, gens []generator, all results) {
	head, rule := "| generator |", "|---|"
	for _, n := range goroutines {
		head, rule = head+fmt.Sprintf(" %d |", n), rule+"--:|"
	}
	_, _ = fmt.Fprintf(w, "Millions of IDs a second, by the number of goroutines: median (smallest to largest).\n\n%s\n%s\n", head, rule)
	for _, g := range gens {
		row(w, g, func(n int) string { return show(spreadOf(all[g.name][n], rateOf), 1e-6) })
	}
	_, _ = fmt.Fprintf(w, "\nNanoseconds of CPU time per ID: median (smallest to largest).\n\n%s\n%s\n", head, rule)
	for _, g := range gens {
		row(w, g, func(n int) string { return show(spreadOf(all[g.name][n], cpuOf), 1) })
	}
	first, last := goroutines[0], goroutines[len(goroutines)-1]
	_, _ = fmt.Fprintf(w, "\nOne call: p50 / p99 / p99.9; how far IDs are ahead of the wall clock, median and most; allocations per 1,000 IDs.\n\n"+
		"| generator | call, %d | call, %d | ahead, %d | ahead, %d | allocations, %d |\n|---|--:|--:|--:|--:|--:|\n", first, last, first, last, last)
	for _, g := range gens {
		one, many := all[g.name][first], all[g.name][last]
		_, _ = fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %.3g |\n", g.name, call3(one), call3(many), ahead(one), ahead(many),
			spreadOf(many, func(c cell) float64 { return c.allocs }).mid)
	}
}

func row(w io.Writer, g generator, of func(goroutines int) string) {
	var b strings.Builder
	for _, n := range goroutines {
		_, _ = fmt.Fprintf(&b, " %s |", of(n))
	}
	_, _ = fmt.Fprintf(w, "| %s |%s\n", g.name, b.String())
}

func show(s spread, unit float64) string {
	return fmt.Sprintf("%s (%s to %s)", three(s.mid*unit), three(s.low*unit), three(s.high*unit))
}

// three writes three digits that count.
func three(v float64) string {
	switch {
	case math.Abs(v) >= 100:
		return fmt.Sprintf("%.0f", v)
	case math.Abs(v) >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

func call3(cells []cell) string {
	of := func(f func(cell) float64) string { return brief(spreadOf(cells, f).mid) }
	return fmt.Sprintf("%s / %s / %s", of(func(c cell) float64 { return c.p50 }),
		of(func(c cell) float64 { return c.p99 }), of(func(c cell) float64 { return c.p999 }))
}

// brief writes nanoseconds as a person would.
func brief(ns float64) string {
	d := time.Duration(ns)
	switch {
	case math.IsNaN(ns):
		return "none"
	case d >= 10*time.Millisecond:
		return d.Round(time.Millisecond).String()
	case d >= 100*time.Microsecond:
		return d.Round(10 * time.Microsecond).String()
	case d >= time.Microsecond:
		return d.Round(100 * time.Nanosecond).String()
	}
	return d.String()
}

func ahead(cells []cell) string {
	mid := spreadOf(cells, func(c cell) float64 { return c.leadMid }).mid
	most := spreadOf(cells, func(c cell) float64 { return c.leadMax }).high
	if math.IsNaN(mid) {
		return "no time"
	}
	ms := func(v float64) string {
		if math.Abs(v) >= 1000 {
			return fmt.Sprintf("%.1f s", v/1000)
		}
		return fmt.Sprintf("%.0f ms", v)
	}
	return ms(mid) + ", " + ms(most)
}
