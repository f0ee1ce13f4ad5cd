package accounttest_test

import (
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/account/accounttest"
)

func TestMemoryUsers(t *testing.T) {
	accounttest.TestUsers(t, func(*testing.T) account.Users { return new(accounttest.Users) })
}
