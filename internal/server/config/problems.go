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
