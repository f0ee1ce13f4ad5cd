package run

import (
	"time"

	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A recognition answers for the tokens that other services are shown.
type recognition struct {
	*session.Service
	rule  *policy.Live
	tiers *tiers
}

func (r recognition) Current() *policy.Policy { return r.rule.Current() }
func (r recognition) Horizon() time.Time      { return r.tiers.feed.Horizon() }
func (r recognition) Clock() time.Time        { return r.tiers.clock() }
