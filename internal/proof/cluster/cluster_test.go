//go:build unix

package cluster_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/internal/proof/cluster"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// soon ends what a test waits for that never comes.
const soon = 3 * time.Minute

// pool is a pool of connections to the schema at that address.
func pool(t *testing.T, addr string) *sql.DB { t.Helper(); return poolAs(t, "root", addr) }

func poolAs(t *testing.T, user, addr string) *sql.DB {
	t.Helper()
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.DBName = user, "tcp", addr, cluster.Schema
	c.Timeout, c.ReadTimeout, c.Logger = 30*time.Second, soon, &mysql.NopLogger{}
	connector, err := mysql.NewConnector(c)
	must(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// within is a context for a step of a test.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	t.Cleanup(cancel)
	return ctx
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	testenv.Eventually(t, soon, ok, what)
}

// connect makes a connection to the schema on a node, with these settings. It ends with
// the test.
func connect(t *testing.T, n *cluster.Node, settings ...string) *sql.Conn {
	t.Helper()
	db := pool(t, n.Addr)
	conn, err := db.Conn(t.Context())
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	for _, setting := range settings {
		run(t, conn, setting)
	}
	return conn
}

// A querier is a pool, a connection or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func run(t *testing.T, on querier, statement string, args ...any) {
	t.Helper()
	if _, err := on.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// ask is for a question with one answer; of SHOW it is the second column.
func ask(on querier, query string) (answer string, err error) {
	to := []any{&answer}
	if strings.HasPrefix(query, "SHOW") {
		to = []any{new(string), &answer}
	}
	err = on.QueryRowContext(context.Background(), query).Scan(to...)
	return answer, err
}

// says fails the test unless the answer is that one.
func says(t *testing.T, on querier, query, want string) {
	t.Helper()
	if got, err := ask(on, query); err != nil || got != want {
		t.Errorf("%s: %q, %v; want %q", query, got, err, want)
	}
}

// fails ends the test unless the error has one of these numbers.
func fails(t *testing.T, err error, what string, numbers ...uint16) {
	t.Helper()
	e, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok || !slices.Contains(numbers, e.Number) {
		t.Errorf("%s: %v; want one of %v", what, err, numbers)
	}
}

// refuses fails the test unless a query has an error of one of these numbers.
func refuses(t *testing.T, on querier, query string, numbers ...uint16) {
	t.Helper()
	answer, err := ask(on, query)
	if err == nil {
		t.Errorf("%s: %q; want an error of %v", query, answer, numbers)
		return
	}
	fails(t, err, query, numbers...)
}

// status is a status variable of a node, -1 if it is no number.
func status(t *testing.T, n *cluster.Node, name string) int {
	t.Helper()
	text, err := n.Status(t.Context(), name)
	must(t, err)
	value, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return value
}

// cost logs how long a query takes, as the median of some. Nothing is asserted.
func cost(t *testing.T, on querier, what, query string) {
	t.Helper()
	const times = 101
	took := make([]time.Duration, 0, times)
	for range times {
		began := time.Now()
		if _, err := ask(on, query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	t.Logf("%-40s %v", what, took[times/2].Round(time.Microsecond))
}
