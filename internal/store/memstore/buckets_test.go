package memstore_test

import (
	"testing"

	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/proof/ratelimittest"
	"github.com/flakepass/flakepass/internal/store/memstore"
)

func TestStore(t *testing.T) {
	ratelimittest.Conformance(t, func(t *testing.T) ratelimit.Store {
		t.Helper()
		return &memstore.Buckets{}
	})
}
