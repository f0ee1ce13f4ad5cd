// Package simulation runs the real session service, with its tiers and its
// feed, on a simulated database, Redis, network and clock, many instances in one
// process, and looks for a login that is believed after its end, or refused
// before it.
//
// Everything happens at an instant that a seed decides, so a failing seed fails
// again: see TestRevocationHolds. Only the tests have code.
package simulation
