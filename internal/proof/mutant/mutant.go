// Command mutant shows that tests can fail. Each mutant is a protection taken out
// of the code, as a textual change of one file; it has to make a named test go
// red. "make mutants" runs them all:
//
//	mutant                     package             caught by                   after
//	a range begins at now      idworker/fileworker TestLenderKeepsThePromise/… 1.2s
//
// The files are changed in a copy of the module. A run fails if a test is red
// without a mutant, if a change does not apply to the file any more, if its result
// does not compile, or if the tests stay green.
package main

import (
	"errors"
	"fmt"
	"strings"
)

// A Mutant is a protection taken out. To hold another package's tests to their
// promise, add a table of mutants in a file of its own and name it in [all].
type Mutant struct {
	// Name says what is wrong with the code, in a few words. It is unique.
	Name string

	// File is what is changed, below the module's root: the only place where it
	// says Old says New. Both are parts of lines or whole lines, as they stand.
	File     string
	Old, New string

	// Also are further changes of the file, each from the first text to the second.
	Also [][2]string

	// Package is the folder of the tests, and Test a regular expression for those
	// that may catch the mutant, as in go test -run. Args are given to them.
	Package string
	Test    string
	Args    []string
}

// all is every mutant of the module.
func all() []Mutant {
	var m []Mutant
	for _, table := range [][]Mutant{worker(), lenders(), migrating(), harness(), sessions(), promises(), policies(), guards(), attempts(), addresses(), console(), passwords(), imports(), rights(), slots(), serviceKeys(), impersonations(), deletions(), names(), shares(), starts(), asvs()} {
		m = append(m, table...)
	}
	return m
}

var (
	errNowhere = errors.New("the file does not say that: the mutant is out of date")
	errTwice   = errors.New("the file says that more than once: say more of it")
	errSame    = errors.New("nothing is changed")
)

// apply returns the changed text of the file.
func (m Mutant) apply(text string) (string, error) {
	for _, change := range append([][2]string{{m.Old, m.New}}, m.Also...) {
		var err error
		switch n := strings.Count(text, change[0]); {
		case change[0] == "" || n == 0:
			err = errNowhere
		case n > 1:
			err = errTwice
		case change[0] == change[1]:
			err = errSame
		}
		if err != nil {
			return "", fmt.Errorf("%s: %s: %q: %w", m.Name, m.File, change[0], err)
		}
		text = strings.Replace(text, change[0], change[1], 1)
	}
	return text, nil
}
