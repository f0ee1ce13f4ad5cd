//go:build unix

package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestFaults breaks one thing after the other, in an order that the seed
// decides, and holds every answer to the promises:
//
//   - no token is accepted later than the bound after its end was acknowledged;
//   - no living token is refused;
//   - what was acknowledged is on the rows, and true everywhere, afterwards;
//   - what could not be decided is 503 with Retry-After, and nothing else;
//   - when twice the bound has passed since the end of the fault, all is
//     decided again.
//
// `make test` runs as many faults as fit into its time, `make chaos` all of
// them, longer.
func TestFaults(t *testing.T) {
	seed := seed(t)
	t.Logf("FLAKEPASS_CHAOS_SEED=%d", seed)
	p := plan{bound: time.Second, length: 2500 * time.Millisecond, budget: 24 * time.Second, people: 10}
	if whole() {
		p = plan{bound: 2 * time.Second, length: 6 * time.Second, budget: time.Hour, people: 16}
	}
	w := newWorld(t, recipe{instances: 3, bound: p.bound})
	run(t, w, seed, p, of(""))
	if !whole() {
		return
	}
	t.Run("sentinel", func(t *testing.T) {
		run(t, newWorld(t, recipe{instances: 3, bound: p.bound, sentinel: true}), seed, p, of("sentinel"))
	})
	t.Run("clock", func(t *testing.T) {
		// A user who logged in where the clock was ahead can log in there only, until
		// the other clocks reach that time: IDs of one user grow.
		p := p
		p.pardon = "POST /v1/login"
		run(t, newWorld(t, recipe{instances: 3, bound: p.bound, program: testenv.EditedFlakepass(t, root, testenv.SettableClock(time.Hour)...)}), seed, p, of("clock"))
	})
}

// of is the faults for such a world.
func of(kind string) []fault {
	return slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return f.only != kind })
}

// A plan says how hard and how long.
type plan struct {
	bound, length, budget time.Duration
	people                int
	pardon                string // see ledger
	want                  string // in a violation: a fault may end when there is one; empty: it lasts its length
}

// run lets people live in w while it breaks, and reports.
func run(t *testing.T, w *world, seed uint64, p plan, faults []fault) {
	t.Helper()
	crowd, leave := gather(t, w, seed, p.people, p.pardon)
	defer leave()
	r := newRand(seed, "faults")
	r.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
	var rows []row
	start := time.Now()
	for _, f := range faults {
		if time.Since(start) > p.budget {
			break
		}
		ok := t.Run(f.name, func(t *testing.T) {
			rows = append(rows, crowd.endure(t, f, p, r))
			for _, v := range crowd.broken() {
				t.Error(v)
			}
		})
		if !ok {
			break // what is broken now is not the next fault's doing
		}
	}
	t.Logf("bound %v, %d instances, %d people, seed %d, %v\n%s",
		p.bound, len(w.instances), p.people, seed, time.Since(start).Round(time.Second), table(rows))
}

// endure has one fault happen, and looks at what became of the promises.
func (c *crowd) endure(t *testing.T, f fault, p plan, r *rand.Rand) row {
	c.stir()
	c.healed.Store(nil)
	start := time.Now()
	f.strike(&scene{world: c.w, t: t, rand: r, length: p.length, enough: func() bool { return c.said(p.want) != "" }})
	healed := time.Now()
	c.healed.Store(&healed)

	// A machine that stands still for a while gives the server no time either.
	slow := newSlowness(c.w)
	for time.Since(healed) < 2*p.bound+slow.sum() && slow.sum() < patience {
		slow.look(t.Context())
	}
	alive, dead := c.rest(t, p)
	sums := c.sums()
	recovery := max(0, sums.trouble.Sub(healed))
	return row{f.name, healed.Sub(start), recovery, sums, alive, dead}
}

// rest audits in calm. What was not decided while this machine stood still is
// no error, and all is asked again. Where it stands still all the time, it
// counts in the end.
func (c *crowd) rest(t *testing.T, p plan) (alive, dead int) {
	t.Helper()
	for begun := time.Now(); ; {
		stop := watch(t.Context(), c.w)
		c.settle()
		pause(t.Context(), p.bound/2)
		alive, dead = c.audit(t)
		if stood := stop(); stood == 0 || !c.undecided() || time.Since(begun) > patience {
			return alive, dead
		}
	}
}

// audit asks every instance about every token that was ever acknowledged, and
// compares with the rows.
func (c *crowd) audit(t *testing.T) (alive, dead int) {
	t.Helper()
	var all sync.WaitGroup
	for _, i := range c.w.instances {
		all.Go(func() {
			for _, token := range c.all() {
				c.verify(t.Context(), i, token)
			}
		})
	}
	all.Wait()
	before := time.Now()
	rows, err := c.w.mysql.DB().QueryContext(t.Context(), "SELECT token_id, token_hash FROM users WHERE token_id IS NOT NULL "+
		"UNION ALL SELECT token_id, token_hash FROM user_slots WHERE token_id IS NOT NULL")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	held := map[idworker.ID]session.Hash{}
	for rows.Next() {
		var id int64
		var text []byte
		if err := rows.Scan(&id, &text); err != nil {
			t.Fatal(err)
		}
		var hash session.Hash
		copy(hash[:], text)
		held[idworker.ID(id)] = hash
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return c.rows(held, before)
}

// A row is one line of the report.
type row struct {
	name        string
	lasted      time.Duration
	recovery    time.Duration // from the end of the fault to the last request that was not decided
	sums        counts
	alive, dead int // tokens that the rows were held to
}

func table(rows []row) string {
	text := fmt.Sprintf("%-36s %7s %8s %8s %8s %9s %8s %12s %9s\n", "fault", "lasted", "requests", "accepted", "refused", "undecided", "silence",
		"stale accept", "recovery")
	for _, r := range rows {
		text += fmt.Sprintf("%-36s %6.1fs %8d %8d %8d %9d %8d %10dms %7dms\n", r.name, r.lasted.Seconds(), r.sums.requests, r.sums.accepted,
			r.sums.refused, r.sums.undecided, r.sums.unanswered, r.sums.stale.Milliseconds(), r.recovery.Milliseconds())
	}
	return text
}

// A slowness adds up how long the instances took to answer what needs nothing.
type slowness struct {
	w     *world
	total time.Duration
}

func newSlowness(w *world) *slowness { return &slowness{w: w} }

func (s *slowness) sum() time.Duration { return s.total }

// watch looks again and again until stop is called, which returns the sum.
func watch(ctx context.Context, w *world) (stop func() time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	slow, ended := newSlowness(w), make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			slow.look(ctx)
		}
	}()
	return func() time.Duration {
		cancel()
		<-ended
		return slow.sum()
	}
}

// look asks once. What takes longer than a busy machine does is standstill.
func (s *slowness) look(ctx context.Context) {
	const usual = 200 * time.Millisecond
	start := time.Now()
	for _, i := range s.w.instances {
		_ = i.answers(ctx)
	}
	pause(ctx, 50*time.Millisecond)
	if took := time.Since(start); took > usual {
		s.total += took
	}
}
