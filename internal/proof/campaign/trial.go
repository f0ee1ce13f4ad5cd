//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/flakepass/flakepass/internal/proof/campaign/judge"
)

// A trial is what came of one fault of a cluster.
type trial struct {
	row
	fault string
	// back is how long after there was a writer again people could log in at every
	// instance, or why they could not.
	back     time.Duration
	backless error
	down     time.Duration // from the fault until then
}

// directed has each chosen fault of each cluster happen once, in order, then holds the
// chosen rules, and prints what came of it. broken says that one of those that have
// to hold does not. A cluster that cannot be started is skipped, with
// [errAbsent] at the end.
func (o options) directed(ctx context.Context, out io.Writer) (tried int, broken bool, err error) {
	fmt.Fprintf(out, "bound %v, seed %d\n%s", o.bound, o.seed, trialHeader)
	var red []trial
	for _, c := range o.configurations {
		trials, failed := o.faultsOf(ctx, c, out)
		tried += len(trials)
		for _, t := range trials {
			if t.red() {
				red = append(red, t)
			}
		}
		if failed == nil {
			var held, wrong []string
			held, wrong, failed = o.rulesOf(ctx, c, out)
			tried += len(held)
			broken = broken || slices.ContainsFunc(wrong, func(name string) bool { return required(c.database, name) })
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("%v: %w", c, failed))
		}
	}
	fmt.Fprintln(out)
	for _, t := range red {
		if t.say(out); tried == 1 {
			t.explain(out, 1)
		}
		broken = broken || required(t.database, t.fault)
	}
	return tried, broken, err
}

// chosen reports whether a fault or a rule is to be tried.
func (o options) chosen(database, name string) bool {
	return o.faults.MatchString(name) && (o.only == nil || o.only(database, name))
}

// faultsOf has the chosen faults of one cluster happen. The error has those of which
// nothing can be said.
func (o options) faultsOf(ctx context.Context, c configuration, out io.Writer) (all []trial, err error) {
	var w *world
	var failed error
	leave := func() {}
	defer func() { leave() }()
	for n, name := range faultNames(c.database) {
		if !o.chosen(c.database, name) {
			continue
		}
		if ctx.Err() != nil {
			return all, ctx.Err()
		}
		seed := o.seed + uint64(n)
		if w == nil {
			if w, leave, err = o.inhabit(ctx, c, seed); err != nil {
				return all, err
			}
		}
		f := w.database.site.faults[n]
		t := trial{row: row{configuration: c, seed: seed}, fault: f.name}
		err := o.operator(w, seed, 10*time.Minute).try(ctx, f, &t)
		if err != nil {
			fmt.Fprintf(out, "%-11v %-40s not judged: %v\n", c, f.name, err)
			failed = errors.Join(failed, fmt.Errorf("%s: not judged: %w", f.name, err))
		} else {
			all = append(all, t)
			fmt.Fprint(out, t.line())
		}
		if err != nil || f.spends {
			leave()
			w, leave = nil, func() {}
		}
	}
	return all, failed
}

// try has a fault happen, is that for five bounds, and mends it. People end sessions
// all the time, and all are asked about them. The error says why nothing can be said.
func (o *operator) try(ctx context.Context, f fault, t *trial) error {
	began := time.Now()
	if err := o.afresh(ctx); err != nil {
		return err
	}
	people, all, _ := o.enter(ctx)
	if len(all) == 0 {
		return errors.New("nobody could log in before anything was broken")
	}
	o.probe(ctx, all, o.bound/2, false) // all know them
	mended := o.note("%s", f.name)
	lasting, over := context.WithCancel(ctx)
	defer over()
	var beside sync.WaitGroup
	for n, h := range f.hits {
		if err := h.now(ctx, o); err != nil {
			return errors.Join(fmt.Errorf("it could not be broken: %w", err), f.mend(ctx, o.database.site))
		}
		if n == 0 && f.name != byChance.name {
			beside.Go(func() { o.probe(lasting, all, time.Hour, true) })
			beside.Go(func() { o.logOut(lasting, o.instances[0], people[:len(all)/2], all[:len(all)/2]) })
			beside.Go(func() { o.endAllAgain(ctx, people[len(all)/2:], all[len(all)/2:]) })
		}
	}
	back := func() {
		t.back, t.backless = o.awaitLogins(ctx)
		t.down = time.Since(o.struck)
	}
	if f.failover {
		beside.Go(back)
	}
	o.wait(ctx, 5*o.bound)
	if err := f.mend(ctx, o.database.site); err != nil {
		over()
		beside.Wait()
		return fmt.Errorf("it could not be mended: %w", err)
	}
	mended()
	if !f.failover {
		back()
	}
	o.wait(ctx, o.bound*3/2)
	over()
	beside.Wait()
	o.fault.Wait()
	o.endAllAgain(ctx, people, all)
	o.probe(ctx, all, o.bound*3/2, true)
	o.audit(ctx, o.rand)
	t.Verdict, t.calms, t.took = o.judge(o.bound), 1, time.Since(began)
	return ctx.Err()
}

// afresh begins a new history, in which everybody logs in anew under the steady policy.
func (o *operator) afresh(ctx context.Context) error {
	if o.lengthen(ctx, steady); !o.long {
		return errors.New("the policy could not be set before anything was broken")
	}
	o.calm.Lock()
	defer o.calm.Unlock()
	o.forget()
	for _, p := range o.everybody() {
		p.mu.Lock()
		clear(p.held)
		p.before = nil
		p.mu.Unlock()
	}
	now := o.now()
	o.add(judge.Event{Begin: now, End: now, Where: "the shell", What: "the policy at the start", Op: judge.SetPolicy, Answer: judge.Yes,
		Wait: true, Policy: steady.policy(o.most, nil)})
	return nil
}

// breakCluster has a fault of the cluster last for a while.
func (o *operator) breakCluster(ctx context.Context, f fault, d time.Duration) {
	defer o.note("%s", f.name)()
	for _, h := range f.hits {
		if h.now(ctx, o) != nil {
			break
		}
	}
	o.wait(ctx, d)
	_ = f.mend(context.WithoutCancel(ctx), o.database.site)
}

// loginsWithin bounds how long it is waited for a writer, and for logins.
const loginsWithin = time.Minute

// awaitLogins waits for a writer and then has people log in at every instance until
// they are in. It returns how long that took.
func (o *operator) awaitLogins(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, loginsWithin)
	defer cancel()
	for o.database.site.takesWrites(ctx) != nil {
		if pause(ctx, 20*time.Millisecond); ctx.Err() != nil {
			return 0, errors.New("no writer")
		}
	}
	began := time.Now()
	var coming sync.WaitGroup
	for n, i := range o.instances {
		coming.Go(func() {
			for ctx.Err() == nil {
				within, cancel := context.WithTimeout(ctx, 2*time.Second)
				s := o.probers[n].login(within, o.world, i, 0)
				cancel()
				if s != nil {
					return
				}
				pause(ctx, 100*time.Millisecond)
			}
		})
	}
	coming.Wait()
	if ctx.Err() != nil {
		return 0, errors.New("no logins")
	}
	return time.Since(began), nil
}
