package main

import (
	"time"

	"github.com/flakepass/flakepass/internal/policy"
	"github.com/flakepass/flakepass/internal/session"
	"github.com/flakepass/flakepass/internal/session/feed"
)

// A recognition answers for the tokens that other services are shown.
type recognition struct {
	*session.Service
	rule *policy.Live
	feed *feed.Feed
}

func (r recognition) Current() *policy.Policy { return r.rule.Current() }
func (r recognition) Horizon() time.Time      { return r.feed.Horizon() }
