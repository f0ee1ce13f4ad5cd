// Package activity counts what happens, by the hour, for people to look at. It
// is no record: an instance that is killed takes the counts of its last minute
// along, and one whose write got no answer writes it again.
package activity

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"
)

// A Kind of what is counted.
type Kind string

// The kinds.
const (
	Login   Kind = "login"   // a login has begun
	Refused Kind = "refused" // a login was refused: wrong password, disabled account
	Logout  Kind = "logout"  // a user has logged out
	Expired Kind = "expired" // a login that was over was swept
)

// Kinds are all of them, in the order in which they are shown.
var Kinds = [...]Kind{Login, Logout, Expired, Refused}

const (
	// Every is how often an instance writes its counts.
	Every = time.Minute
	// Keep is how long counts are kept: a week and a day.
	Keep = 8 * 24 * time.Hour
)

// A Count is how often something happened within the hour that began then.
type Count struct {
	Hour time.Time
	Kind Kind
	N    int64
}

// A Store keeps counts. Add adds those of one instance, all or nothing. Prune
// forgets hours that began before then.
type Store interface {
	Add(ctx context.Context, instance string, counts []Count) error
	Prune(ctx context.Context, before time.Time) error
}

// A Counter counts for one instance. Set the fields once, before use.
type Counter struct {
	Store    Store
	Instance string // its name, at most 64 bytes
	Now      func() time.Time
	Log      *slog.Logger

	counts [len(Kinds)]atomic.Int64
}

// Add counts n of that kind. It costs one addition.
func (c *Counter) Add(k Kind, n int) {
	if i := slices.Index(Kinds[:], k); i >= 0 {
		c.counts[i].Add(int64(n))
	}
}

// Flush writes what was counted since the last time. What cannot be written is
// kept, and counts for the hour in which it can. Once an hour would do for
// Prune, but it is one look at an index.
func (c *Counter) Flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	now := c.Now()
	var counts []Count
	for i := range Kinds {
		if n := c.counts[i].Swap(0); n > 0 {
			counts = append(counts, Count{now.UTC().Truncate(time.Hour), Kinds[i], n})
		}
	}
	if len(counts) == 0 {
		return nil
	}
	if err := c.Store.Add(ctx, c.Instance, counts); err != nil {
		for _, count := range counts {
			c.Add(count.Kind, int(count.N))
		}
		return err
	}
	return c.Store.Prune(ctx, now.Add(-Keep))
}

// Run writes the counts once a minute until ctx ends, and then once more. It
// logs the first failure of a row of failures.
func (c *Counter) Run(ctx context.Context) {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			_ = c.Flush(last) // the last minute may get lost
			return
		case <-tick.C:
			err := c.Flush(ctx)
			if err != nil && !failing && ctx.Err() == nil {
				c.Log.WarnContext(ctx, "activity not counted in the database; it is kept and tried again", "err", err)
			}
			failing = err != nil
		}
	}
}
