//go:build unix

package cluster

import (
	"context"
	"errors"
)

// An Alone is one server, to compare a cluster with.
type Alone struct{ nodes }

// StartAlone starts one of that kind: "mysql" or "mariadb".
func StartAlone(ctx context.Context, kind string) (_ *Alone, err error) {
	a := new(Alone)
	if a.nodes, err = in(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	n, err := newNode(ctx, kind, a.dir, "alone", "")
	if err := a.add(n, err); err != nil {
		return nil, err
	}
	if err := n.startAlone(ctx); err != nil {
		return nil, err
	}
	return a, n.Exec(ctx, "CREATE DATABASE "+Schema+" CHARACTER SET utf8mb4")
}
