//go:build unix

package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/proof/testenv/faultproxy"
)

// A fault is one thing that breaks. It breaks, holds, and mends: when it
// returns, nothing is broken any more.
type fault struct {
	name   string
	strike func(s *scene)
	only   string // "sentinel": needs sentinels; "clock": needs a clock that can be set
}

// A scene is what a fault needs.
type scene struct {
	*world
	t      *testing.T
	rand   *rand.Rand
	length time.Duration
	enough func() bool // the fault may end before its length
}

// hold lets people go on for the length of the fault.
func (s *scene) hold() { s.again(50*time.Millisecond, func() {}) }

// again does f over and over, for the length of the fault.
func (s *scene) again(every time.Duration, f func()) {
	for end := time.Now().Add(s.length); time.Now().Before(end) && !s.enough(); pause(s.t.Context(), every) {
		f()
	}
}

// each does f to every instance.
func (s *scene) each(f func(*instance)) {
	for _, i := range s.instances {
		f(i)
	}
}

// connect makes an instance have many idle connections to the database: that
// many unknown names log in at once, and none is looked up before all have
// asked.
func (s *scene) connect(i *instance, many int) {
	i.mysql.HoldReplies(faultproxy.Matching("n.username = "))
	var all sync.WaitGroup
	for n := range many {
		all.Go(func() {
			who := credentials{fmt.Sprintf("nobody%d", n), "a lantern above the harbour"}
			_, _ = i.ask(s.t.Context(), "POST", "/v1/login", "", who)
		})
	}
	testenv.Eventually(s.t, patience, func() bool { now, _ := i.mysql.Waiting(); return now >= many }, "many connections at a time")
	i.mysql.Heal()
	all.Wait()
}

// fast is how quickly something happens again that interrupts.
const fast = 150 * time.Millisecond

var (
	// A login is durable after its commit. A statement is sent behind a 3, so this
	// is not the isolation level.
	login = faultproxy.Matching("\x03COMMIT")
	// A logout is one statement.
	logout = faultproxy.Matching("UPDATE users SET token_floor = ")
)

