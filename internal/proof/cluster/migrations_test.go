//go:build unix

package cluster_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/internal/proof/cluster"
	"github.com/flakepass/flakepass/migrations"
)

// rounds is how often several instances start on an empty schema.
const rounds = 5

// migratedAtOnce starts an instance on each of these pools, all on one empty schema, and
// fails the test unless all of them find every migration, and each was applied by one.
func migratedAtOnce(t *testing.T, dbs []*sql.DB) {
	t.Helper()
	var (
		all   sync.WaitGroup
		start = make(chan struct{})
		mu    sync.Mutex
		times = map[string]int{}
	)
	for i, db := range dbs {
		all.Go(func() {
			<-start
			applied, err := migrations.Up(t.Context(), db, migrations.MySQL, nil)
			if err == nil {
				err = migrations.Check(t.Context(), db, migrations.MySQL)
			}
			if err != nil {
				t.Errorf("instance %d: %v", i, err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, a := range applied {
				times[a.Name]++
			}
		})
	}
	close(start)
	all.Wait()
	for name, n := range times {
		if n != 1 {
			t.Errorf("%s was applied %d times", name, n)
		}
	}
	if len(times) == 0 {
		t.Error("nobody has applied anything")
	}
}

// spread is a pool whose connections lead to one address after the other, as a proxy
// does that knows no writer.
type spread struct {
	to   []driver.Connector
	next atomic.Int64
}

func (s *spread) Connect(ctx context.Context) (driver.Conn, error) {
	return s.to[int(s.next.Add(1))%len(s.to)].Connect(ctx)
}

func (s *spread) Driver() driver.Driver { return s.to[0].Driver() }

// to opens a pool to a schema at these addresses.
func to(t *testing.T, schema string, addrs ...string) *sql.DB {
	t.Helper()
	var s spread
	for _, addr := range addrs {
		c := mysql.NewConfig()
		c.User, c.Net, c.Addr, c.DBName = "root", "tcp", addr, schema
		c.Logger = &mysql.NopLogger{}
		connector, err := mysql.NewConnector(c)
		must(t, err)
		s.to = append(s.to, connector)
	}
	db := sql.OpenDB(&s)
	db.SetMaxIdleConns(0) // each statement elsewhere
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// empty makes a schema without tables, which goes with the test.
func empty(t *testing.T, n *cluster.Node, schema string) {
	t.Helper()
	must(t, n.Exec(t.Context(), "CREATE DATABASE "+schema+" CHARACTER SET utf8mb4"))
	t.Cleanup(func() { must(t, n.Exec(context.Background(), "DROP DATABASE "+schema)) })
}

func (g *galera) migrateOnEachNode(t *testing.T) {
	for round := range rounds {
		schema := fmt.Sprintf("each%d", round)
		empty(t, g.Nodes[0], schema)
		var dbs []*sql.DB
		for _, n := range g.Nodes {
			g.applied(t, n)
			dbs = append(dbs, to(t, schema, n.Addr))
		}
		migratedAtOnce(t, dbs)
	}
}

func (g *galera) migrateAcrossNodes(t *testing.T) {
	var addrs []string
	for _, n := range g.Nodes {
		addrs = append(addrs, n.Addr)
	}
	for round := range rounds {
		schema := fmt.Sprintf("across%d", round)
		empty(t, g.Nodes[0], schema)
		g.applied(t, g.Nodes[1])
		g.applied(t, g.Nodes[2])
		migratedAtOnce(t, []*sql.DB{to(t, schema, addrs...), to(t, schema, addrs...), to(t, schema, addrs...)})
	}
}

// A node that has not applied a migration does not say that it is missing.
func (g *galera) migrateBehind(t *testing.T) {
	const schema = "behind"
	late := g.Nodes[2]
	empty(t, g.Nodes[0], schema)
	first := to(t, schema, g.Nodes[0].Addr)
	up := func() { _, err := migrations.Up(within(t), first, migrations.MySQL, nil); must(t, err) }
	up()
	_, err := migrations.Down(t.Context(), first, migrations.MySQL, 1, nil)
	must(t, err)
	g.applied(t, late)
	g.causalWait(t, late, "1")
	release := g.hold(t, g.Nodes[0], late)
	up() // so few changes that the others do not wait for the late node
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	db := to(t, schema, late.Addr)
	if err := migrations.Check(ctx, db, migrations.MySQL); err == nil || errors.Is(err, migrations.ErrBehind) {
		t.Errorf("a late node: %v; want no answer", err)
	}
	release()
	must(t, migrations.Check(t.Context(), db, migrations.MySQL))
}

func (g *group) migrateOnThePrimary(t *testing.T) {
	primary := g.primary(t)
	for round := range rounds {
		schema := fmt.Sprintf("primary%d", round)
		empty(t, primary, schema)
		migratedAtOnce(t, []*sql.DB{to(t, schema, primary.Addr), to(t, schema, primary.Addr), to(t, schema, primary.Addr)})
	}
}
