package lineartest

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/lincheck"
)

// run lets all act for that long, while during does to the system what it
// does, and returns when the last question was answered. seed decides what they
// do, and not when.
func (c *cohort) run(seed uint64, length time.Duration, during func()) {
	var all sync.WaitGroup
	for i, p := range c.people {
		rng := func(role uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(i)*10+role)) }
		all.Go(func() { c.live(p, rng(0), i < 2) })
		for v := range uint64(2) {
			all.Go(func() { c.look(p, rng(1+v)) })
		}
	}
	all.Go(func() { c.operate(rand.New(rand.NewPCG(seed, 999))) })
	over := time.After(length)
	during()
	<-over
	close(c.stop)
	all.Wait()
}

// pause waits for a random time up to most, and reports whether to go on.
func (c *cohort) pause(rng *rand.Rand, most time.Duration) bool {
	return c.wait(time.Duration(rng.Int64N(int64(most))))
}

func (c *cohort) wait(d time.Duration) bool {
	select {
	case <-c.stop:
		return false
	case <-time.After(d):
		return true
	}
}

func (c *cohort) any(rng *rand.Rand) *server { return c.servers[rng.IntN(len(c.servers))] }

// live logs in and ends the login in every way that its owner has. Whoever is
// forgetful leaves the first login to the sweep.
func (c *cohort) live(p *person, rng *rand.Rand, forgetful bool) {
	for ; c.pause(rng, 100*time.Millisecond); forgetful = false {
		t, ok := c.login(c.any(rng), p, c.device(rng))
		if !ok {
			continue
		}
		how := rng.IntN(100)
		hold := 300 * time.Millisecond
		if forgetful || how < 2 {
			hold = time.Second
			if !c.wait(lifetime) {
				return
			}
		}
		if !c.pause(rng, hold) {
			return
		}
		switch {
		case how < 20: // the next login ends it
		case how < 25:
			if !c.newPassword(c.any(rng), p, t) {
				return
			}
		case how < 40: // twice at once, and a new login on top
			var both sync.WaitGroup
			for range 2 {
				at := c.any(rng)
				both.Go(func() { c.logout(at, p, t) })
			}
			c.login(c.any(rng), p, c.device(rng))
			both.Wait()
		case c.sessions > 1 && how < 80: // it goes on beside the next one, or alone
			switch {
			case how < 47:
				c.endMore(c.any(rng), p, t, how < 42)
			case how < 52:
				c.endAnother(c.any(rng), rng, p, t)
			}
		default:
			c.logout(c.any(rng), p, t)
			// A login soon after it carries its end to the others; here none does.
			if how >= 80 && !c.wait(2*e2e.Bound) {
				return
			}
		}
	}
}

// look asks about the last few tokens of that person.
func (c *cohort) look(p *person, rng *rand.Rand) {
	for c.pause(rng, 50*time.Millisecond) {
		p.mu.Lock()
		n := len(p.tickets)
		var t ticket
		if n > 0 {
			t = p.tickets[max(0, n-1-rng.IntN(3+c.sessions)*rng.IntN(2))]
		}
		p.mu.Unlock()
		if n > 0 {
			c.verify(c.any(rng), p, t)
		}
	}
}

// operate does what an operator does from the command line, to one after another.
func (c *cohort) operate(rng *rand.Rand) {
	vars := c.d.With()
	for c.pause(rng, 2*time.Second) {
		p := c.people[rng.IntN(len(c.people))]
		do := func(k lincheck.Kind, verb, code string) {
			op := c.rec.Ask(p.name, k, 0, "")
			if r := e2e.Command(c.t, vars, "", "user", verb, p.name); r.Code != 0 {
				c.undecided(op)
			} else {
				op.Ended(code)
			}
		}
		if c.sessions > 1 && rng.IntN(2) == 0 {
			c.changeLimit(rng)
			continue
		}
		if rng.IntN(2) == 0 {
			do(lincheck.End, "logout", "token_revoked")
			continue
		}
		do(lincheck.Disable, "disable", "")
		c.pause(rng, 500*time.Millisecond)
		do(lincheck.Enable, "enable", "")
	}
}
