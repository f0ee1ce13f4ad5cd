//go:build unix

package main

import (
	"context"
	"sync"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv/faultproxy"
)

// A move is a plan of several steps that needs people who do nothing else: the
// quiet ones, who live only here.

// enter has all quiet people log in on all their devices, and returns their sessions, whose
// they are, and when the first of them came.
func (o *operator) enter(ctx context.Context) (people []*person, all []*session, first time.Time) {
	first = time.Now()
	var coming sync.WaitGroup
	for _, p := range o.quiet {
		i := o.any(o.rand)
		coming.Go(func() {
			for d := range p.held {
				if p.login(ctx, o.world, i, d) == nil {
					p.put(d, nil)
				}
			}
		})
	}
	coming.Wait()
	for _, p := range o.quiet {
		for _, s := range p.all() {
			people, all = append(people, p), append(all, s)
		}
	}
	return people, all, first
}

// lateCommits has logouts be committed long after they were given up, and then
// ends the same sessions once more, which is acknowledged. From a bound after
// that none may be accepted.
func (o *operator) lateCommits(ctx context.Context) {
	o.lengthen(ctx, longer[1])
	people, all, _ := o.enter(ctx)
	i := o.any(o.rand)
	o.probe(ctx, all, o.bound/2, false) // all know them
	var release func()
	if i.database != nil && o.rand.IntN(2) > 0 {
		i.database.HoldRequests(faultproxy.Matching("\x03COMMIT"))
		release = i.database.Heal
	} else {
		within, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		var err error
		if release, err = o.database.stall(within); err != nil {
			return
		}
	}
	mended := o.note("commits stalled, of %s or all", i.name)
	var logouts sync.WaitGroup
	for n, s := range all {
		if o.rand.IntN(4) == 0 {
			continue // it lives on beside those that end
		}
		logouts.Go(func() { o.logoutAt(ctx, i, people[n], s) })
	}
	o.probe(ctx, all, 6*time.Second+o.some(6), false)
	release()
	mended()
	logouts.Wait()
	o.wait(ctx, o.some(1)/2)
	o.endAllAgain(ctx, people, all)
	o.probe(ctx, all, 3*o.bound, true)
}

// sweepBesideUses makes the policy shorter and sweeps at once what is idle by it,
// has people use that where the change may not have arrived, and then ends
// the same sessions once more.
func (o *operator) sweepBesideUses(ctx context.Context) {
	o.lengthen(ctx, longer[o.rand.IntN(len(longer))])
	people, all, first := o.enter(ctx)
	o.probe(ctx, all, time.Until(first.Add(short.idle+time.Second/2)), true) // all know them, and none is used
	o.shorten(ctx)
	if o.rand.IntN(4) > 0 {
		o.sweep(ctx)
	}
	i := o.any(o.rand)
	for range 1 + o.rand.IntN(2) {
		for _, s := range all {
			o.askAbout(ctx, i, s, false)
		}
	}
	if o.rand.IntN(4) == 0 {
		o.sweep(ctx)
	}
	if o.rand.IntN(4) > 0 {
		o.wait(ctx, o.some(1)/4)
		o.endAllAgain(ctx, people, all)
	}
	o.probe(ctx, all, 3*o.bound, true)
}

// unheardPolicy makes the policy longer just before it ends sessions, and asks
// an instance about them that has not read it, or cannot, and has it end some.
func (o *operator) unheardPolicy(ctx context.Context) {
	if o.long {
		o.shorten(ctx)
		o.wait(ctx, o.bound)
	}
	people, all, first := o.enter(ctx)
	o.probe(ctx, all, time.Until(first.Add(short.absolute-o.bound/2)), false)
	i := o.any(o.rand)
	if o.rand.IntN(2) == 0 {
		defer o.note("%s cut off from the database and Redis", i.name)()
		for _, link := range append(links(i.database), links(i.redis)...) {
			link.Cut(faultproxy.Both)
			defer link.Heal()
		}
	}
	o.wait(ctx, time.Until(first.Add(short.absolute-time.Duration(80+o.rand.IntN(150))*time.Millisecond)))
	o.lengthen(ctx, longer[o.rand.IntN(len(longer))])
	var ending sync.WaitGroup
	for n, s := range all[:len(all)/2] {
		late := time.Duration(1+o.rand.IntN(100)) * time.Millisecond
		ending.Go(func() {
			o.wait(ctx, time.Until(s.issued.Add(short.absolute+late)))
			o.logoutAt(ctx, i, people[n], s)
		})
	}
	o.wait(ctx, time.Until(first.Add(short.absolute)))
	o.probe(ctx, all[len(all)/2:], 3*o.bound, o.rand.IntN(2) == 0)
	ending.Wait()
	o.probe(ctx, all, o.bound, true)
}

