// Package accounttest helps the tests of packages that use accounts.
//
// An honest Argon2id hash takes tens of milliseconds and 19 MiB, and several
// times that under the race detector; a test that logs in a hundred times
// cannot afford it.
package accounttest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
)

// NewHasher returns a Hasher with cheap hashes and room for a thousand
// callers.
func NewHasher(tb testing.TB) *account.Hasher {
	tb.Helper()
	h, err := account.NewHasher(cheap{}, account.DefaultParams(), 4, 1000)
	if err != nil {
		tb.Fatalf("accounttest: %v", err)
	}
	return h
}

// cost is that of each hash: a few microseconds.
var cost = account.Params{MemoryKiB: 64, Iterations: 1, Parallelism: 1}

// cheap is an [account.Engine] that computes at cost, and writes the costs that it
// was asked for into the hash: it alone can verify it.
type cheap struct{}

func (cheap) Create(password string, p account.Params) (string, error) {
	phc, err := account.Here{}.Create(password, cost)
	return strings.Replace(phc, written(cost), written(p), 1), err
}

func (cheap) Compare(password, phc string) (bool, error) {
	return account.Here{}.Compare(password, costs.ReplaceAllLiteralString(phc, written(cost)))
}

var costs = regexp.MustCompile(`m=\d+,t=\d+,p=\d+`)

func written(p account.Params) string {
	return fmt.Sprintf("m=%d,t=%d,p=%d", p.MemoryKiB, p.Iterations, p.Parallelism)
}
