//go:build unix

// Package testenv gives tests real servers: a fresh database on MySQL or
// MariaDB, and a Redis or ZooKeeper of the test's own that it may stop, kill and
// pause.
//
// The databases, and a ZooKeeper, run once for a whole test run: internal/proof/testenv/withservers
// starts them and says in these variables where they are.
//
//   - FLAKEPASS_TEST_MYSQL and FLAKEPASS_TEST_MARIADB: a data source name of
//     go-sql-driver, without a database, whose user may create databases.
//   - FLAKEPASS_TEST_REDIS: the redis:// address of a shared Redis.
//   - FLAKEPASS_TEST_ZOOKEEPER: the host:port of a shared ZooKeeper.
//   - FLAKEPASS_TEST_WITHSERVERS: that program, which a test with a database of
//     its own asks how to start one.
//   - FLAKEPASS_TEST_CACHE: the folder of what was fetched or built for the
//     tests; $HOME/.cache/flakepass-test otherwise.
//   - FLAKEPASS_TEST_MEMORY: a folder in memory, for the data of those that all
//     tests share; /dev/shm otherwise, if it has 2 GiB to spare.
//   - FLAKEPASS_TEST_REQUIRE_SERVERS: if set, a test whose server is absent
//     fails. Otherwise it is skipped, so that "go test ./..." works on a
//     machine that has none of them.
package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv/server"
)

// Absent ends a test whose server, or whose part of a Debian machine, is not there: it
// fails if servers are required, and is skipped otherwise.
func Absent(t testing.TB, what string) {
	t.Helper()
	const advice = `"make test" installs and starts the servers of the tests`
	if os.Getenv("FLAKEPASS_TEST_REQUIRE_SERVERS") != "" {
		t.Fatalf("testenv: no %s, and FLAKEPASS_TEST_REQUIRE_SERVERS is set; %s", what, advice)
	}
	t.Skipf("needs %s; %s", what, advice)
}

// Program returns the path of an installed program, such as nginx. It also
// looks where Debian keeps servers, which an ordinary user's PATH leaves out,
// and where "make servers" puts what it builds.
// A test whose program is absent is skipped, or fails if servers are required.
func Program(t testing.TB, name string) string {
	t.Helper()
	cache := os.Getenv("FLAKEPASS_TEST_CACHE")
	if cache == "" {
		cache = filepath.Join(os.Getenv("HOME"), ".cache", "flakepass-test")
	}
	for _, candidate := range []string{name, "/usr/local/sbin/" + name, "/usr/sbin/" + name, filepath.Join(cache, "bin", name)} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path
		}
	}
	Absent(t, name)
	return ""
}

// FreePort returns a TCP port of 127.0.0.1 on which nothing listens, and which no
// other test of this run gets. It is not one that the kernel gives to outgoing
// connections.
func FreePort(t testing.TB) int {
	t.Helper()
	port, err := server.FreePort(t.Context())
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	return port
}

// Eventually polls ok every few milliseconds until it returns true. If it has
// not when deadline is over, the test ends at once with msg, which says what
// was waited for. It calls ok once more at the deadline, so a machine that
// stood still for a while gets its last chance.
func Eventually(t testing.TB, deadline time.Duration, ok func() bool, msg string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	over := time.NewTimer(deadline)
	defer over.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-over.C:
			if !ok() {
				t.Fatalf("not within %v: %s", deadline, msg)
			}
			return
		}
	}
}
