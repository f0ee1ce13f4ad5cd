//go:build unix

package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/flakepass/flakepass/internal/proof/testenv/faultproxy"
)

// A Pair is a MySQL source with one replica, which is read-only.
type Pair struct {
	nodes

	Source, Replica *Node
	// Link is what the replica reads the source through.
	Link *faultproxy.Proxy
}

// StartPair starts one. If it is semi-synchronous, a commit waits for the replica,
// however long.
func StartPair(ctx context.Context, semiSynchronous bool) (_ *Pair, err error) {
	p := new(Pair)
	if p.nodes, err = in(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	for i, name := range []string{"source", "replica"} {
		n, err := newNode(ctx, "mysql", p.dir, name, "SET SESSION sql_log_bin = OFF;\n")
		if err := p.add(n, err); err != nil {
			return nil, err
		}
		n.process.Args = append(n.process.Args, replicationArgs(n, i+1)...)
		n.process.Args = append(n.process.Args, "--plugin-load-add=semisync_source.so", "--plugin-load-add=semisync_replica.so")
		if err := n.startAlone(ctx); err != nil {
			return nil, err
		}
	}
	p.Source, p.Replica = p.Nodes[0], p.Nodes[1]
	if p.Link, err = faultproxy.Open(p.Source.Addr); err != nil {
		return nil, err
	}
	p.closed = append(p.closed, func() error { p.Link.Close(); return nil })
	if semiSynchronous {
		err = errors.Join(p.Source.Exec(ctx, "SET GLOBAL rpl_semi_sync_source_timeout = 1000000000", "SET GLOBAL rpl_semi_sync_source_enabled = ON"),
			p.Replica.Exec(ctx, "SET GLOBAL rpl_semi_sync_replica_enabled = ON"))
		if err != nil {
			return nil, err
		}
	}
	if err := p.Follow(ctx, p.Replica, p.Link.Addr); err != nil {
		return nil, err
	}
	if err := p.Source.Exec(ctx, "CREATE DATABASE "+Schema+" CHARACTER SET utf8mb4"); err != nil {
		return nil, err
	}
	return p, p.CatchUp(ctx)
}

// Follow makes a server the read-only replica of the one at that address.
func (p *Pair) Follow(ctx context.Context, n *Node, source string) error {
	host, port, _ := strings.Cut(source, ":")
	return n.Exec(ctx, "SET GLOBAL super_read_only = ON",
		fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST = '%s', SOURCE_PORT = %s, SOURCE_USER = 'root', "+
			"SOURCE_AUTO_POSITION = 1, SOURCE_CONNECT_RETRY = 1, GET_SOURCE_PUBLIC_KEY = 1", host, port),
		"START REPLICA")
}

// CatchUp waits until the replica has applied what the source has committed.
func (p *Pair) CatchUp(ctx context.Context) error {
	have, err := p.Source.Text(ctx, "SELECT @@global.gtid_executed")
	if err != nil {
		return err
	}
	return until(ctx, func(ctx context.Context) error {
		missing, err := p.Replica.Text(ctx, "SELECT GTID_SUBTRACT(?, @@global.gtid_executed)", have)
		if err == nil && missing != "" {
			err = errors.New("the replica lacks " + missing)
		}
		return err
	})
}

// Promote makes the replica take writes, whatever has become of the source, once
// it has applied all that it has received: the source may have acknowledged that.
func (p *Pair) Promote(ctx context.Context) error {
	if err := p.Replica.Exec(ctx, "STOP REPLICA IO_THREAD"); err != nil {
		return err
	}
	err := until(ctx, func(ctx context.Context) error {
		waiting, err := p.Replica.Text(ctx, "SELECT GTID_SUBTRACT(received_transaction_set, @@global.gtid_executed) FROM performance_schema.replication_connection_status WHERE channel_name = ''")
		if err == nil && waiting != "" {
			err = errors.New("the replica has not applied " + waiting)
		}
		return err
	})
	if err != nil {
		return err
	}
	return p.Replica.Exec(ctx, "STOP REPLICA", "RESET REPLICA ALL", "SET GLOBAL super_read_only = OFF", "SET GLOBAL read_only = OFF")
}

// Switch makes the replica take writes in good order: the source takes none any
// more, and nothing is lost.
func (p *Pair) Switch(ctx context.Context) error {
	if err := p.Source.Exec(ctx, "SET GLOBAL super_read_only = ON"); err != nil {
		return err
	}
	if err := p.CatchUp(ctx); err != nil {
		return err
	}
	return p.Promote(ctx)
}
