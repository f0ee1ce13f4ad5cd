// Package scale builds a big deployment on a real MySQL and measures what grows
// with it: the feed's poll, the global floor, the sweep, the lookups.
//
// "make test" builds a small one and checks what does not depend on the
// machine: which index a statement goes by, how many rows it reads, how many
// logins are left, and that a token which the global floor ends is refused with
// no question to the database. "make scale" builds a million users and then ten
// million, and prints times. Times are never asserted.
//
// docs/performance.md says what was seen.
package scale
