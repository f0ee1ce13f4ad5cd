//go:build unix

package main

import (
	"context"
	"math/rand/v2"
	"sync"

	"github.com/flakepass/flakepass/internal/proof/campaign/judge"
)

// audit lets nothing be broken and nothing be asked for twice the bound, and then asks
// all instances about all sessions, twice: one that says in the first round that a session
// is over is believed in the second.
func (w *world) audit(ctx context.Context, r *rand.Rand) {
	w.calm.Lock()
	defer w.calm.Unlock()
	pause(ctx, 2*w.bound)
	if ctx.Err() != nil {
		return
	}
	_ = w.admin.in(ctx, w, w.any(r)) // for the lists; without it they fail
	e := judge.Event{Begin: w.now(), Where: "-", What: "audit", Op: judge.Audit, Answer: judge.Yes, Wait: true}
	var all []*session
	for _, p := range w.everybody() {
		all = append(all, p.known()...)
	}
	for range 2 {
		var asking sync.WaitGroup
		for _, i := range w.instances {
			asking.Go(func() {
				for _, s := range all {
					w.askAbout(ctx, i, s, true)
				}
				w.listAt(ctx, i)
				w.countAt(ctx, i)
			})
		}
		for _, remote := range w.remotes {
			asking.Go(func() {
				for _, s := range all {
					remote.verify(ctx, w, s, true)
				}
			})
		}
		w.listAtTheShell(ctx)
		w.readRows(ctx)
		asking.Wait()
	}
	e.End = w.now()
	w.add(e)
}
