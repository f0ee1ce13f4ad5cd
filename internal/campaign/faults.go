//go:build unix

package main

import (
	"context"
	"sync"
	"time"

	"github.com/flakepass/flakepass/internal/testenv/faultproxy"
)

// breakSomething has one fault last for a while, beside what the operator does
// next. While one lasts it does nothing.
func (o *operator) breakSomething(ctx context.Context) {
	select {
	case o.busy <- struct{}{}:
	default:
		return
	}
	i, d := o.any(o.rand), o.some(3)
	var f func()
	switch o.rand.IntN(9) {
	case 0, 1:
		f = func() {
			defer o.note("%s killed", i.name)()
			i.away.Store(true)
			_ = i.process.Kill()
			o.wait(ctx, d/3)
			o.revive(ctx, i)
		}
	case 2:
		f = func() {
			defer o.note("%s stands still", i.name)()
			i.away.Store(true)
			_ = i.process.Pause()
			o.wait(ctx, d)
			_ = i.process.Resume()
			i.away.Store(false)
		}
	case 3:
		f = func() { o.cut(ctx, "the database", i.name, links(i.database), d) }
	case 4:
		f = func() { o.cut(ctx, "the database", "all", o.links(database1), d) }
	case 5:
		f = func() { o.cut(ctx, "Redis", i.name, links(i.redis), d) }
	case 6:
		f = func() { o.cut(ctx, "Redis", "all", o.links(redis1), d) }
	case 7:
		r := o.remotes[o.rand.IntN(len(o.remotes))]
		f = func() {
			defer o.note("replies to the %s cut", r.name)()
			r.link.Cut(faultproxy.Replies)
			o.wait(ctx, d)
			r.link.Heal()
		}
	default:
		f = func() {
			defer o.note("connections reset")()
			for _, link := range append(o.links(database1), o.links(redis1)...) {
				link.Reset()
			}
		}
	}
	o.fault.Go(func() {
		f()
		<-o.busy
	})
}

func database1(i *instance) *faultproxy.Proxy { return i.database }
func redis1(i *instance) *faultproxy.Proxy    { return i.redis }

func links(p *faultproxy.Proxy) []*faultproxy.Proxy {
	if p == nil {
		return nil
	}
	return []*faultproxy.Proxy{p}
}

func (o *operator) links(of func(*instance) *faultproxy.Proxy) (all []*faultproxy.Proxy) {
	for _, i := range o.instances {
		all = append(all, links(of(i))...)
	}
	return all
}

// cut cuts links for that long.
func (o *operator) cut(ctx context.Context, what, whose string, all []*faultproxy.Proxy, d time.Duration) {
	if len(all) == 0 {
		return
	}
	defer o.note("%s cut off from %s", what, whose)()
	for _, link := range all {
		link.Cut(faultproxy.Both)
	}
	o.wait(ctx, d)
	for _, link := range all {
		link.Heal()
	}
}

// revive starts an instance that was killed.
func (o *operator) revive(ctx context.Context, i *instance) {
	for ctx.Err() == nil && !i.process.Running() {
		if o.start(ctx, i) != nil {
			pause(ctx, 200*time.Millisecond)
		}
	}
	i.away.Store(false)
}

// lateCommits has logouts be committed long after they were given up, and then
// ends the same sessions once more, which is acknowledged. From a bound after
// that nobody may accept them.
func (o *operator) lateCommits(ctx context.Context) {
	people, all := o.choose(2)
	i := o.any(o.rand)
	o.probe(ctx, all, o.bound/4, false) // all know them
	release := func() {}
	if i.database != nil && o.rand.IntN(3) > 0 {
		i.database.HoldRequests(faultproxy.Matching("\x03COMMIT"))
		release = i.database.Heal
	} else {
		var err error
		within, cancel := context.WithTimeout(ctx, 3*time.Second)
		release, err = o.database.stall(within)
		defer cancel()
		if err != nil {
			return
		}
	}
	mended := o.note("commits stalled")
	var logouts sync.WaitGroup
	for n, s := range all {
		logouts.Go(func() { o.logoutAt(ctx, i, people[n], s) })
	}
	o.probe(ctx, all, max(4*time.Second, 3*o.bound)+o.some(4), false)
	release()
	mended()
	logouts.Wait()
	o.wait(ctx, o.some(1)/2)
	for n, s := range all {
		o.endAgain(ctx, people[n], s)
	}
	o.probe(ctx, all, 3*o.bound, true)
}

// sweepBesideUses makes the policy shorter and sweeps at once, while people use
// what the sweep clears, and then ends the same sessions once more.
func (o *operator) sweepBesideUses(ctx context.Context) {
	if !o.long {
		o.lengthen(ctx)
	}
	people, all := o.choose(3)
	o.wait(ctx, time.Until(o.since.Add(short.idle)))
	o.probe(ctx, all, o.bound/4, false)
	var using sync.WaitGroup
	using.Go(func() { o.probe(ctx, all, 2*o.bound, false) })
	o.shorten(ctx)
	o.sweep(ctx)
	for n, s := range all {
		o.endAgain(ctx, people[n], s)
	}
	using.Wait()
	o.probe(ctx, all, 2*o.bound, true)
}

// unheardPolicy makes the policy longer while one instance cannot hear of it,
// and has it asked about sessions that the policy before would have ended, and
// to end some.
func (o *operator) unheardPolicy(ctx context.Context) {
	if o.long {
		o.shorten(ctx)
		o.wait(ctx, 2*o.bound)
	}
	people, all := o.choose(4)
	// The oldest of them is about to expire.
	oldest := time.Duration(0)
	for _, s := range all {
		oldest = max(oldest, time.Since(s.opened))
	}
	o.wait(ctx, min(short.absolute-oldest-time.Second/2, 8*time.Second))
	i := o.any(o.rand)
	cut := o.rand.IntN(3) > 0
	if cut {
		mended := o.note("%s cut off from the database and Redis", i.name)
		defer mended()
		for _, link := range append(links(i.database), links(i.redis)...) {
			link.Cut(faultproxy.Both)
			defer link.Heal()
		}
	}
	o.lengthen(ctx)
	var asking sync.WaitGroup
	asking.Go(func() { o.probe(ctx, all, 2*time.Second+2*o.bound, false) })
	for n, s := range all {
		o.wait(ctx, o.some(1))
		o.logoutAt(ctx, i, people[n], s)
	}
	asking.Wait()
}
