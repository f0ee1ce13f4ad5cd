package redisworker

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/internal/lend"
)

// onlyPrefix begins the token of a number that was not chosen from the pool.
// Such numbers are taken from living owners, so that after a loss it is unknown
// whose they are.
const onlyPrefix = "only-"

// isToken is what a token looks like, ours or another Lender's.
var isToken = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`) })

// kindOf is how the record says where a token's number comes from.
func kindOf(token string) string {
	if strings.HasPrefix(token, onlyPrefix) {
		return "o"
	}
	return "p"
}

// Acquire implements [idworker.Lender]. In order of preference it takes a
// number that was given back, one whose owner has been silent for Stale, one
// that was not lent before, and one of the first two kinds whose fence is still
// ahead of the clock, nearest first.
//
// During a calm it waits, asleep, for the end, or returns [ErrCalm] at once if
// ctx ends before.
func (l *Lender) Acquire(ctx context.Context, window time.Duration) (idworker.Grant, error) {
	g, err := l.acquire(ctx, window)
	if err != nil {
		return idworker.Grant{}, fmt.Errorf("redisworker: acquire: %w", err)
	}
	return g, nil
}

func (l *Lender) acquire(ctx context.Context, window time.Duration) (idworker.Grant, error) {
	o, err := l.limits()
	if err != nil {
		return idworker.Grant{}, err
	}
	token, only := crand.Text(), ""
	if l.Only != nil {
		token, only = onlyPrefix+token, fmt.Sprint(*l.Only)
	}
	ms := max(0, window.Milliseconds())
	for {
		now := lend.Now(l.Now)
		a, err := l.run(ctx, acquireScript, o,
			token, kindOf(token), lend.Holder(l.Holder), ms, now, o.stale.Milliseconds(), o.numbers, only)
		switch {
		case err != nil:
			return idworker.Grant{}, err
		case a.verdict == wait:
			if err := l.wait(ctx, a); err != nil {
				return idworker.Grant{}, err
			}
			continue
		case a.verdict != ok:
			return idworker.Grant{}, l.err(a, o)
		case a.n[1] < now || a.n[2]-a.n[1] != ms:
			return idworker.Grant{}, fmt.Errorf("%w: asked for %d ms from %s, got %v", ErrBroken, ms, instant(now), a.n)
		}
		return idworker.Grant{Number: a.number(), Token: token, From: a.from(), Until: a.until()}, nil
	}
}

// wait sleeps until Redis' clock shows what an answer says. This machine's has
// no part in it.
func (l *Lender) wait(ctx context.Context, a answer) error {
	const longest = math.MaxInt64 / int64(time.Millisecond) // of a Duration; a broken field may have a fence beyond
	until, d := time.UnixMilli(a.n[0]), time.Duration(min(max(1, a.n[0]-a.n[1]), longest))*time.Millisecond
	why := fmt.Errorf("%w: no number is lent before %s (in %v)", ErrCalm, instant(a.n[0]), d)
	if a.text != "calm" {
		why = fmt.Errorf("%w: the first that is free begins a range after %s (in %v)", idworker.ErrNoNumber, instant(a.n[0]), d)
	}
	if deadline, limited := ctx.Deadline(); limited && time.Until(deadline) < d {
		return why
	}
	if l.Waiting != nil {
		l.Waiting(until)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return errors.Join(why, ctx.Err())
	}
}

// Extend implements [idworker.Lender]. It goes on during a calm for an owner
// whose range had not ended when the calm began, unless its number is an Only;
// any other gets [idworker.ErrLost] if Redis has forgotten it.
func (l *Lender) Extend(ctx context.Context, g idworker.Grant, until time.Time) (idworker.Grant, error) {
	if err := l.extend(ctx, &g, until.UnixMilli()); err != nil {
		return idworker.Grant{}, fmt.Errorf("redisworker: extend: %w", err)
	}
	return g, nil
}

func (l *Lender) extend(ctx context.Context, g *idworker.Grant, until int64) error {
	o, err := l.limits()
	if err != nil {
		return err
	}
	if !lendable(*g) {
		return idworker.ErrLost
	}
	from, known := g.From.UnixMilli(), g.Until.UnixMilli()
	a, err := l.run(ctx, extendScript, o,
		g.Token, kindOf(g.Token), lend.Holder(l.Holder), g.Number, from, known, max(0, min(until, largest)))
	switch {
	case err != nil:
		return err
	case a.verdict != ok:
		return l.err(a, o)
	case a.number() != g.Number || a.n[2] < known:
		return fmt.Errorf("%w: asked for number %d until %s or later, got %v", ErrBroken, g.Number, instant(known), a.n)
	}
	g.Until = a.until()
	return nil
}

// Release implements [idworker.Lender].
func (l *Lender) Release(ctx context.Context, g idworker.Grant, used time.Time) error {
	if err := l.release(ctx, g, used); err != nil {
		return fmt.Errorf("redisworker: release: %w", err)
	}
	return nil
}

func (l *Lender) release(ctx context.Context, g idworker.Grant, used time.Time) error {
	o, err := l.limits()
	if err != nil {
		return err
	}
	if !lendable(g) {
		return idworker.ErrLost
	}
	ms := max(0, min(lend.CeilMilli(used), largest))
	a, err := l.run(ctx, releaseScript, o, g.Token, g.Number, g.From.UnixMilli(), g.Until.UnixMilli(), ms)
	switch {
	case err != nil:
		return err
	case a.verdict != ok:
		return l.err(a, o)
	}
	return nil
}

// lendable reports whether a Lender can have lent g. What could not be read
// again must not get into the record.
func lendable(g idworker.Grant) bool {
	from, until := g.From.UnixMilli(), g.Until.UnixMilli()
	return g.Number >= 0 && isToken().MatchString(g.Token) && 0 <= from && from <= until && until <= largest
}
