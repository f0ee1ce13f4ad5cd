// Package chaos breaks everything that flakepass stands on, one thing after the
// other and some together, while people log in and out, and holds the answers
// to what docs/guarantees.md promises.
//
// Real server processes run on a real MySQL and a real Redis, each through
// links of its own that can be cut. A ledger in the test knows what was
// acknowledged, and when, by one clock that only runs forward. It has tests
// only: `make chaos` runs all faults, `make test` the first few.
//
// The files promise_*_test.go hold single promises, each in the order of events in
// which it is hardest to keep, on a MySQL with Redis and on a MariaDB without.
package chaos
