package redisworker

import (
	"context"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed record.lua
	recordLua string
	//go:embed acquire.lua
	acquireLua string
	//go:embed extend.lua
	extendLua string
	//go:embed release.lua
	releaseLua string
)

var (
	acquireScript = redis.NewScript(recordLua + acquireLua)
	extendScript  = redis.NewScript(recordLua + extendLua)
	releaseScript = redis.NewScript(recordLua + releaseLua)
)

// confirmMost is the longest that a change waits for the replicas.
const confirmMost = time.Second

// run executes a script, and waits for the replicas if it changed something.
func (l *Lender) run(ctx context.Context, s *redis.Script, o limits, args ...any) (answer, error) {
	args = append([]any{o.reach.Milliseconds(), o.skew.Milliseconds()}, args...)
	if l.Replicas == 0 {
		return answerOf(s.Run(ctx, l.Client, []string{l.key()}, args...).StringSlice())
	}
	node, err := l.master(ctx)
	if err != nil {
		return answer{}, err
	}
	// WAIT speaks of what its own connection has written.
	conn := node.Conn()
	defer func() { _ = conn.Close() }() // back to the pool
	a, err := answerOf(s.Run(ctx, conn, []string{l.key()}, args...).StringSlice())
	if err != nil {
		if _, moved := redis.IsMovedError(err); moved {
			l.reload(ctx)
		}
		return answer{}, err
	}
	if a.verdict != ok {
		return a, nil
	}
	patience := confirmMost
	if d, limited := ctx.Deadline(); limited {
		patience = max(time.Millisecond, min(patience, time.Until(d))) // 0 would be for ever
	}
	n, err := conn.Wait(ctx, l.Replicas, patience).Result()
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", ErrReplicas, unavailable(err))
	}
	if n < int64(l.Replicas) {
		return answer{}, fmt.Errorf("%w: %d of %d did within %v", ErrReplicas, n, l.Replicas, patience)
	}
	return a, nil
}

// master is a client of the one server that has the key.
func (l *Lender) master(ctx context.Context) (*redis.Client, error) {
	switch c := l.Client.(type) {
	case *redis.Client:
		return c, nil
	case *redis.ClusterClient:
		node, err := c.MasterForKey(ctx, l.key())
		if err != nil {
			return nil, unavailable(err)
		}
		return node, nil
	}
	return nil, fmt.Errorf("%w: Replicas needs a *redis.Client or a *redis.ClusterClient, and Client is a %T", ErrSettings, l.Client)
}

// reload makes a cluster's client ask who has which slots.
func (l *Lender) reload(ctx context.Context) {
	if c, is := l.Client.(*redis.ClusterClient); is {
		c.ReloadState(ctx)
	}
}

// answerOf reads the outcome of a script.
func answerOf(words []string, err error) (answer, error) {
	switch {
	case err == nil:
		return parse(words)
	case redis.HasErrorPrefix(err, "WRONGTYPE"):
		return answer{}, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return answer{}, unavailable(err)
}

func unavailable(err error) error {
	if errors.Is(err, ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
