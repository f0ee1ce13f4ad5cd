package redisworker

import (
	"context"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"strconv"
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

// A verdict is the first word of what a script answers. The words behind it are
// numbers, instants in Unix milliseconds, or text.
type verdict string

const (
	ok       verdict = "ok"       // number, from, fence
	wait     verdict = "wait"     // until when, TIME, and why: calm or fence
	beyond   verdict = "reach"    // TIME
	lost     verdict = "lost"     //
	none     verdict = "none"     // why: all or pool
	broken   verdict = "broken"   // which field
	settings verdict = "settings" // the Reach and Skew that the record was made with
)

// shape is what the words behind a verdict are: n is a number, t is text.
var shape = map[verdict]string{
	ok: "nnn", wait: "nnt", beyond: "n", lost: "", none: "t", broken: "t", settings: "nn",
}

// An answer is what a script says, in words that were checked.
type answer struct {
	verdict verdict
	n       [3]int64
	text    string
}

// largest has 15 digits, as many as the scripts read and write.
const largest = 1e15 - 1

// parse is [ErrBroken] for whatever the scripts do not answer.
func parse(words []string) (answer, error) {
	foreign := fmt.Errorf("%w: a script answered %q", ErrBroken, words)
	if len(words) == 0 {
		return answer{}, foreign
	}
	a := answer{verdict: verdict(words[0])}
	kinds, known := shape[a.verdict]
	if !known || len(words) != 1+len(kinds) {
		return answer{}, foreign
	}
	for i, kind := range kinds {
		word := words[1+i]
		if kind == 't' {
			a.text = word
			continue
		}
		n, err := strconv.ParseUint(word, 10, 64)
		if err != nil || n > largest {
			return answer{}, foreign
		}
		a.n[i] = int64(n)
	}
	if a.verdict == ok && a.n[1] > a.n[2] {
		return answer{}, foreign
	}
	return a, nil
}

func (a answer) number() int { return int(a.n[0]) }

// from and until are the range of an ok.
func (a answer) from() time.Time  { return time.UnixMilli(a.n[1]) }
func (a answer) until() time.Time { return time.UnixMilli(a.n[2]) }
