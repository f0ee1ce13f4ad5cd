//go:build unix

package testenv_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestSentinelReplacesTheMaster: the sentinels name a replica that has what the
// master had, and the old master, when it comes back, follows the new.
func TestSentinelReplacesTheMaster(t *testing.T) {
	t.Parallel()
	s := testenv.RedisSentinel(t)
	if want := "redis+sentinel://" + strings.Join(s.Addrs(), ",") + "/sessions"; s.URL() != want || len(s.Addrs()) != 3 {
		t.Errorf("URL: %s, want %s", s.URL(), want)
	}
	old := s.Master()
	if old != s.Servers[0] {
		t.Errorf("the master is %s, want the first server, %s", old.Addr, s.Servers[0].Addr)
	}
	old.Command("SET k v")
	old.AwaitCopies(2)
	old.Kill()
	master := s.Master()
	if master == old {
		t.Fatal("the sentinels still name the master that was killed")
	}
	if got := master.Command("GET k"); got != "$1\r\nv\r\n" {
		t.Errorf("the new master has %q", got)
	}
	old.Start()
	s.Await()
	if now := s.Master(); now != master {
		t.Errorf("the master is %s, want %s, which nothing has happened to", now.Addr, master.Addr)
	}
	if !strings.Contains(old.Command("INFO replication"), "role:slave") {
		t.Error("the old master has not become a replica of the new")
	}
}

// TestClusterReplacesAMaster: its replica takes over its slots and what is in
// them; the others keep theirs.
func TestClusterReplacesAMaster(t *testing.T) {
	t.Parallel()
	c := testenv.RedisCluster(t)
	if want := "redis+cluster://" + strings.Join(c.Addrs(), ","); c.URL() != want || len(c.Addrs()) != 6 {
		t.Errorf("URL: %s, want %s", c.URL(), want)
	}
	old, other := c.Owner("foo"), c.Owner("bar") // of slots 12182 and 5061
	if old != c.Nodes[2] || other != c.Nodes[0] {
		t.Fatalf("foo and bar belong to %s and %s, want the third and the first node", old.Addr, other.Addr)
	}
	old.Command("SET foo v")
	old.AwaitCopies(1)
	old.Kill()
	master := c.Owner("foo")
	if master != c.Nodes[5] || c.Owner("bar") != other {
		t.Errorf("foo belongs to %s, want the replica of %s", master.Addr, old.Addr)
	}
	if got := master.Command("GET foo"); got != "$1\r\nv\r\n" {
		t.Errorf("the new master has %q", got)
	}
	old.Start()
	c.Await()
	if c.Owner("foo") != master {
		t.Error("the old master, come back, owns its slots again")
	}
}

// TestClusterMovesASlot: the old owner sends askers away, with ASK and then with
// MOVED.
func TestClusterMovesASlot(t *testing.T) {
	t.Parallel()
	c := testenv.RedisCluster(t)
	from, to := c.Owner("foo"), c.Owner("bar")
	rdb := redis.NewClient(&redis.Options{Addr: from.Addr})
	t.Cleanup(func() { _ = rdb.Close() })
	for _, step := range []struct {
		do   func(string, *testenv.RedisServer)
		want string
	}{{c.BeginMove, "ASK"}, {c.FinishMove, "MOVED"}} {
		step.do("foo", to)
		if err := rdb.Get(t.Context(), "foo").Err(); err == nil || err.Error() != step.want+" 12182 "+to.Addr {
			t.Errorf("the old owner answers %v, want %s to %s", err, step.want, to.Addr)
		}
	}
}
