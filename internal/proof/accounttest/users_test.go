package accounttest_test

import (
	"testing"

	"github.com/flakepass/flakepass/internal/proof/accounttest"
)

func TestMemoryUsers(t *testing.T) {
	accounttest.TestUsers(t, func(*testing.T) accounttest.Store { return new(accounttest.Users) })
}
