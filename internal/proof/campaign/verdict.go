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

// holds are the faults in which the product keeps its promise today, by cluster. The
// others are made and shown too, and do not fail. Whoever mends one moves it here.
var holds = map[string][]string{
	"galera": {"by-chance", "node-killed", "node-stands-still", "node-cut-off", "late-by-table-lock", "late-by-read-lock", "late-by-long-change",
		"rows-held", "donor", "killed-in-commit", "clock-behind", "clock-ahead", "rule-empty-schema", "rule-first-admin", "rule-same-name", "rule-two-admins"},
	"galera-one": {"by-chance", "writer-killed", "writer-cut-off", "late-by-read-lock-then-writer-killed", "late-by-long-change-then-writer-killed",
		"rows-held-at-writer", "read-lock-at-writer",
		"writer-becomes-donor", "killed-in-commit", "clock-behind-then-writer-killed", "clock-ahead-then-writer-killed"},
	"group": {"by-chance", "switch", "writer-killed", "others-stand-still", "late-by-table-lock-then-writer-killed", "late-by-read-lock-then-writer-killed",
		"rows-held-at-writer", "killed-in-commit"},
	"semisync": {"by-chance", "writer-stands-still", "replica-cut-off", "rows-held-at-writer", "switch", "writer-killed",
		"late-by-table-lock-then-writer-killed", "killed-in-commit"},
}

// today reports whether a fault is one of those.
func today(database, fault string) bool { return slices.Contains(holds[database], fault) }

// faultNames are the names of the faults of a cluster, in order.
func faultNames(database string) (names []string) {
	for _, f := range topologies[database].faults {
		names = append(names, f.name)
	}
	return names
}

func (t trial) broken() bool { return len(t.Faults) > 0 || t.backless != nil }

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
	case t.broken():
		word := "RED: point " + strings.Join(t.points(), ", ")
		if t.outside {
			word += "; not promised by the documents"
		}
		return word
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
