package lincheck_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/flakepass/flakepass/internal/proof/lincheck"
)

const ms = time.Millisecond

// A sim is a system that is right, except that an instance other than the one
// that ended a login may accept it for up to stale longer. Its clients' questions
// overlap: each happens at a random instant between question and answer.
type sim struct {
	rng   *rand.Rand
	stale time.Duration
	ops   []lincheck.Op
}

// simulate is a history of users who log in and out while others verify.
func simulate(seed uint64, users, rounds int, stale time.Duration) []lincheck.Op {
	s := &sim{rng: rand.New(rand.NewPCG(seed, 1)), stale: stale}
	for u := range users {
		s.user(fmt.Sprintf("user%d", u), rounds)
	}
	return s.ops
}

func (s *sim) user(user string, rounds int) {
	type life struct {
		id         int64
		received   time.Duration // when its owner had it
		born, died time.Duration // the instants
		why        string
	}
	var lives []life
	// around is an op that happens at that instant, asked and answered up to 3 ms
	// before and after.
	around := func(at time.Duration, o lincheck.Op) lincheck.Op {
		o.User = user
		o.Call, o.Return = at-s.upTo(3*ms)-1, at+s.upTo(3*ms)+1
		s.ops = append(s.ops, o)
		return o
	}
	now := 10 * ms
	for i := range rounds {
		l := life{id: int64(i + 1), born: now, why: "token_replaced"}
		o := around(l.born, lincheck.Op{Kind: lincheck.Login, Token: l.id, Outcome: lincheck.Done, At: "a"})
		l.received = o.Return
		now = o.Return + s.upTo(20*ms) + 1
		l.died = now
		lives = append(lives, l)
		if s.rng.IntN(3) > 0 { // else the next login replaces it
			last := &lives[i]
			last.why = "token_logged_out"
			o = around(now, lincheck.Op{Kind: lincheck.Logout, Token: l.id, Outcome: lincheck.Done, At: "b"})
			now = o.Return + s.upTo(5*ms) + 1
		}
	}
	if last := &lives[rounds-1]; last.why == "token_replaced" { // and it was not
		last.died = now + time.Hour
	}
	for i, l := range lives {
		for range 10 {
			at := l.received + 4*ms + s.upTo(40*ms+s.stale)
			o := lincheck.Op{Kind: lincheck.Verify, Token: l.id, At: "c", Outcome: lincheck.Refused, Code: l.why}
			switch {
			case at < l.died:
				o.Outcome, o.Code, o.At = lincheck.Done, "", "d"
			case at < l.died+s.stale && s.rng.IntN(2) == 0:
				o.Outcome, o.Code, o.At = lincheck.Done, "", "d"
			case i+1 < rounds && at >= lives[i+1].died && s.rng.IntN(2) == 0:
				o.Code = "token_invalid"
			}
			around(at, o)
		}
	}
}

func (s *sim) upTo(d time.Duration) time.Duration { return time.Duration(s.rng.Int64N(int64(d) + 1)) }
