//go:build unix

package cluster_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/cluster"
)

// storeCosts logs what an instance pays on a node of a cluster, as a ratio to one server
// of the same kind. Nothing is asserted.
func storeCosts(t *testing.T, kind string, n *cluster.Node) {
	t.Helper()
	alone := cluster.Start(t, func(ctx context.Context) (*cluster.Alone, error) { return cluster.StartAlone(ctx, kind) })
	costs := [2]map[string]time.Duration{}
	for i, node := range []*cluster.Node{alone.Nodes[0], n} {
		costs[i] = stores(t, node)[0].costs(t)
	}
	for _, what := range []string{"login", "logout", "check of a row", "poll"} {
		one, several := costs[0][what], costs[1][what]
		t.Logf("%-15s alone %8v, in the cluster %8v: %.2f ×", what, one, several, float64(several)/float64(one))
	}
}

// costs are medians.
func (s *store) costs(t *testing.T) map[string]time.Duration {
	t.Helper()
	const times = 101
	took := map[string][]time.Duration{}
	f := s.feed(t)
	s.user(t, 1, account.RoleUser)
	now, err := s.Clock(t.Context())
	must(t, err)
	for i := range times {
		one := session.Opening{
			UserID: 1, PasswordVersion: 1, Seen: now, ID: idworker.Default().Smallest(now) + idworker.ID(i+1), Hash: session.Hash{1, byte(i)},
		}
		end := session.Ending{ID: one.ID, Hash: one.Hash, Reason: session.LoggedOut}
		for _, c := range []struct {
			what string
			do   func() error
		}{
			{"login", func() error { _, err := s.sessions.Begin(t.Context(), one); return err }},
			{"check of a row", func() error { _, err := s.sessions.Get(t.Context(), one.ID, session.Hash{}); return err }},
			{"logout", func() error { _, err := s.sessions.End(t.Context(), end); return err }},
			{"poll", func() error { return f.Poll(t.Context()) }},
		} {
			began := time.Now()
			must(t, c.do())
			took[c.what] = append(took[c.what], time.Since(began))
		}
	}
	medians := map[string]time.Duration{}
	for what, all := range took {
		slices.Sort(all)
		medians[what] = all[times/2].Round(time.Microsecond)
	}
	return medians
}
