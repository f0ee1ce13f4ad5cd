package idworker_test

import (
	"testing"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/idworkertest"
)

// TestStoreKeepsThePromise holds the store of these tests to what it stands for.
func TestStoreKeepsThePromise(t *testing.T) {
	idworkertest.TestLender(t, func(*testing.T) func() idworker.Lender {
		s := newStore(64)
		return func() idworker.Lender { return s }
	})
}
