//go:build unix

package main

import (
	"context"
	"syscall"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv/faultproxy"
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
	switch o.rand.IntN(9 + min(9, len(o.faults))) {
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
	case 8:
		f = func() {
			defer o.note("connections reset")()
			for _, link := range append(o.links(database1), o.links(redis1)...) {
				link.Reset()
			}
		}
	default:
		broken := o.faults[o.rand.IntN(len(o.faults))]
		f = func() { o.breakCluster(ctx, broken, d) }
	}
	if o.clock > 0 && o.rand.IntN(3) == 0 {
		f = func() { o.setClock(ctx, i, d) }
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

// setClock sets the clock of an instance forward or back, and right again after a while.
func (o *operator) setClock(ctx context.Context, i *instance, d time.Duration) {
	there, back, word := syscall.SIGUSR1, syscall.SIGUSR2, "forward"
	if o.rand.IntN(2) == 0 {
		there, back, word = back, there, "back"
	}
	defer o.note("clock of %s %v %s", i.name, o.clock, word)()
	_ = i.process.Signal(there)
	o.wait(ctx, d)
	_ = i.process.Signal(back)
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
