//go:build unix

package testenv

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A Sentinel is three redis-servers, of which one is the master, watched by
// three sentinels, all of one test's own. Its methods are for the goroutine that
// runs the test, which they end when they fail.
type Sentinel struct {
	// Name is the master's, as the sentinels know it.
	Name string
	// Servers and Sentinels run until the test ends, or kills them.
	Servers, Sentinels []*RedisServer

	t testing.TB
}

// assembly bounds the wait until servers that start, or lose one of them, have
// found to each other. It takes seconds.
const assembly = time.Minute

// RedisSentinel starts such a group, which takes about two seconds, and returns
// when a failover would work. All of it ends with the test.
func RedisSentinel(t testing.TB) *Sentinel {
	t.Helper()
	// A replica asks for its copy at once, and not with others 5 seconds later.
	fast := []string{"--repl-diskless-sync-delay", "0"}
	s := &Sentinel{Name: "sessions", t: t, Servers: []*RedisServer{Redis(t, fast...)}}
	host, port, err := net.SplitHostPort(s.Servers[0].Addr)
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	for range 2 {
		s.Servers = append(s.Servers, Redis(t, append(fast, "--replicaof", host+" "+port)...))
	}
	// A sentinel asks the master for its replicas when it starts, and then not
	// for 10 seconds.
	for _, replica := range s.Servers[1:] {
		Eventually(t, assembly, func() bool {
			return replica.says("INFO replication", "master_link_status:up")
		}, "a replica follows its master")
	}
	for range 3 {
		sentinel := redisServer(t, func(dir string, own int) []string {
			return []string{s.configure(dir, own, host+" "+port), "--sentinel"}
		})
		// Sentinels find each other through what each publishes every 2 seconds,
		// and see every 10 that a server which came back thinks it is the master.
		sentinel.Command("SENTINEL DEBUG publish-period 100 info-period 500")
		s.Sentinels = append(s.Sentinels, sentinel)
	}
	s.Await()
	return s
}

// configure writes the file in which a sentinel keeps what it knows. A server that
// does not answer for 3 s is down: on a machine that is busy with other tests one that
// runs is silent for a second, and would be replaced.
func (s *Sentinel) configure(dir string, port int, master string) string {
	s.t.Helper()
	path := filepath.Join(dir, "sentinel.conf")
	text := fmt.Sprintf(`bind 127.0.0.1
port %[1]d
dir %[2]q
sentinel monitor %[3]s %[4]s 2
sentinel down-after-milliseconds %[3]s 3000
sentinel failover-timeout %[3]s 5000
`, port, dir, s.Name, master)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatalf("testenv: %v", err)
	}
	return path
}

// URL is the group as the configuration of the program names it.
func (s *Sentinel) URL() string {
	return "redis+sentinel://" + strings.Join(addresses(s.Sentinels), ",") + "/" + s.Name
}

// Addrs is where the sentinels listen.
func (s *Sentinel) Addrs() []string { return addresses(s.Sentinels) }

// Await waits until all sentinels that run agree on a master that runs, and
// until the other servers that run follow it.
func (s *Sentinel) Await() {
	s.t.Helper()
	Eventually(s.t, assembly, func() bool {
		master := s.master()
		return master != nil && s.follow(master)
	}, "the sentinels agree on a master, and the others follow it")
}

// Master returns the server that the sentinels name.
func (s *Sentinel) Master() *RedisServer {
	s.t.Helper()
	s.Await()
	return s.master()
}

// master returns nil unless the sentinels agree on a server that runs.
func (s *Sentinel) master() (master *RedisServer) {
	for _, sentinel := range running(s.Sentinels) {
		var named *RedisServer
		for _, r := range running(s.Servers) {
			if sentinel.says("INFO sentinel", "status=ok,address="+r.Addr+",slaves=2,sentinels="+strconv.Itoa(len(s.Sentinels))) {
				named = r
			}
		}
		if named == nil || (master != nil && master != named) {
			return nil
		}
		master = named
	}
	return master
}

func (s *Sentinel) follow(master *RedisServer) bool {
	_, port, _ := net.SplitHostPort(master.Addr)
	for _, r := range running(s.Servers) {
		if r == master && !r.says("INFO replication", "role:master") ||
			r != master && !r.says("INFO replication", "role:slave", "master_port:"+port+"\r\n", "master_link_status:up") {
			return false
		}
	}
	return true
}

func addresses(servers []*RedisServer) (list []string) {
	for _, r := range servers {
		list = append(list, r.Addr)
	}
	return list
}

func running(servers []*RedisServer) (list []*RedisServer) {
	for _, r := range servers {
		if r.Running() {
			list = append(list, r)
		}
	}
	return list
}
