package redisstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/fleet"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/redisstore"
)

// kinds are all that Check may find.
var kinds = []error{
	fleet.RedisSilent, fleet.RedisPassword, fleet.RedisPermission, fleet.RedisUnknownMaster, fleet.RedisNoSentinel, fleet.RedisNoCluster,
	fleet.RedisIsCluster, fleet.RedisKeepsNoKeys, fleet.RedisReadOnly, fleet.RedisRefuses,
}

// checks fails the test unless Check finds that kind of trouble with the
// server, or none. patience bounds the whole.
func checks(t *testing.T, s redisstore.Server, want error) {
	t.Helper()
	rdb := redisstore.Open(s)
	defer func() { _ = rdb.Close() }()
	patience := soon
	if errors.Is(want, fleet.RedisSilent) {
		patience = 100 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := redisstore.Check(ctx, rdb)
	if want == nil && err != nil {
		t.Errorf("%+v: %v", s.Addrs, err)
	}
	for _, kind := range kinds {
		if got := errors.Is(err, kind); got != errors.Is(want, kind) {
			t.Errorf("%v: is %q: %v; got %v", s.Addrs, kind, got, err)
		}
	}
	if err != nil && strings.Contains(err.Error(), "PLANTED") {
		t.Errorf("the password is in %v", err)
	}
}

func TestCheckNamesTheTrouble(t *testing.T) {
	open, locked := testenv.Redis(t), testenv.Redis(t, "--requirepass", "right")
	checks(t, redisstore.Server{Addrs: []string{open.Addr}}, nil)
	checks(t, redisstore.Server{Addrs: []string{open.Addr}, DB: 3}, nil)
	checks(t, redisstore.Server{Addrs: []string{open.Addr}, DB: 999}, fleet.RedisRefuses)
	checks(t, redisstore.Server{Addrs: []string{open.Addr}, Password: "PLANTED"}, nil) // it asks for none, and takes any
	checks(t, redisstore.Server{Addrs: []string{open.Addr}, Username: "x", Password: "PLANTED"}, fleet.RedisPassword)
	checks(t, redisstore.Server{Addrs: []string{open.Addr}, Cluster: true}, fleet.RedisNoCluster)
	checks(t, redisstore.Server{Addrs: []string{open.Addr}, Master: "m"}, fleet.RedisNoSentinel)
	checks(t, redisstore.Server{Addrs: []string{locked.Addr}, Password: "right"}, nil)
	checks(t, redisstore.Server{Addrs: []string{locked.Addr}}, fleet.RedisPassword)
	checks(t, redisstore.Server{Addrs: []string{locked.Addr}, Password: "PLANTED"}, fleet.RedisPassword)
	checks(t, redisstore.Server{Addrs: []string{locked.Addr}, Password: "PLANTED", Cluster: true}, fleet.RedisPassword)

	open.Command("ACL SETUSER reader on >PLANTED +@all ~other:*")
	checks(t, redisstore.Server{Addrs: []string{open.Addr}, Username: "reader", Password: "PLANTED"}, fleet.RedisPermission)
	open.Command("REPLICAOF 127.0.0.1 1")
	checks(t, redisstore.Server{Addrs: []string{open.Addr}}, fleet.RedisReadOnly)
	open.Pause()
	checks(t, redisstore.Server{Addrs: []string{open.Addr}}, fleet.RedisSilent)
	checks(t, redisstore.Server{Addrs: []string{open.Addr}, Cluster: true}, fleet.RedisSilent)
	checks(t, redisstore.Server{Addrs: []string{open.Addr}, Master: "m"}, fleet.RedisSilent)
	open.Kill()
	checks(t, redisstore.Server{Addrs: []string{open.Addr}}, fleet.RedisSilent)
	checks(t, redisstore.Server{Addrs: []string{open.Addr}, Cluster: true}, fleet.RedisSilent)
	checks(t, redisstore.Server{Addrs: []string{open.Addr}, Master: "m"}, fleet.RedisSilent)
}

// checked is for a group that works.
func (g *group) checked(t *testing.T) {
	checks(t, g.server, nil)
	if g.server.Cluster {
		alone := g.server
		alone.Cluster = false
		checks(t, alone, fleet.RedisIsCluster)
		return
	}
	named := g.server
	named.Master = "sesions"
	checks(t, named, fleet.RedisUnknownMaster)
	checks(t, redisstore.Server{Addrs: g.server.Addrs[:1]}, fleet.RedisKeepsNoKeys)
}

// TestSentinelsWithAPassword: sentinels that ask for one themselves are reached
// with it, as the default user or as another, and with no other.
func TestSentinelsWithAPassword(t *testing.T) {
	t.Parallel()
	s := testenv.RedisSentinel(t)
	for _, sentinel := range s.Sentinels {
		sentinel.Command("ACL SETUSER guard on >second +@all")
		sentinel.Command("ACL SETUSER default resetpass >first")
	}
	server := redisstore.Server{Addrs: s.Addrs(), Master: s.Name}
	checks(t, server, fleet.RedisPassword)
	server.SentinelPassword = "PLANTED"
	checks(t, server, fleet.RedisPassword)
	server.SentinelPassword = "first"
	checks(t, server, nil)
	server.SentinelUsername, server.SentinelPassword = "guard", "second"
	checks(t, server, nil)

	g := &group{server: server}
	next := &fake{}
	one, _ := g.open(t, next)
	other, _ := g.open(t, &fake{})
	g.share(t, one, next, other, 7)
	box := listenTo(t, other)
	received(t, box, one, 1000)
	if err := one.Publish(t.Context(), gone(7, session.LoggedOut)); err != nil {
		t.Errorf("Publish: %v", err)
	}
	ended(t, other, 7, session.LoggedOut)
}
