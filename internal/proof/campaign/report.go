//go:build unix

package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/flakepass/flakepass/internal/proof/campaign/judge"
)

// A row is the result of one configuration.
type row struct {
	configuration
	judge.Verdict
	seed  uint64
	took  time.Duration
	calms int // how often all was compared
}

// explain prints what was broken, and the history of so many faults of each point.
func (r row) explain(w io.Writer, shown int) {
	seen := map[int]int{}
	for _, f := range r.Faults {
		if seen[f.Point]++; seen[f.Point] <= shown {
			fmt.Fprintf(w, "\n%v, seed %d: %v", r.configuration, r.seed, f)
		}
	}
	for point := 1; point <= 6; point++ {
		if seen[point] > 0 {
			fmt.Fprintf(w, "%v, seed %d: %d sessions show point %d broken\n", r.configuration, r.seed, seen[point], point)
		}
	}
}

func table(rows []row, o options) string {
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, "\nbound %v, seed %d; \"after end\" is the longest from an acknowledged end to an accept after it\n", o.bound, o.seed)
	_, _ = fmt.Fprintf(&b, "%-18s %6s %9s %8s %8s %9s %9s %9s %9s %6s %9s %6s %7s\n", "configuration", "took", "requests", "accepts", "refusals",
		"after end", "wrong 401", "lost uses", "disagree", "503", "no answer", "calms", "faults")
	for _, r := range rows {
		_, _ = fmt.Fprintf(&b, "%-18v %5.0fs %9d %8d %8d %8.2fs %9d %9d %9d %6d %9d %6d %7d\n", r.configuration, r.took.Seconds(), r.Requests, r.Accepts,
			r.Refusals, r.Longest.Seconds(), r.WrongRefusals, r.LostUses, r.Disagreements, r.Undecided, r.Unanswered, r.calms, len(r.Faults))
	}
	return b.String()
}
