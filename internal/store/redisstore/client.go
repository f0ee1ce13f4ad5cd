package redisstore

import (
	"context"
	"crypto/tls"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// A client is a [Redis] behind breakers: while a server does not answer,
// requests do not ask it.
type client struct {
	rdb   redis.UniversalClient
	nodes *nodes
}

var _ Redis = (*client)(nil)

// Get implements [Redis].
func (c *client) Get(ctx context.Context, key string) ([]byte, error) {
	var cmd *redis.StringCmd
	if err := c.nodes.ask(ctx, key, func() redis.Cmder {
		cmd = redis.NewStringCmd(ctx, "get", key)
		return cmd
	}); err != nil {
		return nil, err // cmd may still be written to
	}
	return cmd.Bytes()
}

// Fill implements [Redis]. It does not wait long.
func (c *client) Fill(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	ctx = context.WithoutCancel(ctx)
	return c.nodes.ask(ctx, key, func() redis.Cmder {
		return redis.NewStatusCmd(ctx, "set", key, value, "px", ttl.Milliseconds(), "nx")
	})
}

// publishEnd replaces what is known of a session by its tombstone and tells all
// instances, in one step.
var publishEnd = redis.NewScript(`
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return redis.call('PUBLISH', ARGV[3], ARGV[1])`)

// End implements [Redis]. It asks Redis also while the breaker keeps requests from
// asking.
func (c *client) End(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*askTimeout)
	defer cancel()
	return publishEnd.Run(ctx, c.rdb, []string{key}, value, ttl.Milliseconds(), channel).Err()
}

// A Server says where Redis is.
type Server struct {
	Addrs    []string // host:port; of the server, the sentinels, or nodes of the cluster
	Master   string   // the name that the sentinels know; empty means no sentinels
	Cluster  bool
	TLS      bool
	Username string
	Password string
	DB       int
	// Of the sentinels themselves; empty means that they ask for none.
	SentinelUsername, SentinelPassword string
}

// Open returns a client for a server, a Sentinel group or a cluster. It does
// not connect.
func Open(s Server) redis.UniversalClient {
	o := &redis.UniversalOptions{
		// The client appends to the addresses what it learns.
		Addrs: slices.Clone(s.Addrs), MasterName: s.Master, IsClusterMode: s.Cluster,
		Username: s.Username, Password: s.Password, DB: s.DB,
		SentinelUsername: s.SentinelUsername, SentinelPassword: s.SentinelPassword,
		// A request waits for Redis only as long as its own context says, and a
		// server that refuses is not dialled again and again.
		ContextTimeoutEnabled: true,
		DialTimeout:           300 * time.Millisecond,
		DialerRetries:         1,
		ReadTimeout:           500 * time.Millisecond,
		WriteTimeout:          500 * time.Millisecond,
		PoolTimeout:           200 * time.Millisecond,
		MaxRetries:            1,
		DisableIdentity:       true,
		// Plain servers answer this subcommand with an error, which is logged.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if s.TLS {
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if s.Cluster {
		c := o.Cluster()
		c.ClusterStateReloadInterval = topologyAge
		return redis.NewClusterClient(c)
	}
	return redis.NewUniversalClient(o)
}

// topologyAge is how old an instance's knowledge of who has which slots may be
// before it asks again, beside its requests. Pipelined commands to a master that
// is gone do not make the client ask.
const topologyAge = 2 * time.Second
