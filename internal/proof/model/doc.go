// Package model checks the rules of revocation and expiry: it walks through
// every order of events in a small world, and looks for one that breaks what
// docs/guarantees.md promises.
//
// The world is one user, the user's row, a policy that changes, two instances
// with a memory, a Remote behind the first of them, a feed, commits that land
// late, reads that arrive late, and a server that is no longer the primary. Time
// is counted in ticks; within a tick anything may happen any number of times.
//
// What the program does is a set of [Rules]. The zero value is the program
// without any of them. The search is breadth first, so that the trace of a broken
// promise is a shortest one (explicit-state model checking; Clarke, Grumberg,
// Peled, Model Checking, 1999, chapter 2).
//
// The model is no proof about the code. It says which rules are needed and that
// together they are enough, in every world that is searched. The simulation, the
// faults of package chaos and the tests on real databases hold the code to the rules.
package model
