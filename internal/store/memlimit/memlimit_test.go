package memlimit_test

import (
	"testing"

	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/proof/throttletest"
	"github.com/flakepass/flakepass/internal/store/memlimit"
)

func TestStore(t *testing.T) {
	throttletest.Conformance(t, func(t *testing.T) ratelimit.Store {
		t.Helper()
		return &memlimit.Store{}
	})
}
