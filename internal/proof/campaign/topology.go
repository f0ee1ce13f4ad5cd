//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/flakepass/flakepass/internal/proof/cluster"
	"github.com/flakepass/flakepass/internal/proof/testenv/server"
)

// A topology is a cluster of databases, and how the instances reach it.
type topology struct {
	kind   string // whose SQL it speaks
	start  func(context.Context) (*site, error)
	faults []fault // of one that does not run: for their names
}

// topologies are what -db has beside single servers.
var topologies = map[string]topology{
	// An instance at each node, which all take writes.
	"galera": {"mariadb", func(ctx context.Context) (*site, error) { return startGalera(ctx, true) }, galeraFaults(&cluster.Galera{})},
	// The others have a proxy that leads all instances to the one that takes writes.
	"galera-one": {"mariadb", func(ctx context.Context) (*site, error) { return startGalera(ctx, false) }, galeraOneFaults(&cluster.Galera{})},
	"group":      {"mysql", startGroup, groupFaults(&cluster.Group{})},
	"semisync":   {"mysql", startPair, pairFaults(&cluster.Pair{})},
}

// A site is a cluster that runs.
type site struct {
	nodes  []*cluster.Node
	each   bool     // each instance has a node of its own
	at     []string // where each instance has its database
	faults []fault
	whole  func(context.Context) error // returns when all nodes belong to it and have caught up
	close  func() error
}

func startGalera(ctx context.Context, each bool) (*site, error) {
	g, err := cluster.StartGalera(ctx, true)
	if err != nil {
		return nil, err
	}
	s := &site{nodes: g.Nodes, each: each, close: g.Close, whole: func(ctx context.Context) error { return g.Await(ctx, 3) }}
	if each {
		for _, n := range g.Nodes {
			s.at = append(s.at, n.Addr)
		}
		s.faults = galeraFaults(g)
		return s, nil
	}
	s.faults = galeraOneFaults(g)
	return s.behind(ctx, g.Behind)
}

func startGroup(ctx context.Context) (*site, error) {
	g, err := cluster.StartGroup(ctx, false)
	if err != nil {
		return nil, err
	}
	s := &site{nodes: g.Nodes, close: g.Close, whole: func(ctx context.Context) error { return g.Await(ctx, 3) }, faults: groupFaults(g)}
	return s.behind(ctx, g.Behind)
}

func startPair(ctx context.Context) (*site, error) {
	p, err := cluster.StartPair(ctx, true)
	if err != nil {
		return nil, err
	}
	s := &site{nodes: p.Nodes, close: p.Close, whole: func(context.Context) error { return nil }, faults: pairFaults(p)}
	return s.behind(ctx, p.Behind)
}

// behind has all instances reach the cluster by its proxy.
func (s *site) behind(ctx context.Context, proxy func(context.Context) (string, error)) (*site, error) {
	addr, err := proxy(ctx)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.at = []string{addr, addr, addr}
	return s, nil
}

// open starts the cluster. Commands and the operator reach it as the first instance does.
func (t topology) open(ctx context.Context) (*database, error) {
	s, err := t.start(ctx)
	if errors.Is(err, cluster.ErrAbsent) || errors.Is(err, server.ErrNoServers) {
		return nil, fmt.Errorf("%w: %w", errAbsent, err)
	} else if err != nil {
		return nil, err
	}
	d := &database{kind: t.kind, addr: s.at[0], site: s}
	// What the campaign writes to see who takes writes.
	err = s.nodes[0].Exec(ctx, "CREATE DATABASE probe", "CREATE TABLE probe.beat (id INT PRIMARY KEY, v BIGINT NOT NULL)",
		"INSERT INTO probe.beat VALUES (0, 0), (1, 0), (2, 0)")
	if err = errors.Join(err, d.connect()); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return d, nil
}

// takesWrites returns nil if there is a writer: a change is committed on some node, or
// on every node if each instance has its own.
func (s *site) takesWrites(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	errs := make([]error, len(s.nodes))
	var asking sync.WaitGroup
	for i, n := range s.nodes {
		asking.Go(func() {
			if errs[i] = n.Exec(ctx, fmt.Sprintf("UPDATE probe.beat SET v = v + 1 WHERE id = %d", i)); errs[i] == nil && !s.each {
				cancel()
			}
		})
	}
	asking.Wait()
	for _, err := range errs {
		if err == nil && !s.each {
			return nil
		}
	}
	return errors.Join(errs...)
}
