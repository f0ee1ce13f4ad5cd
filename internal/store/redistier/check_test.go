package redistier_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/redistier"
)

// kinds are all that Check may find.
var kinds = []error{
	redistier.ErrSilent, redistier.ErrPassword, redistier.ErrPermission, redistier.ErrMaster, redistier.ErrNoCluster,
	redistier.ErrCluster, redistier.ErrNoStore, redistier.ErrReadOnly, redistier.ErrRefused,
}

// checks fails the test unless Check finds that kind of trouble with the
// server, or none. patience bounds the whole.
func checks(t *testing.T, s redistier.Server, want error) {
	t.Helper()
	rdb := redistier.Open(s)
	defer func() { _ = rdb.Close() }()
	patience := soon
	if errors.Is(want, redistier.ErrSilent) {
		patience = 100 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := redistier.Check(ctx, rdb)
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
	checks(t, redistier.Server{Addrs: []string{open.Addr}}, nil)
	checks(t, redistier.Server{Addrs: []string{open.Addr}, DB: 3}, nil)
	checks(t, redistier.Server{Addrs: []string{open.Addr}, DB: 999}, redistier.ErrRefused)
	checks(t, redistier.Server{Addrs: []string{open.Addr}, Password: "PLANTED"}, nil) // it asks for none, and takes any
	checks(t, redistier.Server{Addrs: []string{open.Addr}, Username: "x", Password: "PLANTED"}, redistier.ErrPassword)
	checks(t, redistier.Server{Addrs: []string{open.Addr}, Cluster: true}, redistier.ErrNoCluster)
	checks(t, redistier.Server{Addrs: []string{locked.Addr}, Password: "right"}, nil)
	checks(t, redistier.Server{Addrs: []string{locked.Addr}}, redistier.ErrPassword)
	checks(t, redistier.Server{Addrs: []string{locked.Addr}, Password: "PLANTED"}, redistier.ErrPassword)
	checks(t, redistier.Server{Addrs: []string{locked.Addr}, Password: "PLANTED", Cluster: true}, redistier.ErrPassword)

	open.Command("ACL SETUSER reader on >PLANTED +@all ~other:*")
	checks(t, redistier.Server{Addrs: []string{open.Addr}, Username: "reader", Password: "PLANTED"}, redistier.ErrPermission)
	open.Command("REPLICAOF 127.0.0.1 1")
	checks(t, redistier.Server{Addrs: []string{open.Addr}}, redistier.ErrReadOnly)
	open.Pause()
	checks(t, redistier.Server{Addrs: []string{open.Addr}}, redistier.ErrSilent)
	checks(t, redistier.Server{Addrs: []string{open.Addr}, Cluster: true}, redistier.ErrSilent)
	checks(t, redistier.Server{Addrs: []string{open.Addr}, Master: "m"}, redistier.ErrSilent)
	open.Kill()
	checks(t, redistier.Server{Addrs: []string{open.Addr}}, redistier.ErrSilent)
	checks(t, redistier.Server{Addrs: []string{open.Addr}, Cluster: true}, redistier.ErrSilent)
	checks(t, redistier.Server{Addrs: []string{open.Addr}, Master: "m"}, redistier.ErrSilent)
}

// checked is for a group that works.
func (g *group) checked(t *testing.T) {
	checks(t, g.server, nil)
	if g.server.Cluster {
		alone := g.server
		alone.Cluster = false
		checks(t, alone, redistier.ErrCluster)
		return
	}
	named := g.server
	named.Master = "sesions"
	checks(t, named, redistier.ErrMaster)
	checks(t, redistier.Server{Addrs: g.server.Addrs[:1]}, redistier.ErrNoStore)
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
	server := redistier.Server{Addrs: s.Addrs(), Master: s.Name}
	checks(t, server, redistier.ErrPassword)
	server.SentinelPassword = "PLANTED"
	checks(t, server, redistier.ErrPassword)
	server.SentinelPassword = "first"
	checks(t, server, nil)
	server.SentinelUsername, server.SentinelPassword = "guard", "second"
	checks(t, server, nil)

	g := &group{server: server}
	next := &fake{}
	one, _ := g.open(t, next)
	other, _ := g.open(t, &fake{})
	g.share(t, one, next, other, 7)
	ear := listenTo(t, other)
	heard(t, ear, one, 1000)
	if err := one.Hear(t.Context(), gone(7, session.LoggedOut)); err != nil {
		t.Errorf("Hear: %v", err)
	}
	ended(t, other, 7, session.LoggedOut)
}
