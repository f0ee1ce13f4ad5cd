package config

import (
	"fmt"
	"strconv"
	"strings"
)

// A Problem is one thing that is wrong, and what to do about it.
type Problem struct {
	Variable string // the environment variable of the setting, or the unknown one; empty if the file as a whole is wrong
	File     string // path of the file, if the problem is in the file
	Key      string // key in the file, if the problem is with one
	Line     int    // of the file, from 1; 0 if the problem has no line
	Text     string // a sentence; never holds the value of a secret
}

// String is the problem in one line.
func (p Problem) String() string {
	place := p.Key
	if p.Line > 0 {
		if place != "" {
			place += ", "
		}
		place += "line " + strconv.Itoa(p.Line)
	}
	if p.File != "" {
		if place != "" {
			place += " of "
		}
		place += p.File
	}
	switch {
	case p.Variable == "":
		return place + ": " + p.Text
	case place == "":
		return p.Variable + ": " + p.Text
	default:
		return p.Variable + " (" + place + "): " + p.Text
	}
}

// Problems is everything that is wrong with a configuration: first the file
// as a whole, then the settings in their order, then unknown variables. It is
// the only error that [Load] returns.
type Problems []Problem

// Error lists the problems, one a line.
func (ps Problems) Error() string {
	var b strings.Builder
	noun := "problems"
	if len(ps) == 1 {
		noun = "problem"
	}
	fmt.Fprintf(&b, "config: %d %s:", len(ps), noun)
	for _, p := range ps {
		b.WriteString("\n  " + p.String())
	}
	return b.String()
}

// quoted repeats a value back to the person who wrote it, unless it looks as
// if a secret was put where none belongs.
func quoted(v string) string {
	if len(v) > 60 || strings.Contains(v, "@") || strings.Contains(v, "://") {
		return "the value"
	}
	return strconv.Quote(v)
}

// suggest is " Did you mean X?" with the candidate nearest to name, or
// nothing if none is near.
func suggest(name string, candidates []string, shown func(string) string) string {
	name = strings.ReplaceAll(strings.ToLower(name), "-", "_")
	name = strings.TrimPrefix(name, strings.ToLower(prefix))
	if len(name) > 40 { // no setting's name is near, and distance takes the product of the lengths
		return ""
	}
	best, least := "", max(1, len(name)/3)+1
	for _, c := range candidates {
		if d := distance(name, c); d < least {
			best, least = c, d
		}
	}
	if best == "" {
		return ""
	}
	return " Did you mean " + shown(best) + "?"
}

// distance is the number of bytes to insert, delete or replace to make b of a
// (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
