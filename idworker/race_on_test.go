//go:build race

package idworker_test

// fewSeeds is how many seeds the simulation runs when nobody says: the detector
// makes each ten times as slow, and "make sim" runs many without it.
const fewSeeds = 400
