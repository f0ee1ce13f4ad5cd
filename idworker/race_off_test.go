//go:build !race

package idworker_test

const fewSeeds = 2000
