//go:build unix

package main

import (
	"context"
	"errors"
	"time"

	"github.com/flakepass/flakepass/internal/proof/campaign/judge"
	"github.com/flakepass/flakepass/internal/proof/cluster"
	"github.com/flakepass/flakepass/internal/proof/testenv/faultproxy"
)

// A fault is something that is broken in a cluster for a while.
type fault struct {
	name string
	hits []hit // one after the other, with time between them; mended in the same order
	// failover is set if the cluster has a writer again before the fault is mended.
	failover bool
	// spends is set if the cluster is not used any more after it.
	spends bool
}

// A hit is one step of a fault.
type hit struct {
	strike func(context.Context, *operator) error
	mend   func(context.Context) error // nil: there is nothing to mend
}

// which says which nodes are hit, at the time when they are.
type which func(context.Context) ([]*cluster.Node, error)

func node(c []*cluster.Node, i int) which {
	return func(context.Context) ([]*cluster.Node, error) { return c[i : i+1], nil }
}

// each is a hit of nodes by themselves.
func each(of which, do, undo func(context.Context, *cluster.Node) error) hit {
	var struck []*cluster.Node
	return hit{
		strike: func(ctx context.Context, o *operator) error {
			o.struck = time.Now()
			nodes, err := of(ctx)
			for _, n := range nodes {
				if err == nil {
					struck = append(struck, n)
					err = do(ctx, n)
				}
			}
			return err
		},
		mend: func(ctx context.Context) (err error) {
			for _, n := range struck {
				err = errors.Join(err, undo(ctx, n))
			}
			struck = nil
			return err
		},
	}
}

// kill kills a node with SIGKILL. It is mended when it belongs to its cluster again.
func kill(of which) hit {
	return each(of, func(_ context.Context, n *cluster.Node) error { return n.Kill() },
		func(ctx context.Context, n *cluster.Node) error { return n.Restart(ctx) })
}

// still has a node stand still.
func still(of which) hit {
	return each(of, func(_ context.Context, n *cluster.Node) error { return n.Pause() },
		func(_ context.Context, n *cluster.Node) error { return n.Resume() })
}

// hold keeps a connection open on which these statements were executed: what they lock
// is not applied, or not changed.
func hold(of which, statements ...string) hit {
	held := map[*cluster.Node]func(){}
	return each(of, func(ctx context.Context, n *cluster.Node) (err error) {
		held[n], err = n.Hold(ctx, statements...)
		return err
	}, func(_ context.Context, n *cluster.Node) error {
		if release := held[n]; release != nil {
			release()
		}
		return nil
	})
}

// The ways in which a node applies nothing, or somebody can change nothing there.
var (
	tableLock = []string{"LOCK TABLES " + schema + ".users READ"}
	readLock  = []string{"FLUSH TABLES WITH READ LOCK"}
	rowLocks  = []string{"BEGIN", "SELECT id FROM " + schema + ".users FOR UPDATE"}
)

// inCommit has people log out at these instances, and something be lost while their
// commits are held up by stall.
func inCommit(stall, lost hit, at ...int) hit {
	return hit{
		strike: func(ctx context.Context, o *operator) error {
			if err := stall.strike(ctx, o); err != nil {
				return err
			}
			for n, p := range o.quiet {
				if s, i := p.now(), o.instances[at[n%len(at)]]; s != nil {
					o.fault.Go(func() { o.logoutAt(ctx, i, p, s) })
				}
			}
			pause(ctx, o.bound/4)
			return errors.Join(lost.strike(ctx, o), stall.mend(ctx))
		},
		mend: lost.mend,
	}
}

// noReplies keeps the answers to commits from these instances.
func noReplies(at ...int) hit {
	var links []*faultproxy.Proxy
	return hit{
		strike: func(_ context.Context, o *operator) error {
			for _, i := range at {
				o.instances[i].database.HoldReplies(faultproxy.Matching("\x03COMMIT"))
				links = append(links, o.instances[i].database)
			}
			return nil
		},
		mend: func(context.Context) error {
			for _, link := range links {
				link.Heal()
			}
			return nil
		},
	}
}

// after is a hit with a pause before it, in bounds.
func after(bounds float64, h hit) hit {
	return hit{mend: h.mend, strike: func(ctx context.Context, o *operator) error {
		pause(ctx, time.Duration(bounds*float64(o.bound)))
		return h.strike(ctx, o)
	}}
}

// byChance is no fault of the cluster: the operator does what it does with a single
// server, the faults of that included.
var byChance = fault{name: "by-chance", hits: []hit{{strike: func(ctx context.Context, o *operator) error {
	for until := time.Now().Add(6 * o.bound); ctx.Err() == nil && time.Now().Before(until); {
		o.act(ctx)
	}
	o.fault.Wait()
	o.struck = time.Now()
	if !o.long {
		o.lengthen(ctx, steady)
	}
	return nil
}}}}

// steady is the policy while a cluster is broken: nothing else ends a session within
// a fault, and uses are written all the time.
var steady = longer[0]

// logOut ends sessions by one instance, asked until it acknowledges.
func (o *operator) logOut(ctx context.Context, i *instance, people []*person, all []*session) {
	for n, s := range all {
		about := judge.Event{Op: judge.EndOne, User: s.user, Session: s.id, What: "logout of " + people[n].name}
		for ctx.Err() == nil && o.does(ctx, i, request{method: "POST", path: "/v1/logout", token: s.token}, about) != judge.Yes {
			pause(ctx, 100*time.Millisecond)
		}
		people[n].drop(s)
	}
}
