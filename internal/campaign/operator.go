//go:build unix

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/internal/campaign/judge"
)

// A rule is a policy.
type rule struct{ idle, absolute, touch time.Duration }

var (
	// short is below what the API allows, so that a campaign sees ends of policy
	// within seconds: see database.setPolicy.
	short = rule{5 * time.Second, 12 * time.Second, 2 * time.Second}
	// The others are set at the shell. Under the second, rows fall a minute behind.
	longer = [2]rule{{5 * time.Minute, 10 * time.Minute, time.Second}, {time.Hour, 2 * time.Hour, time.Minute}}
)

// An operator changes, ends and breaks things, one after the other, but for one
// fault that may last beside them.
type operator struct {
	*world
	rand  *rand.Rand
	long  bool      // the policy is not the short one
	until time.Time // the end of all: nothing waits longer
	fault sync.WaitGroup
	busy  chan struct{}
}

// act does one thing.
func (o *operator) act(ctx context.Context) {
	switch n := o.rand.IntN(100); {
	case n < 6:
		o.disable(ctx, o.somebody(), o.some(1))
	case n < 12:
		o.endOne(ctx, o.somebody())
	case n < 18:
		o.endUser(ctx, o.somebody())
	case n < 20:
		o.endAll(ctx)
	case n < 32:
		o.changePolicy(ctx)
	case n < 38:
		o.sweep(ctx)
	case n < 64:
		o.breakSomething(ctx)
	case n < 73:
		o.lateCommits(ctx)
	case n < 82:
		o.sweepBesideUses(ctx)
	case n < 91:
		o.unheardPolicy(ctx)
	default:
		o.useAndLeave(ctx)
	}
}

func (o *operator) somebody() *person { return o.people[o.rand.IntN(len(o.people))] }

// some is a duration up to n bounds.
func (o *operator) some(n int) time.Duration {
	return time.Duration(o.rand.Int64N(int64(n) * int64(o.bound)))
}

// wait waits for that long, but not beyond the end.
func (o *operator) wait(ctx context.Context, d time.Duration) {
	pause(ctx, min(d, time.Until(o.until)))
}

// asAdmin has the operator logged in, if that can be, before it sends a request.
func (o *operator) asAdmin(ctx context.Context, method, path string, body any, about judge.Event) judge.Answer {
	i := o.any(o.rand)
	if o.admin.old(4 * time.Second) {
		_ = o.admin.in(ctx, o.world, i) // a request without a login is refused, and nothing else
	}
	return o.does(ctx, i, request{method: method, path: path, token: o.admin.token(), body: body}, about)
}

// atTheShell runs a command that is to end something.
func (o *operator) atTheShell(ctx context.Context, about judge.Event, args ...string) judge.Answer {
	e := about
	e.Where, e.Wait, e.Begin = "the shell", true, o.now()
	if _, ok, _ := o.shell(ctx, "", args...); ok {
		e.Answer = judge.Yes
	}
	e.End = o.now()
	o.add(e)
	return e.Answer
}

// disable keeps somebody out for that long.
func (o *operator) disable(ctx context.Context, p *person, d time.Duration) {
	end := judge.Event{Op: judge.EndUser, User: p.name, What: "disable " + p.name}
	if o.rand.IntN(2) == 0 {
		o.asAdmin(ctx, "PATCH", "/v1/admin/users/"+p.id, map[string]any{"disabled": true}, end)
	} else {
		o.atTheShell(ctx, end, "user", "disable", p.name)
	}
	o.wait(ctx, d)
	enable := judge.Event{Op: judge.MayEnd, User: p.name, What: "enable " + p.name}
	for ctx.Err() == nil && o.atTheShell(ctx, enable, "user", "enable", p.name) != judge.Yes {
		pause(ctx, 200*time.Millisecond)
	}
}

func (o *operator) endOne(ctx context.Context, p *person) judge.Answer {
	if all := p.known(); len(all) > 0 {
		return o.endSession(ctx, all[len(all)-1])
	}
	return judge.None
}

