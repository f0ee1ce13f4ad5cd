//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/internal/proof/campaign/judge"
)

// A rule is a policy, or one of its overrides.
type rule struct{ idle, absolute, touch time.Duration }

// overrides are those of a policy, by the class of the device.
type overrides map[string]rule

// overridden are the classes that may have one.
var overridden = []string{"phone", "web"}

func (r rule) policy(most int, over overrides) judge.Policy {
	p := judge.Policy{Times: judge.Times{Idle: r.idle, Absolute: r.absolute}, By: map[string]judge.Times{}, Max: most}
	for class, r := range over {
		p.By[class] = judge.Times{Idle: r.idle, Absolute: r.absolute}
	}
	return p
}

var (
	// short is below what the API allows, so that a campaign sees ends of policy
	// within seconds: see database.setPolicy.
	short  = rule{5 * time.Second, 12 * time.Second, 2 * time.Second}
	others = []rule{{4 * time.Second, 8 * time.Second, time.Second}, {7 * time.Second, 20 * time.Second, 2 * time.Second}, longer[0], longer[1]}
	// The others are set at the shell. Under the second, rows fall a minute behind.
	longer = [2]rule{{5 * time.Minute, 10 * time.Minute, time.Second}, {time.Hour, 2 * time.Hour, time.Minute}}
)

// An operator changes, ends and breaks things, one after the other, but for one
// fault that may last beside them.
type operator struct {
	*world
	rand  *rand.Rand
	moves []move
	long  bool      // the policy is not the short one
	until time.Time // the end of all: nothing waits longer
	fault sync.WaitGroup
	busy  chan struct{}
	// faults are those of the cluster that happen by chance.
	faults []fault
	struck time.Time // when a node was hit last
}

// A move is one thing that the operator does, and how often among a hundred.
type move struct {
	name   string
	weight int
	do     func(*operator, context.Context)
}

var moves = []move{
	{"disable", 6, func(o *operator, ctx context.Context) { o.disable(ctx, o.anyPerson(), o.some(1)) }},
	{"delete", 4, (*operator).deleteAny},
	{"end", 6, func(o *operator, ctx context.Context) { o.endOne(ctx, o.anyPerson()) }},
	{"logout", 6, func(o *operator, ctx context.Context) { o.endUser(ctx, o.anyPerson()) }},
	{"reset-password", 3, func(o *operator, ctx context.Context) { o.resetPassword(ctx, o.anyPerson()) }},
	{"logout-all", 2, (*operator).endAll},
	{"policy", 12, (*operator).changePolicy},
	{"limit", 6, func(o *operator, ctx context.Context) { o.allow(ctx, 1+o.rand.IntN(len(devices))) }},
	{"lower-limit", 12, (*operator).lowerLimit},
	{"sweep", 6, (*operator).sweep},
	{"fault", 26, (*operator).breakSomething},
	{"late-commits", 9, (*operator).lateCommits},
	{"sweep-beside-uses", 9, (*operator).sweepBesideUses},
	{"unheard-policy", 9, (*operator).unheardPolicy},
	{"use-and-leave", 9, (*operator).useAndLeave},
}

// choose is the moves whose names match.
func choose(pattern string) (some []move, err error) {
	expression, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("-moves: %w", err)
	}
	for _, m := range moves {
		if expression.MatchString(m.name) {
			some = append(some, m)
		}
	}
	if len(some) == 0 {
		return nil, fmt.Errorf("-moves is %q, which matches none", pattern)
	}
	return some, nil
}

// act makes one of the moves.
func (o *operator) act(ctx context.Context) {
	all := 0
	for _, m := range o.moves {
		all += m.weight
	}
	n := o.rand.IntN(all)
	for _, m := range o.moves {
		if n -= m.weight; n < 0 {
			m.do(o, ctx)
			return
		}
	}
}

func (o *operator) anyPerson() *person { return o.people[o.rand.IntN(len(o.people))] }

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
	i := o.adminAt(ctx)
	return o.does(ctx, i, request{method: method, path: path, token: o.admin.token(), body: body}, about)
}

