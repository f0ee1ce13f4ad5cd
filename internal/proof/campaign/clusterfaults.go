//go:build unix

package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/flakepass/flakepass/internal/proof/cluster"
	"github.com/flakepass/flakepass/internal/proof/testenv/faultproxy"
)

// off is by how much a clock is wrong.
const off = 10 * time.Second

// isolate cuts a node of Galera off from the others.
func isolate(g *cluster.Galera, of which) hit {
	return each(of, func(ctx context.Context, n *cluster.Node) error { return g.Partition(ctx, n, true) },
		func(ctx context.Context, n *cluster.Node) error { return g.Partition(ctx, n, false) })
}

// clockOff sets the clock of a node of Galera off by that much.
func clockOff(g *cluster.Galera, of which, by time.Duration) hit {
	return each(of, func(ctx context.Context, n *cluster.Node) error { return g.SetClock(ctx, n, by) },
		func(ctx context.Context, n *cluster.Node) error { return g.SetClock(ctx, n, 0) })
}

// donor makes a node of Galera one that holds nobody up.
func donor(g *cluster.Galera, of which) hit {
	return each(of, func(ctx context.Context, n *cluster.Node) error { return g.Desync(ctx, n, true) },
		func(ctx context.Context, n *cluster.Node) error { return g.Desync(ctx, n, false) })
}

// slowApply has a node make a change that the others take seconds to apply: each
// row of a table without a key is looked for in all of them.
func slowApply(of which) hit {
	return each(of, func(ctx context.Context, n *cluster.Node) error {
		return n.Exec(ctx, "CREATE TABLE IF NOT EXISTS probe.many (v INT NOT NULL)", "DELETE FROM probe.many",
			"INSERT INTO probe.many SELECT seq FROM probe.seq_1_to_6000", "UPDATE probe.many SET v = -v ORDER BY v DESC")
	}, func(context.Context, *cluster.Node) error { return nil })
}

// galeraFaults hit the node of the third instance. The commands are at the first.
func galeraFaults(g *cluster.Galera) []fault {
	third := node(g.Nodes, 2)
	return []fault{
		byChance,
		{name: "node-killed", hits: []hit{kill(third)}},
		{name: "node-stands-still", hits: []hit{still(third)}},
		{name: "node-cut-off", hits: []hit{isolate(g, third)}},
		{name: "late-by-table-lock", hits: []hit{hold(third, tableLock...)}},
		{name: "late-by-read-lock", hits: []hit{hold(third, readLock...)}},
		{name: "late-by-long-change", hits: []hit{slowApply(node(g.Nodes, 0))}},
		{name: "rows-held", hits: []hit{hold(third, rowLocks...)}},
		{name: "donor", hits: []hit{donor(g, third)}},
		{name: "killed-in-commit", hits: []hit{inCommit(noReplies(2), kill(third), 2)}},
		{name: "clock-behind", hits: []hit{clockOff(g, third, -off)}, spends: true},
		{name: "clock-ahead", hits: []hit{clockOff(g, third, off)}, spends: true},
	}
}

// galeraOneFaults hit the first node, which takes all writes, or the second, which is
// the next to do so.
func galeraOneFaults(g *cluster.Galera) []fault {
	first, second := node(g.Nodes, 0), node(g.Nodes, 1)
	thenKilled := func(h hit) []hit { return []hit{h, after(1.5, kill(first))} }
	return []fault{
		byChance,
		{name: "writer-killed", failover: true, hits: []hit{kill(first)}},
		{name: "writer-stands-still", failover: true, hits: []hit{still(first)}},
		{name: "writer-cut-off", failover: true, hits: []hit{isolate(g, first)}},
		{name: "late-by-table-lock-then-writer-killed", failover: true, hits: thenKilled(hold(second, tableLock...))},
		{name: "late-by-read-lock-then-writer-killed", failover: true, hits: thenKilled(hold(second, readLock...))},
		{name: "late-by-long-change-then-writer-killed", failover: true, hits: []hit{slowApply(first), kill(first)}},
		{name: "rows-held-at-writer", hits: []hit{hold(first, rowLocks...)}},
		{name: "read-lock-at-writer", failover: true, hits: []hit{hold(first, readLock...)}},
		{name: "writer-becomes-donor", failover: true, hits: []hit{donor(g, first)}},
		{name: "killed-in-commit", failover: true, hits: []hit{inCommit(noReplies(0, 1, 2), kill(first), 0, 1, 2)}},
		{name: "clock-behind-then-writer-killed", failover: true, hits: thenKilled(clockOff(g, second, -off)), spends: true},
		{name: "clock-ahead-then-writer-killed", failover: true, hits: thenKilled(clockOff(g, second, off)), spends: true},
	}
}

