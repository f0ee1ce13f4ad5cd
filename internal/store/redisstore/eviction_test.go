package redisstore_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/fleet"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/redisstore"
)

// TestEvictionIsAskedOfRedis, of a user who may ask.
func TestEvictionIsAskedOfRedis(t *testing.T) {
	s := testenv.Redis(t)
	rdb := redisstore.Open(redisstore.Server{Addrs: []string{s.Addr}})
	defer func() { _ = rdb.Close() }()
	for _, want := range []string{redisstore.NoEviction, "allkeys-lru", "volatile-ttl"} {
		s.Command("CONFIG SET maxmemory-policy " + want)
		if got, err := redisstore.Eviction(t.Context(), rdb); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	s.Command("ACL SETUSER default -info")
	if got, err := redisstore.Eviction(t.Context(), rdb); got != "" || !errors.Is(err, fleet.RedisPermission) {
		t.Errorf("a user who may not ask: %q, %v", got, err)
	}
}

// FuzzParsePolicy: whatever a server answers, what is shown of it is a name.
func FuzzParsePolicy(f *testing.F) {
	for _, s := range []string{"", "# Memory\r\nmaxmemory_policy:noeviction\r\n", "maxmemory_policy:", "maxmemory_policy:a\x1b[2J", "x:maxmemory_policy:allkeys-lru", "maxmemory_policy:allkeys-lru"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		policy, ok := redisstore.ParsePolicy(s)
		if ok && (policy == "" || len(policy) > 32 || strings.Trim(policy, "abcdefghijklmnopqrstuvwxyz-") != "" || !strings.Contains(s, "maxmemory_policy:"+policy)) {
			t.Errorf("%q: %q", s, policy)
		}
	})
}
