//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package remote_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A turn is one thing that happens, and how long nothing else does.
type turn struct {
	What  string
	Which int
	Time  time.Duration
}

var turns = []string{
	"logout", "logout", "logout", "whisper", "whisper", "whisper", "login",
	"cut", "hold", "release", "slow out", "slow back", "fast", "down", "up", "move", "away", "home", "floor", "rest", "long rest",
}

// TestRemoteBoundAtRandom plays random troubles and asks all the while. No token
// is accepted whose end was acknowledged a bound before it was asked about, no
// living token is refused, and once all is well again everything is decided.
func TestRemoteBoundAtRandom(t *testing.T) {
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		defer func() { _ = checks.Value.Set(checks.DefValue) }()
		_ = checks.Value.Set("30") // a minute of the world each; give the flag for more
	}
	rapid.Check(t, func(rt *rapid.T) {
		plan := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) turn {
			return turn{
				rapid.SampledFrom(turns).Draw(rt, "what"), rapid.IntRange(0, 1000).Draw(rt, "which"),
				time.Duration(rapid.IntRange(0, 4000).Draw(rt, "ms")) * time.Millisecond,
			}
		}), 5, 16).Draw(rt, "plan")
		maxStale := rapid.SampledFrom([]time.Duration{0, -1, time.Hour}).Draw(rt, "MaxStale")
		var faults []string
		synctest.Test(t, func(t *testing.T) { faults = play(t, plan, maxStale) })
		if len(faults) > 0 {
			rt.Fatalf("%v", faults)
		}
	})
}

// A game is what the players know.
type game struct {
	*house
	mu     sync.Mutex
	tokens []flakepass.Token
	ended  map[flakepass.ID]time.Time // when the end was acknowledged
	begun  map[flakepass.ID]bool      // its end has been asked for
	faults []string
}

func play(t *testing.T, plan []turn, maxStale time.Duration) []string {
	const instances = 3
	h := newHouse(t, instances)
	defer func() { h.stop() }()
	n := newNetwork(h.places[0])
	r := h.remote(n, func(o *flakepass.RemoteOptions) { o.MaxStale = maxStale })
	g := &game{house: h, ended: map[flakepass.ID]time.Time{}, begun: map[flakepass.ID]bool{}}
	g.tokens = h.people(3)

	stop := make(chan struct{})
	var players sync.WaitGroup
	for p := range 2 {
		players.Go(func() { g.askAll(r, stop, time.Duration(97+71*p)*time.Millisecond) })
	}
	time.Sleep(3 * time.Second)
	for _, what := range plan {
		g.turn(n, what)
		time.Sleep(what.Time)
	}
	// All is well again.
	n.release()
	n.set(func(n *network) { n.down, n.out, n.back = false, 0, 0 })
	for _, p := range h.places {
		p.away.Store(false)
	}
	time.Sleep(3 * remoteBound)
	close(stop)
	players.Wait()
	for _, token := range g.tokens {
		_, err := r.Verify(context.Background(), token)
		if _, refused := errors.AsType[*flakepass.Refusal](err); refused != g.isOver(token) || err != nil && !refused {
			g.fault("at the end: %v for a token whose end is %v", err, g.isOver(token))
		}
	}
	return g.faults
}

func (g *game) turn(n *network, what turn) {
	p := g.places[what.Which%len(g.places)]
	switch what.What {
	case "logout", "whisper": // a whisper reaches its own instance only
		g.mu.Lock()
		token := g.tokens[what.Which%len(g.tokens)]
		again := g.begun[token.ID()]
		g.begun[token.ID()] = true
		g.mu.Unlock()
		if again {
			return
		}
		g.logout(token, p, what.What == "logout")
		g.mu.Lock()
		g.ended[token.ID()] = time.Now()
		g.mu.Unlock()
	case "login":
		token := g.login("late", "user")
		g.mu.Lock()
		g.tokens = append(g.tokens, token)
		g.mu.Unlock()
	case "floor":
		g.mu.Lock()
		token := g.tokens[what.Which%len(g.tokens)]
		for _, other := range g.tokens {
			if other.ID() <= token.ID() {
				g.begun[other.ID()] = true
			}
		}
		g.mu.Unlock()
		g.truth.mu.Lock()
		g.truth.floor = max(g.truth.floor, session.IDOf(token))
		g.truth.mu.Unlock()
		g.mu.Lock()
		for _, other := range g.tokens {
			if _, over := g.ended[other.ID()]; !over && other.ID() <= token.ID() {
				g.ended[other.ID()] = time.Now()
			}
		}
		g.mu.Unlock()
		if g.mine().ID() <= token.ID() {
			g.renewed()
		}
	case "cut":
		n.cut()
	case "hold":
		n.hold()
	case "release":
		n.release()
	case "slow out":
		n.set(func(n *network) { n.out = what.Time / 2 })
	case "slow back":
		n.set(func(n *network) { n.back = what.Time / 2 })
	case "fast":
		n.set(func(n *network) { n.out, n.back = 0, 0 })
	case "down":
		n.set(func(n *network) { n.down = true })
	case "up":
		n.set(func(n *network) { n.down = false })
	case "move":
		n.set(func(n *network) { n.to = p })
		n.cut()
	case "away":
		p.away.Store(true)
	case "home":
		p.away.Store(false)
	case "long rest":
		time.Sleep(5 * what.Time)
	}
}

// askAll asks about all tokens, again and again.
func (g *game) askAll(r *flakepass.Remote, stop chan struct{}, every time.Duration) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(every):
		}
		g.mu.Lock()
		tokens := g.tokens
		g.mu.Unlock()
		for _, token := range tokens {
			asked := time.Now()
			ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
			_, err := r.Verify(ctx, token)
			cancel()
			g.judge(token, asked, err)
		}
	}
}

func (g *game) judge(token flakepass.Token, asked time.Time, err error) {
	_, refused := errors.AsType[*flakepass.Refusal](err)
	g.mu.Lock()
	at, over := g.ended[token.ID()]
	begun := g.begun[token.ID()]
	g.mu.Unlock()
	switch {
	case err == nil && over && asked.Sub(at) >= remoteBound:
		g.fault("%v accepted %v after its end was acknowledged", token, asked.Sub(at))
	case refused && !begun:
		g.fault("%v refused although it lives: %v", token, err)
	}
}

func (g *game) isOver(token flakepass.Token) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, over := g.ended[token.ID()]
	return over
}

func (g *game) fault(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.faults = append(g.faults, fmt.Sprintf(format, args...))
}
