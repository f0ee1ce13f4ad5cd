// Package bench compares flakepass with the plainest thing that does the same
// work: a JWT library, a handler without a login, one GET to Redis, a password
// hash.
//
// Speed differs between machines, and on a shared machine between minutes. So
// nothing here is held to a time. A comparison runs both sides in turn, A B A B
// and so on, in short rounds; each round gives a ratio, and what is reported is
// the median, the smallest and the largest of these. Every ratio is written so
// that more is better for flakepass.
//
// Where cost is reported, it is CPU time of the process that did the work, its
// garbage collection included: a busy neighbour makes a request wait, but does
// not make it dearer.
//
// docs/performance.md says what was seen. "make bench" runs it again.
package bench