// endSession ends one session as an operator or a service can.
func (o *operator) endSession(ctx context.Context, s *session) judge.Answer {
	about := judge.Event{Op: judge.EndOne, User: s.user, Session: s.id, What: fmt.Sprint("end of ", s.id)}
	switch o.rand.IntN(3) {
	case 0:
		return o.asAdmin(ctx, "DELETE", fmt.Sprint("/v1/admin/sessions/", s.id), nil, about)
	case 1:
		about.What = fmt.Sprint("end at the shell of ", s.id)
		return o.atTheShell(ctx, about, "session", "end", fmt.Sprint(s.id))
	}
	i := o.any(o.rand)
	c, err := client.New(client.Options{URL: i.base, HTTP: o.http})
	if err != nil {
		panic(err) // the URL is ours
	}
	about.What, about.Where, about.Wait, about.Begin = fmt.Sprint("POST /v1/revoke of ", s.id), i.name, true, o.now()
	if c.As(o.admin.token()).Revoke(ctx, s.token) == nil {
		about.Answer = judge.Yes
	}
	about.End = o.now()
	o.add(about)
	return about.Answer
}

func (o *operator) endUser(ctx context.Context, p *person) judge.Answer {
	about := judge.Event{Op: judge.EndUser, User: p.name, What: "logout by an operator of " + p.name}
	if o.rand.IntN(2) == 0 {
		return o.asAdmin(ctx, "POST", "/v1/admin/users/"+p.id+"/logout", nil, about)
	}
	return o.atTheShell(ctx, about, "user", "logout", p.name)
}

func (o *operator) endAll(ctx context.Context) {
	about := judge.Event{Op: judge.EndAll, What: "logout of everybody"}
	if o.rand.IntN(2) == 0 {
		o.asAdmin(ctx, "POST", "/v1/admin/logout-all", nil, about)
		return
	}
	o.atTheShell(ctx, about, "user", "logout", "--everybody", "--yes")
}

func (o *operator) changePolicy(ctx context.Context) {
	if o.long {
		o.shorten(ctx)
	} else {
		o.lengthen(ctx, longer[o.rand.IntN(len(longer))])
	}
}

// shorten brings back the short policy.
func (o *operator) shorten(ctx context.Context) {
	e := judge.Event{Begin: o.now(), Where: "the database", What: "UPDATE settings", Op: judge.SetPolicy, Wait: true,
		Policy: judge.Policy{Idle: short.idle, Absolute: short.absolute}}
	within, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if o.database.setPolicy(within, short.idle, short.absolute, short.touch) == nil {
		e.Answer = judge.Yes
		o.long = false
	}
	e.End = o.now()
	o.add(e)
}

func (o *operator) lengthen(ctx context.Context, to rule) {
	about := judge.Event{What: "policy set", Op: judge.SetPolicy, Policy: judge.Policy{Idle: to.idle, Absolute: to.absolute}}
	if o.atTheShell(ctx, about, "policy", "set", "--idle", to.idle.String(), "--absolute", to.absolute.String(), "--touch", to.touch.String(), "--yes") == judge.Yes {
		o.long = true
	}
}

// sweep clears what is over. It ends nothing that has not ended.
func (o *operator) sweep(ctx context.Context) {
	note := o.note("flakepass sweep")
	_, _, _ = o.shell(ctx, "", "sweep")
	note()
}

// probe asks all instances and Remotes about sessions for that long.
func (o *operator) probe(ctx context.Context, all []*session, d time.Duration, passive bool) {
	until := time.Now().Add(min(d, time.Until(o.until)))
	var asking sync.WaitGroup
	for _, i := range o.instances {
		asking.Go(func() {
			for ctx.Err() == nil && time.Now().Before(until) {
				for _, s := range all {
					o.askAbout(ctx, i, s, passive)
				}
				pause(ctx, o.bound/8)
			}
		})
	}
	for _, r := range o.remotes {
		asking.Go(func() {
			for ctx.Err() == nil && time.Now().Before(until) {
				for _, s := range all {
					r.verify(ctx, o.world, s, passive)
				}
				pause(ctx, o.bound/8)
			}
		})
	}
	asking.Wait()
}
