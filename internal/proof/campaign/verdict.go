//go:build unix

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// slow is from when on the wait for logins after a writer is there is worth a word. No
// document gives a limit.
const slow = 5 * time.Second

// unmet are the faults and rules in which the product does not keep its promise today,
// by cluster. They are tried and shown too, and do not fail. Whoever mends one takes it out.
var unmet = map[string][]string{}

// required reports whether the promise has to hold in a fault.
func required(database, fault string) bool { return !slices.Contains(unmet[database], fault) }

// faultNames are the names of the faults of a cluster, in order.
func faultNames(database string) (names []string) {
	for _, f := range topologies[database].faults {
		names = append(names, f.name)
	}
	return names
}

func (t trial) red() bool { return len(t.Faults) > 0 || t.backless != nil }

const trialFormat = "%-11s %-40s %6s %9s %7s %10s %9s %5s %4s %6s %10s %9s %7s  %s\n"

var trialHeader = fmt.Sprintf(trialFormat, "cluster", "fault", "took", "requests", "accepts", "longest", "wrong 401", "lost", "500", "503", "no answer", "logins", "logins", "") +
	fmt.Sprintf(trialFormat, "", "", "", "", "late", "after end", "", "acts", "", "", "", "of writer", "of hit", "")

// line is the row of the table.
func (t trial) line() string {
	back := fmt.Sprintf("%.1fs", t.back.Seconds())
	if t.backless != nil {
		back = t.backless.Error()
	}
	n := func(i int) string { return fmt.Sprint(i) }
	return fmt.Sprintf(trialFormat, t.configuration, t.fault, fmt.Sprintf("%.0fs", t.took.Seconds()), n(t.Requests), n(t.Late), fmt.Sprintf("%.1fs", t.Longest.Seconds()),
		n(t.WrongRefusals), n(t.Lost), n(t.Internal), n(t.Undecided), n(t.Unanswered), back, fmt.Sprintf("%.1fs", t.down.Seconds()), t.word())
}

// word says what a row comes to.
func (t trial) word() string {
	switch {
	case t.backless != nil:
		return "RED: " + t.backless.Error()
	case t.red():
		return "RED: point " + strings.Join(t.points(), ", ")
	case t.back > slow:
		return "holds; slow"
	}
	return "holds"
}

// points are those of the promise that are broken, each with the number of sessions.
func (t trial) points() (all []string) {
	for point := 1; point <= 6; point++ {
		count := 0
		for _, f := range t.Faults {
			if f.Point == point {
				count++
			}
		}
		if count > 0 {
			all = append(all, fmt.Sprintf("%d (%d)", point, count))
		}
	}
	return all
}

// say gives a line for each point that a trial broke, and the history of one if
// nothing else was tried.
func (t trial) say(w io.Writer) {
	seen := map[int]bool{}
	for _, f := range t.Faults {
		if !seen[f.Point] {
			seen[f.Point] = true
			fmt.Fprintf(w, "RED: %v, %s: point %d: session %d %s\n", t.configuration, t.fault, f.Point, f.Session, f.Text)
		}
	}
	if t.backless != nil {
		fmt.Fprintf(w, "RED: %v, %s: within %v there were %v\n", t.configuration, t.fault, loginsWithin, t.backless)
	}
}
