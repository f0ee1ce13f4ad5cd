package redisworker

import (
	"cmp"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/internal/lend"
)

var _ idworker.Lender = (*Lender)(nil)

const (
	defaultNamespace = "flakepass"

	defaultStale = 30 * time.Second

	// defaultReach is a Worker's default window of 3 s, its lead and a unit of a
	// second, and room for clocks that differ.
	defaultReach = 5 * time.Second

	defaultSkew = time.Second
)

// A Lender lends the numbers of one namespace. Set the fields before use; only
// Client is required.
//
// All Lenders of a namespace need the same Reach and Skew.
type Lender struct {
	// Client is a server, a Sentinel group or a Cluster. Its user may run
	// scripts, TIME, INFO, CLUSTER INFO and commands on hashes; with Replicas
	// also WAIT. With ContextTimeoutEnabled, no call takes longer than its
	// context; without, up to the client's own timeouts longer.
	Client redis.UniversalClient

	// Namespace separates those that share a Redis. Empty means "flakepass".
	// IDs of two namespaces may be equal.
	Namespace string

	// Holder is the name of the owner for people, such as "host:pid". It means nothing
	// to the Lender.
	Holder string

	// Only, if set, is the one number to lend. Processes that share it by
	// mistake take it from each other and mint in turns; they never mint one ID
	// twice. From a living owner who has chosen it among many it is not taken:
	// that is [idworker.ErrNoNumber].
	Only *int

	// Numbers is how many numbers there are, from 0. Zero means 1024.
	Numbers int

	// Stale is how long an owner has to be silent before its number may be taken
	// from it, at least Reach and Skew together. Zero means 30 s, or those
	// together if they are more.
	Stale time.Duration

	// Reach is how far ahead of Redis' clock a range may end. It has to hold a
	// Worker's Window, its Lead and a Unit of its Layout, and what its clock is
	// ahead of Redis'; what asks for more gets ErrReach. The calm after a loss
	// is as long as Reach and twice Skew. Zero means 5 s.
	Reach time.Duration

	// Skew is how far apart the clocks of any two servers may be that are or
	// become the master, together with how long a master that was replaced may
	// go on lending. Zero means 1 s.
	Skew time.Duration

	// Replicas, if set, is how many replicas must have a change before it
	// counts; if they do not within a second, that is ErrReplicas. As many as
	// the master has mean that a master which was replaced lends nothing any
	// more. Client must be a *redis.Client or a *redis.ClusterClient then.
	Replicas int

	// Now is the time at which ranges begin; nil means time.Now.
	Now func() time.Time

	// Waiting, if set, is called when Acquire waits for its first chance to
	// lend, and until when by Redis' clock. It is called before each wait.
	Waiting func(until time.Time)
}

// limits are the settings in force.
type limits struct {
	reach, skew, stale time.Duration
	numbers            int
}

func (l *Lender) limits() (limits, error) {
	many, err := lend.Numbers(l.Numbers)
	if err != nil {
		return limits{}, fmt.Errorf("%w: %w", ErrSettings, err)
	}
	o := limits{reach: cmp.Or(l.Reach, defaultReach), skew: cmp.Or(l.Skew, defaultSkew), numbers: many}
	o.stale = cmp.Or(l.Stale, max(defaultStale, o.reach+o.skew))
	// Years would leave the digits that the record has for an instant.
	const longest = 365 * 24 * time.Hour
	for _, d := range []time.Duration{o.reach, o.skew, o.stale} {
		if d < time.Millisecond || d > longest || d%time.Millisecond != 0 {
			return o, fmt.Errorf("%w: Reach %v, Skew %v, Stale %v: make them whole milliseconds, and at most a year",
				ErrSettings, o.reach, o.skew, o.stale)
		}
	}
	switch {
	case o.stale < o.reach+o.skew:
		return o, fmt.Errorf("%w: Stale (%v) is less than Reach and Skew together (%v); raise it", ErrSettings, o.stale, o.reach+o.skew)
	case l.Replicas < 0, l.Only != nil && *l.Only < 0:
		return o, fmt.Errorf("%w: Replicas or Only is negative", ErrSettings)
	case l.Client == nil:
		return o, fmt.Errorf("%w: set Client", ErrSettings)
	}
	return o, nil
}

// key is where the record lies. The namespace in braces keeps it in one slot
// with whatever else an operator puts beside it.
func (l *Lender) key() string {
	return "idworker:{" + cmp.Or(l.Namespace, defaultNamespace) + "}"
}
