package main

// An asvsTable is what the lines of docs/asvs.md that are met rest on, for the
// chapters from First to Last. Each of these lines has a break, or it stands in
// Static with the reason why no edit can take its property away. Each test that
// the line names is red for one of its breaks.
type asvsTable struct {
	First, Last int
	Breaks      []asvsBreak
	Static      map[string]string
}

// asvsTables has every table of docs/asvs.md. Name a new one here.
func asvsTables() []asvsTable {
	return []asvsTable{asvs1to6(), asvs7to10(), asvs11to13(), asvs14to17()}
}

// An asvsBreak is an edit, as an attacker or a careless colleague would make it,
// that takes away what a line of docs/asvs.md says, and the test that is red then.
type asvsBreak struct {
	Line string // the number of the line, or all its numbers: "5.4.1, 5.4.2"
	What string // what is wrong then, in a few words
	File string // what is edited, below the module's root; it may be any file
	Old  string // stands in File once
	New  string

	Package string // the folder of the test
	Test    string // its whole name
	Sub     string // if not "", a regular expression for the subtests that suffice
}

// asvs returns the breaks of all tables. "make mutants MUTANTS=asvs/6" runs those
// of chapter 6, and MUTANTS='asvs/1\.' those of chapter 1.
func asvs() []Mutant {
	var m []Mutant
	for _, table := range asvsTables() {
		for _, b := range table.Breaks {
			m = append(m, b.mutant())
		}
	}
	return m
}

func (b asvsBreak) mutant() Mutant {
	test := "^" + b.Test + "$"
	if b.Sub != "" {
		test += "/" + b.Sub
	}
	return Mutant{
		Name: "asvs/" + b.Line + ": " + b.What + " (" + b.Test + ")", File: b.File, Old: b.Old, New: b.New,
		Package: b.Package, Test: test,
	}
}
