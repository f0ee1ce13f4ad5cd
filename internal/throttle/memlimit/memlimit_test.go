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
		return &memlimit.Store{}
	})
}