// groupFaults hit the primary, whichever it is, or the others.
func groupFaults(g *cluster.Group) []fault {
	primary := func(ctx context.Context) (_ []*cluster.Node, err error) {
		for _, as := range g.Nodes { // some may stand still
			within, cancel := context.WithTimeout(ctx, time.Second)
			n, failed := g.Primary(within, as)
			cancel()
			if failed == nil {
				return []*cluster.Node{n}, nil
			}
			err = errors.Join(err, failed)
		}
		return []*cluster.Node{nil}, err
	}
	others := func(ctx context.Context) ([]*cluster.Node, error) {
		p, err := primary(ctx)
		return slices.DeleteFunc(slices.Clone(g.Nodes), func(n *cluster.Node) bool { return n == p[0] }), err
	}
	next := hit{strike: func(ctx context.Context, o *operator) error {
		o.struck = time.Now()
		n, err := others(ctx)
		if err != nil {
			return err
		}
		return g.Switch(ctx, n[0])
	}}
	thenKilled := func(h hit) []hit { return []hit{h, after(1.5, kill(primary))} }
	return []fault{
		byChance,
		{name: "switch", failover: true, hits: []hit{next}},
		{name: "writer-killed", failover: true, hits: []hit{kill(primary)}},
		{name: "writer-stands-still", failover: true, hits: []hit{still(primary)}},
		{name: "others-stand-still", hits: []hit{still(others)}},
		{name: "late-by-table-lock-then-writer-killed", hits: thenKilled(hold(others, tableLock...))},
		{name: "late-by-read-lock-then-writer-killed", hits: thenKilled(hold(others, readLock...))},
		{name: "rows-held-at-writer", hits: []hit{hold(primary, rowLocks...)}},
		{name: "killed-in-commit", failover: true, hits: []hit{inCommit(still(others), kill(primary), 0, 1, 2)}},
	}
}

// pairFaults end with the replica in the place of the source, but for some. A source
// that was replaced does not come back: it may have what nobody has acknowledged.
func pairFaults(p *cluster.Pair) []fault {
	source := node(p.Nodes, 0)
	promoted := hit{strike: func(ctx context.Context, o *operator) error {
		o.struck = time.Now()
		if err := p.Source.Kill(); err != nil {
			return err
		}
		pause(ctx, o.bound/2) // somebody has to find out
		return p.Promote(ctx)
	}}
	late := hit{strike: func(ctx context.Context, o *operator) error {
		release, err := p.Replica.Hold(ctx, tableLock...)
		if err != nil {
			return err
		}
		o.fault.Go(func() { pause(ctx, 3*o.bound); release() })
		pause(ctx, 3*o.bound/2)
		return promoted.strike(ctx, o) // which waits for what is late
	}}
	noLink := hit{strike: func(_ context.Context, o *operator) error {
		o.struck = time.Now()
		p.Link.Cut(faultproxy.Both)
		return nil
	},
		mend: func(context.Context) error { p.Link.Heal(); return nil }}
	inOrder := hit{strike: func(ctx context.Context, o *operator) error { o.struck = time.Now(); return p.Switch(ctx) }}
	return []fault{
		byChance,
		{name: "writer-stands-still", hits: []hit{still(source)}},
		{name: "replica-cut-off", hits: []hit{noLink}},
		{name: "rows-held-at-writer", hits: []hit{hold(source, rowLocks...)}},
		{name: "switch", failover: true, hits: []hit{inOrder}, spends: true},
		{name: "writer-killed", failover: true, hits: []hit{promoted}, spends: true},
		{name: "late-by-table-lock-then-writer-killed", failover: true, hits: []hit{late}, spends: true},
		{name: "killed-in-commit", failover: true, hits: []hit{inCommit(noLink, promoted, 0, 1, 2)}, spends: true},
	}
}

// strikeWithin and mendWithin bound what is done to a cluster.
const (
	strikeWithin = time.Minute
	mendWithin   = 90 * time.Second
)

// now breaks what the step breaks.
func (h hit) now(ctx context.Context, o *operator) error {
	ctx, cancel := context.WithTimeout(ctx, strikeWithin)
	defer cancel()
	return h.strike(ctx, o)
}

// mend makes the cluster whole.
func (f fault) mend(ctx context.Context, s *site) error {
	ctx, cancel := context.WithTimeout(ctx, mendWithin)
	defer cancel()
	var errs []error
	for _, h := range f.hits {
		if h.mend != nil {
			errs = append(errs, h.mend(ctx))
		}
	}
	if f.spends {
		return errors.Join(errs...)
	}
	return errors.Join(append(errs, s.whole(ctx))...)
}
