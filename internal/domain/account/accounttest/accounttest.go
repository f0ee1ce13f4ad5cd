// Package accounttest helps the tests of packages that use accounts.
//
// An honest Argon2id hash takes tens of milliseconds and 19 MiB, and several
// times that under the race detector; a test that logs in a hundred times
// cannot afford it, and [account.NewHasher] refuses anything cheaper. This
// package has the one way around that. It cannot be taken by mistake in the
// program: the key lies in a package that only account and its subpackages can
// import, and NewHasher stops a program that is not a test.
package accounttest

import (
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/account/internal/cheap"
)

// Params are the costs of the hashes of [NewHasher]: the same algorithm at a
// few microseconds.
func Params() account.Params { return account.Params{MemoryKiB: 64, Iterations: 1, Parallelism: 1} }

// NewHasher returns a Hasher with cheap hashes and room for a thousand
// callers. It panics outside of a test.
func NewHasher(tb testing.TB) *account.Hasher {
	tb.Helper()
	return NewHasherSize(tb, Params(), 4, 1000)
}

// NewHasherSize is NewHasher with the costs, workers and queue of the caller's
// choice, for tests of what happens when the pool is full or the costs rise.
func NewHasherSize(tb testing.TB, p account.Params, workers, queue int) *account.Hasher {
	tb.Helper()
	if !testing.Testing() {
		panic("accounttest: not a test")
	}
	h, err := account.NewCheapHasher(cheap.Key{}, p, workers, queue)
	if err != nil {
		tb.Fatalf("accounttest: %v", err)
	}
	return h
}