// adminAt is an instance to ask as an operator, who has logged in there if that can be.
func (o *operator) adminAt(ctx context.Context) *instance {
	i := o.any(o.rand)
	if o.admin.old(4 * time.Second) {
		_ = o.admin.in(ctx, o.world, i) // a request without a login is refused, and nothing else
	}
	return i
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

// disable keeps a user out for that long.
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

func (o *operator) endOne(ctx context.Context, p *person) {
	if all := p.known(); len(all) > 0 {
		o.endSession(ctx, all[len(all)-1])
	}
}

// endSession ends one session as an operator or a service can.
func (o *operator) endSession(ctx context.Context, s *session) {
	about := judge.Event{Op: judge.EndOne, User: s.user, Session: s.id, What: fmt.Sprint("end of ", s.id)}
	switch o.rand.IntN(3) {
	case 0:
		o.asAdmin(ctx, "DELETE", fmt.Sprint("/v1/admin/sessions/", s.id), nil, about)
	case 1:
		about.What = fmt.Sprint("end at the shell of ", s.id)
		o.atTheShell(ctx, about, "session", "end", fmt.Sprint(s.id))
	default:
		o.revoke(ctx, s)
	}
}

// revoke ends a session as a service does that has its token.
func (o *operator) revoke(ctx context.Context, s *session) {
	i := o.any(o.rand)
	c, err := client.New(client.Options{URL: i.base, HTTP: o.http})
	if err != nil {
		panic(err) // the URL is ours
	}
	about := judge.Event{Op: judge.EndOne, User: s.user, Session: s.id, What: fmt.Sprint("POST /v1/revoke of ", s.id), Where: i.name, Wait: true, Begin: o.now()}
	if c.As(o.admin.token()).Revoke(ctx, s.token) == nil {
		about.Answer = judge.Yes
	}
	about.End = o.now()
	o.add(about)
}

func (o *operator) endUser(ctx context.Context, p *person) {
	about := judge.Event{Op: judge.EndUser, User: p.name, What: "logout by an operator of " + p.name}
	if o.rand.IntN(2) == 0 {
		o.asAdmin(ctx, "POST", "/v1/admin/users/"+p.id+"/logout", nil, about)
		return
	}
	o.atTheShell(ctx, about, "user", "logout", p.name)
}

// resetPassword gives a person a link, who sets the other password with it.
func (o *operator) resetPassword(ctx context.Context, p *person) {
	current, next := p.secrets()
	made := o.ask(ctx, o.adminAt(ctx), request{method: "POST", path: "/v1/admin/users/" + p.id + "/password-reset", token: o.admin.token()})
	var link struct {
		Token string `json:"reset_token"`
	}
	if made.status != 201 || json.Unmarshal(made.body, &link) != nil {
		return
	}
	about := judge.Event{Op: judge.EndUser, User: p.name, What: "reset of the password of " + p.name}
	body := map[string]string{"reset_token": link.Token, "new_password": next}
	if o.does(ctx, o.any(o.rand), request{method: "POST", path: "/v1/password-resets", body: body}, about) == judge.Yes {
		p.swap(current)
	}
}

func (o *operator) endAll(ctx context.Context) {
	about := judge.Event{Op: judge.EndAll, What: "logout of all users"}
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

// override chooses, for some classes, one of those rules. A cluster has other faults.
func (o *operator) override(by []rule) overrides {
	over := overrides{}
	for _, class := range overridden {
		if n := o.rand.IntN(2 * len(by)); n < len(by) && o.database.site == nil {
			over[class] = by[n]
		}
	}
	return over
}

// shorten brings back the short policy.
func (o *operator) shorten(ctx context.Context) {
	over := o.override(others)
	e := judge.Event{Begin: o.now(), Where: "the database", What: "UPDATE settings", Op: judge.SetPolicy, Wait: true,
		Policy: short.policy(o.most, over)}
	within, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if o.database.setPolicy(within, short, over) == nil {
		e.Answer = judge.Yes
		o.long = false
	}
	e.End = o.now()
	o.add(e)
}

// lengthen sets another policy, and the limit of sessions that the operator wants.
func (o *operator) lengthen(ctx context.Context, to rule) bool {
	over := o.override(longer[:])
	args := []string{
		"policy", "set", "--idle", to.idle.String(), "--absolute", to.absolute.String(), "--touch", to.touch.String(),
		"--max-sessions", strconv.Itoa(o.most), "--yes",
	}
	for _, class := range overridden {
		text := "none"
		if r, ok := over[class]; ok {
			text = fmt.Sprintf("idle:%v,absolute:%v,touch:%v", r.idle, r.absolute, r.touch)
		}
		args = append(args, "--override", "class:"+class+"="+text)
	}
	about := judge.Event{What: "policy set", Op: judge.SetPolicy, Policy: to.policy(o.most, over)}
	done := o.atTheShell(ctx, about, args...) == judge.Yes
	o.long = o.long || done
	return done
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
