//go:build unix

package testenv

import (
	"context"
	"crypto/rand"
	"database/sql"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// MySQL returns the data source name, in go-sql-driver's form, of an empty
// database on a real MySQL, dropped when the test ends. Its user is root. A
// test that has left a transaction open by then fails: the drop waits for it
// in vain.
func MySQL(t testing.TB) string {
	t.Helper()
	return database(t, "MySQL", "FLAKEPASS_TEST_MYSQL")
}

// MariaDB is what [MySQL] is, on MariaDB.
func MariaDB(t testing.TB) string {
	t.Helper()
	return database(t, "MariaDB", "FLAKEPASS_TEST_MARIADB")
}

func database(t testing.TB, what, variable string) string {
	t.Helper()
	dsn := os.Getenv(variable)
	if dsn == "" {
		Absent(t, what)
	}
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatalf("testenv: %s: %v", variable, err)
	}
	// A name of lower-case letters and digits needs no quotes, and nothing of
	// the test's name could end up in SQL.
	name := "t_" + strings.ToLower(rand.Text())
	execute(t, config, "CREATE DATABASE "+name+" CHARACTER SET utf8mb4")
	t.Cleanup(func() {
		execute(t, config, "SET SESSION lock_wait_timeout = 10", "DROP DATABASE "+name)
	})
	config = config.Clone()
	config.DBName = name
	return config.FormatDSN()
}

// execute runs statements one after another on one connection of its own.
func execute(t testing.TB, config *mysql.Config, statements ...string) {
	t.Helper()
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	db := sql.OpenDB(connector)
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)

	// The test's own context is over when its cleanups run.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			t.Fatalf("testenv: %s: %v", statement, err)
		}
	}
}
