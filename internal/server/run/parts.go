package run

import (
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/server/config"
)

// NewHasher is the pool in which passwords are hashed: as many at a time as is
// configured, and as many waiting as about two seconds can serve.
func NewHasher(cfg config.Config, e account.Engine) (*account.Hasher, error) {
	return account.NewHasherOn(e, account.DefaultParams(), cfg.HashWorkers, 32*cfg.HashWorkers)
}
