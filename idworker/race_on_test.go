//go:build race

package idworker_test

// fewSeeds is how many seeds the simulation runs without a flag: the detector
// makes each ten times as slow, and "make sim" runs many without it.
const fewSeeds = 400
