//nolint:forbidigo // every sleep is in a synctest bubble
package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/redisstore"
)

var (
	errSilent  = fmt.Errorf("no answer: %w", context.DeadlineExceeded)
	errRefused = errors.New("connection refused")
)

// TestBreakerOpens has a minute of every story, in a bubble: the answers of a
// server, each some time after the one before, and whether it is left alone
// after the last.
func TestBreakerOpens(t *testing.T) {
	type answer struct {
		after time.Duration
		err   error
	}
	for name, c := range map[string]struct {
		answers []answer
		open    bool
	}{
		"silent for as long as a stall":      {[]answer{{0, errSilent}, {redisstore.Stall / 2, errSilent}, {redisstore.Stall / 2, errSilent}}, true},
		"silent for less":                    {[]answer{{0, errSilent}, {redisstore.Stall / 2, errSilent}, {redisstore.Stall/2 - 1, errSilent}}, false},
		"many that are silent at once":       {slices.Repeat([]answer{{0, errSilent}}, 1000), false},
		"silent twice, far apart":            {[]answer{{0, errSilent}, {time.Minute, errSilent}}, false},
		"an answer between":                  {[]answer{{0, errSilent}, {redisstore.Stall, nil}, {0, errSilent}, {0, errSilent}, {0, errSilent}}, false},
		"an answer that there is no such":    {[]answer{{0, errSilent}, {redisstore.Stall, redis.Nil}, {0, errSilent}, {0, errSilent}, {0, errSilent}}, false},
		"refuses":                            {[]answer{{0, errRefused}, {0, errRefused}, {0, errRefused}}, true},
		"refuses twice":                      {[]answer{{0, errRefused}, {0, errRefused}}, false},
		"refuses, knowing no master":         {slices.Repeat([]answer{{0, fmt.Errorf("sentinel: %w", redis.Nil)}}, 3), true},
		"callers leave":                      {slices.Repeat([]answer{{redisstore.Stall, context.Canceled}}, 100), false},
		"callers leave between":              {[]answer{{0, errRefused}, {0, context.Canceled}, {0, errRefused}, {0, errRefused}}, true},
		"silent, and refuses in the end":     {[]answer{{0, errSilent}, {0, errSilent}, {0, errRefused}}, true},
		"refused once, answered, and silent": {[]answer{{0, errRefused}, {0, nil}, {0, errSilent}, {0, errSilent}, {0, errSilent}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log testenv.Journal
				b := redisstore.NewBreaker("cache:6379", logger(&log))
				for i, a := range c.answers {
					time.Sleep(a.after)
					if !b.Ask(a.err) {
						t.Fatalf("left alone before answer %d", i)
					}
				}
				if asked := b.Ask(nil); asked == c.open {
					t.Errorf("asked %v, want open %v", asked, c.open)
				}
				want := 0
				if c.open {
					want = 1
				}
				if n := log.Count("does not answer"); n != want || log.Count("server=cache:6379") != n {
					t.Errorf("%d lines, want %d, with the server's address\n%s", n, want, log.String())
				}
			})
		})
	}
}

// TestBreakerTriesAgain: after each pause one request, and all once that was
// answered. A caller who leaves in the middle of it has not tried.
func TestBreakerTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log testenv.Journal
		b := redisstore.NewBreaker("", logger(&log))
		for range 3 {
			b.Ask(errRefused)
		}
		for range 5 {
			if b.Ask(nil) {
				t.Fatal("asked at once")
			}
			time.Sleep(redisstore.Pause + 1)
			if !b.Ask(errSilent) {
				t.Fatal("not tried after the pause")
			}
		}
		time.Sleep(redisstore.Pause + 1)
		if !b.Ask(context.Canceled) || log.Count("answers again") != 0 {
			t.Fatalf("a caller who left counts as an answer\n%s", log.String())
		}
		for range 10 {
			if !b.Ask(nil) {
				t.Fatal("left alone although it answers")
			}
		}
		if log.Count("does not answer") != 1 || log.Count("answers again") != 1 {
			t.Errorf("want one line for the outage and one for its end\n%s", log.String())
		}
	})
}
