package lifecycletest

import (
	"bufio"
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// rows reads every column of every row of every table of a MySQL.
func rows(t testing.TB, dsn string) []byte {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var all bytes.Buffer
	for _, table := range column(t, db, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()") {
		r, err := db.QueryContext(t.Context(), "SELECT * FROM `"+table+"`") //nolint:rowserrcheck // Scan asks
		if err != nil {
			t.Fatal(err)
		}
		e2e.Scan(t, r, &all)
	}
	return all.Bytes()
}

func column(t testing.TB, db *sql.DB, query string) (list []string) {
	t.Helper()
	r, err := db.QueryContext(t.Context(), query) //nolint:rowserrcheck // Scan asks
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	e2e.Scan(t, r, &b)
	for line := bufio.NewScanner(&b); line.Scan(); {
		list = append(list, line.Text())
	}
	return list
}

// keys reads all that a Redis holds, as strings and as its own dump format.
func keys(t testing.TB, address string) []byte {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: address})
	defer func() { _ = rdb.Close() }()
	var all bytes.Buffer
	for it := rdb.Scan(t.Context(), 0, "*", 100).Iterator(); it.Next(t.Context()); {
		key := it.Val()
		dump, err := rdb.Dump(t.Context(), key).Result()
		if err != nil && err != redis.Nil { //nolint:errorlint // expired since
			t.Fatal(err)
		}
		// DUMP may compress what GET shows.
		value, _ := rdb.Get(t.Context(), key).Result()
		fmt.Fprintf(&all, "%s\n%s\n%s\n", key, dump, value)
	}
	return all.Bytes()
}

// monitor writes down every command that a Redis gets, until the test ends.
func monitor(t testing.TB, address string) *testenv.Journal {
	t.Helper()
	conn, err := (&net.Dialer{Timeout: e2e.Patience}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	seen := &testenv.Journal{}
	if _, err := conn.Write([]byte("MONITOR\r\n")); err != nil {
		t.Fatal(err)
	}
	ok := make([]byte, len("+OK\r\n"))
	if _, err := io.ReadFull(conn, ok); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _, _ = io.Copy(seen, conn) }()
	t.Cleanup(func() { _ = conn.Close(); <-done })
	return seen
}
