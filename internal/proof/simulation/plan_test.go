package simulation

import (
	"math/rand/v2"
	"time"

	"github.com/flakepass/flakepass/internal/domain/policy"
)

// A plan is what the seed of a world decides before it begins.
type plan struct {
	seed      uint64
	bound     time.Duration
	policy    policy.Policy
	sessions  int           // of a user at once, at most, whatever the policy becomes
	scopes    bool          // policies have overrides
	span      time.Duration // how long it is busy
	instances int
	people    int
	clients   int
	pace      time.Duration   // of each client, at most between two requests
	ends      int             // of 100 requests, how many are to end a login or begin one
	skew      []time.Duration // of the clock of each instance
	ahead     time.Duration   // by how much the database's clock shows more than the true time
	setBack   bool            // the database's clock may be set back; then no policy ends anything
	redis     bool
	remote    bool
	changes   time.Duration // between two changes of the policy, at most; 0: there are none
	sweeps    time.Duration // between two sweeps, at most; 0: there are none
	trouble   time.Duration // between two faults, at most
	mood      dbMood        // of the database at first
	worst     mood          // of the connection that is bad at first
}

const second = time.Second

// A theme is what goes wrong most in a world.
type theme int

const (
	hangs    theme = iota // commits of ends and logins
	badLink               // one instance receives late, and loses answers
	changing              // the policy, by commits that hang
	deafPoll              // one instance cannot poll, and all else works
	noAnswer              // half of the commits take long or are lost, and one user is logged out again and again
	anything
	themes = anything + 2
)

func planOf(seed uint64) plan {
	return planWith(seed, theme(rand.New(rand.NewPCG(seed, 5001)).IntN(int(themes))))
}

func planWith(seed uint64, most theme) plan {
	r := rand.New(rand.NewPCG(seed, 5000))
	between := func(least, most time.Duration) time.Duration {
		return (least + time.Duration(r.Int64N(int64(most-least+1)))).Truncate(time.Millisecond)
	}
	one := func(of ...time.Duration) time.Duration { return of[r.IntN(len(of))] }
	p := plan{
		seed: seed, bound: one(2*second, 5*second), span: between(40*second, 100*second),
		instances: 2 + r.IntN(2), people: 1 + r.IntN(3), clients: 2 + r.IntN(2),
		pace: one(700*time.Millisecond, 2*second, 5*second), ends: 1 + r.IntN(1+r.IntN(30)),
		redis: r.IntN(3) > 0, remote: r.IntN(6) == 0,
		changes: one(0, 8*second, 20*second, 40*second), sweeps: one(0, 3*second, 15*second), trouble: one(2*second, 6*second, 15*second),
		policy: policy.Default(),
	}
	switch most {
	case hangs:
		p.mood = dbMood{late: r.Float64() / 2, hang: r.Float64() / 2, lose: r.Float64() / 4, deaf: r.Float64() / 2}
		p.ends += 10
	case noAnswer:
		p.mood, p.trouble = dbMood{hang: 0.2, late: 0.2, lose: 0.3}, 40*second
		p.ends, p.clients, p.people, p.remote, p.redis, p.setBack = 40, 3, 1, false, false, false
		p.pace, p.changes, p.sweeps = 2*second, 0, 0
	case badLink:
		p.worst = mood{lose: r.Float64() / 2, slow: 3 * second, poll: r.Float64()}
		p.pace = 700 * time.Millisecond
	case changing:
		p.mood = dbMood{hang: r.Float64(), deaf: 0.1}
		p.changes, p.sweeps = 8*second, one(0, 3*second)
	case deafPoll:
		p.worst, p.trouble = mood{poll: 1}, 15*second
		p.changes, p.sweeps, p.ends, p.pace = 20*second, 0, 1, 700*time.Millisecond
	}
	p.skew = make([]time.Duration, p.instances)
	switch r.IntN(3) {
	case 0:
		for i := range p.skew {
			p.skew[i] = between(0, 6*second) - 3*second
		}
		p.ahead = between(0, 10*second) - 5*second
	case 1:
		for i := range p.skew {
			p.skew[i] = between(0, 6*time.Minute) - 3*time.Minute
		}
		p.ahead = between(0, 6*time.Minute) - 3*time.Minute
	}
	if p.remote { // a hub goes by the clock of the machine
		p.skew[0] = 0
	}
	if p.setBack = r.IntN(8) == 0; p.setBack {
		p.changes, p.remote = 0, false
	} else {
		p.policy.Idle, p.policy.Absolute, p.policy.Touch = p.times(r)
	}
	return p.withSlots().withScopes()
}

// withSlots lets the users of half of the worlds have several sessions.
func (p plan) withSlots() plan {
	r := rand.New(rand.NewPCG(p.seed, 5002))
	if p.sessions = 1; r.IntN(2) == 0 {
		return p
	}
	p.sessions = 2 + r.IntN(4)
	p.policy.MaxSessions = max(1+r.IntN(p.sessions), 1+r.IntN(p.sessions))
	p.policy.Further = p.policy.MaxSessions > 1
	p.ends += 5
	return p
}

// times are those of a policy under which a login ends within a world.
func (p *plan) times(r *rand.Rand) (idle, absolute, touch time.Duration) {
	idle = time.Duration(20+r.IntN(21)) * second
	absolute = time.Duration(40+r.IntN(81)) * second
	touch = time.Duration(1+r.IntN(int(idle/second)/2)) * second
	return idle, absolute, touch
}

// life is how long after its row has said that it ended a login may be believed
// at most, if its end was committed late and not acknowledged.
func (p *plan) life(ofEntry time.Duration) time.Duration {
	for _, skew := range p.skew {
		if skew != 0 && p.redis {
			return ofEntry*3/2 + p.bound // what lies in Redis may look younger than it is
		}
	}
	return ofEntry + p.bound
}