var faults = []fault{
	{name: "redis_stands_still", strike: func(s *scene) { s.redis.Pause(); s.hold(); s.redis.Resume() }},
	{name: "redis_killed_and_empty", strike: func(s *scene) { s.redis.Kill(); s.hold(); s.redis.Start() }},
	{name: "redis_flushed", strike: func(s *scene) { s.again(fast, func() { s.redis.Command("FLUSHALL") }) }},
	{name: "redis_subscriptions_killed", strike: func(s *scene) {
		s.again(fast, func() { s.redis.Command("CLIENT KILL TYPE pubsub") })
	}},
	{name: "redis_messages_dropped", strike: func(s *scene) {
		// The connections on which they come stay, and the new ones too.
		s.each(func(i *instance) { i.redis.HoldReplies(faultproxy.Matching("subscribe")) })
		s.redis.Command("CLIENT KILL TYPE pubsub")
		s.hold()
		s.heal()
	}},
	{name: "redis_slow", strike: func(s *scene) {
		s.each(func(i *instance) { i.redis.Delay(300 * time.Millisecond) })
		s.hold()
		s.heal()
	}},
	{name: "redis_cut_off_from_one", strike: func(s *scene) {
		s.any(s.rand).redis.Cut(faultproxy.Both)
		s.hold()
		s.heal()
	}},
	{name: "redis_requests_cut", strike: func(s *scene) {
		s.each(func(i *instance) { i.redis.Cut(faultproxy.Requests) })
		s.hold()
		s.heal()
	}},
	{name: "redis_replies_cut", strike: func(s *scene) {
		s.each(func(i *instance) { i.redis.Cut(faultproxy.Replies) })
		s.hold()
		s.heal()
	}},
	{name: "redis_connections_reset", strike: func(s *scene) { s.again(fast, func() { s.each(func(i *instance) { i.redis.Reset() }) }) }},
	{name: "redis_connections_forgotten", strike: func(s *scene) { s.each(func(i *instance) { i.redis.Forget() }); s.hold() }},

	{name: "mysql_cut_off_from_one", strike: func(s *scene) {
		s.any(s.rand).mysql.Cut(faultproxy.Both)
		s.hold()
		s.heal()
	}},
	{name: "mysql_requests_cut_from_one", strike: func(s *scene) {
		s.any(s.rand).mysql.Cut(faultproxy.Requests)
		s.hold()
		s.heal()
	}},
	{name: "mysql_replies_cut_from_one", strike: func(s *scene) {
		s.any(s.rand).mysql.Cut(faultproxy.Replies)
		s.hold()
		s.heal()
	}},
	{name: "mysql_cut_off_from_all", strike: func(s *scene) {
		s.each(func(i *instance) { i.mysql.Cut(faultproxy.Both) })
		s.hold()
		s.heal()
	}},
	{name: "mysql_slow", strike: func(s *scene) {
		s.each(func(i *instance) { i.mysql.Delay(100 * time.Millisecond) })
		s.hold()
		s.heal()
	}},
	{name: "mysql_refuses", strike: func(s *scene) {
		s.each(func(i *instance) { i.mysql.Refuse() })
		s.hold()
		s.heal()
	}},
	{name: "mysql_connections_reset", strike: func(s *scene) { s.again(fast, func() { s.each(func(i *instance) { i.mysql.Reset() }) }) }},
	{name: "mysql_connections_forgotten", strike: func(s *scene) {
		s.each(func(i *instance) { s.connect(i, 20) })
		s.each(func(i *instance) { i.mysql.Forget() }) // new ones work
		// A poll that is in vain for 2 s, and the requests that took such a
		// connection before that, for 3 s.
		pause(s.t.Context(), 6*time.Second)
	}},
	{name: "mysql_connections_killed", strike: func(s *scene) {
		s.again(fast/3, func() {
			if _, err := s.mysql.KillConnections(context.WithoutCancel(s.t.Context())); err != nil {
				s.t.Errorf("kill connections: %v", err)
			}
		})
	}},
	{name: "mysql_commits_lost", strike: func(s *scene) {
		s.lose(func(p *faultproxy.Proxy) { p.LoseRequests(login) })
	}},
	{name: "mysql_replies_to_commits_lost", strike: func(s *scene) {
		s.lose(func(p *faultproxy.Proxy) { p.LoseReplies(func(b []byte) bool { return login(b) || logout(b) }) })
	}},
	{name: "mysql_stands_still", strike: func(s *scene) { s.mysql.Pause(); s.hold(); s.mysql.Resume() }},
	{name: "mysql_killed_and_recovered", strike: func(s *scene) { s.mysql.Kill(); s.hold(); s.mysql.Start() }},

	{name: "instance_cut_off_from_both", strike: func(s *scene) {
		i := s.any(s.rand)
		i.mysql.Cut(faultproxy.Both)
		i.redis.Cut(faultproxy.Both)
		s.hold()
		s.heal()
	}},
	{name: "instance_killed", strike: func(s *scene) {
		i := s.any(s.rand)
		i.without(func() {
			s.do(i.process.Kill())
			s.hold()
			i.start(s.t)
		})
	}},
	{name: "instance_paused", strike: func(s *scene) {
		i := s.any(s.rand)
		i.without(func() {
			s.do(i.process.Pause())
			s.hold()
			s.do(i.process.Resume())
		})
	}},
	{name: "all_together", strike: func(s *scene) {
		i := s.any(s.rand)
		i.mysql.Cut(faultproxy.Both)
		s.redis.Kill()
		s.again(fast, func() { _, _ = s.mysql.KillConnections(context.WithoutCancel(s.t.Context())) })
		s.redis.Start()
		s.heal()
	}},

	{name: "failover_to_an_old_copy", only: "sentinel", strike: func(s *scene) {
		old := s.sentinel.Master()
		for _, r := range s.sentinel.Servers {
			if r != old {
				r.Pause() // it misses what comes now
			}
		}
		pause(s.t.Context(), 2*time.Second)
		old.Kill()
		for _, r := range s.sentinel.Servers {
			if r != old {
				r.Resume()
			}
		}
		if s.sentinel.Master() == old {
			s.t.Error("there was no failover: the fault does nothing")
		}
		old.Start()
		s.sentinel.Await()
	}},
	{name: "stepped_forward", only: "clock", strike: func(s *scene) { s.step(syscall.SIGUSR1, syscall.SIGUSR2) }},
	{name: "stepped_back", only: "clock", strike: func(s *scene) { s.step(syscall.SIGUSR2, syscall.SIGUSR1) }},
}

// lose does something to all links to MySQL that loses what passes there.
func (s *scene) lose(what func(*faultproxy.Proxy)) {
	lost := 0
	s.each(func(i *instance) { lost -= i.mysql.Lost(); what(i.mysql) })
	s.hold()
	s.heal()
	s.each(func(i *instance) { lost += i.mysql.Lost() })
	if lost == 0 {
		s.t.Error("nothing was lost: the fault does nothing")
	}
}

// step sets the clock on the wall of one instance, and sets it right again.
func (s *scene) step(there, back syscall.Signal) {
	i := s.instances[0]
	s.do(i.process.Signal(there))
	s.hold()
	s.do(i.process.Signal(back))
}

func (s *scene) do(err error) {
	if err != nil {
		s.t.Helper()
		s.t.Fatal(err)
	}
}
