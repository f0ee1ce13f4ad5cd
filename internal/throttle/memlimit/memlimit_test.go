package memlimit_test

import (
	"testing"

	"github.com/flakepass/flakepass/internal/throttle"
	"github.com/flakepass/flakepass/internal/throttle/memlimit"
	"github.com/flakepass/flakepass/internal/throttle/throttletest"
)

func TestStore(t *testing.T) {
	throttletest.Conformance(t, func(t *testing.T) throttle.Store {
		t.Helper()
		s, err := memlimit.New(1000)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