// useAndLeave has people use their sessions in one place, which is killed or cut
// off now and then, and ask everywhere just before the idle end of their last answer.
func (o *operator) useAndLeave(ctx context.Context) {
	if o.long {
		o.shorten(ctx)
		o.wait(ctx, o.bound)
	}
	_, all, _ := o.enter(ctx)
	i := o.any(o.rand)
	for range 1 + o.rand.IntN(3) {
		o.wait(ctx, time.Duration(o.rand.Int64N(int64(short.touch*3/2))))
		for _, s := range all {
			o.askAbout(ctx, i, s, false)
		}
	}
	o.strike(ctx, i)
	var leaving sync.WaitGroup
	for _, s := range all {
		before := time.Duration(50+o.rand.IntN(400)) * time.Millisecond
		leaving.Go(func() {
			o.wait(ctx, time.Until(s.tellsUntil().Add(-before)))
			o.probe(ctx, []*session{s}, before+200*time.Millisecond, true)
		})
	}
	leaving.Wait()
}

// strike does something to an instance, or nothing.
func (o *operator) strike(ctx context.Context, i *instance) {
	select {
	case o.busy <- struct{}{}:
		defer func() { <-o.busy }()
	default:
		return // there is a fault already
	}
	switch o.rand.IntN(3) {
	case 0:
		defer o.note("%s killed", i.name)()
		_ = i.process.Kill()
		o.revive(ctx, i)
	case 1:
		o.cut(ctx, "the database", i.name, links(i.database), o.some(3))
	}
}

// endAllAgain has what may be over already be over for certain, each in one of the
// ways in which an end is acknowledged.
func (o *operator) endAllAgain(ctx context.Context, people []*person, all []*session) {
	for n, s := range all {
		switch o.rand.IntN(8) {
		case 0, 1:
			people[n].login(ctx, o.world, o.any(o.rand), s.device)
		case 2:
			o.disable(ctx, people[n], 0)
		case 3:
			o.endUser(ctx, people[n])
		case 4:
			o.endSession(ctx, s)
		case 5:
			o.resetPassword(ctx, people[n])
		case 6:
			people[n].leave(ctx, o.world, o.any(o.rand), s, o.rand.IntN(2) == 0)
		default:
			people[n].logout(ctx, o.world, o.rand, s)
		}
	}
}

// lowerLimit has people log in on all their devices, allows fewer sessions, and then
// perhaps as many as before.
func (o *operator) lowerLimit(ctx context.Context) {
	o.allow(ctx, len(devices))
	_, all, _ := o.enter(ctx)
	o.probe(ctx, all, o.bound/2, o.rand.IntN(2) == 0) // all know them
	o.allow(ctx, 1+o.rand.IntN(len(devices)-1))
	if o.rand.IntN(2) == 0 {
		o.probe(ctx, all, o.some(3), true)
	} else {
		o.wait(ctx, o.some(3)) // nobody asks about them
	}
	if o.rand.IntN(2) == 0 {
		o.allow(ctx, len(devices))
	}
	o.probe(ctx, all, 3*o.bound, true)
}

// allow sets how many sessions a user has, and a policy under which the shell may.
func (o *operator) allow(ctx context.Context, most int) {
	if o.database.site != nil {
		return // a cluster has other faults
	}
	for o.most = most; ctx.Err() == nil && !o.lengthen(ctx, longer[o.rand.IntN(len(longer))]); {
		pause(ctx, 200*time.Millisecond)
	}
}
