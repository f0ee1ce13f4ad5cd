package run

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/server/config"
)

// TestInstanceThatStartsAfterALowerLimit: it has known no other limit, and Redis has what
// others have read before. The rows decide all the same which sessions are too many.
func TestInstanceThatStartsAfterALowerLimit(t *testing.T) {
	t.Parallel()
	cfg, db := openedWith(t, config.Options{Environ: []string{
		"FLAKEPASS_DATA_DIR=" + filepath.Join(t.TempDir(), "data"), "FLAKEPASS_REDIS=redis://" + testenv.Redis(t).Addr,
	}})
	alice := created(t, db)
	limit := func(most int, terms any) {
		statement(t, db, "UPDATE settings SET version = version + 1, max_sessions = ?, slots = 2, reduced_to = 3, terms = ?", most, terms)
	}
	limit(3, nil)
	before, first := instanceOn(t, cfg, db)
	if err := before.feed.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	var tokens []flakepass.Token
	for range 3 {
		opened, err := first.Open(t.Context(), audit.Actor{}, alice.ID, alice.PasswordVersion, nil, session.Place{})
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, opened.Token)
		if _, err := first.Verify(t.Context(), opened.Token); err != nil {
			t.Fatal(err)
		}
		// A slow Redis may miss the first answer, and has one that is read later.
		testenv.Eventually(t, time.Minute, func() bool {
			got, err := before.common.Get(t.Context(), session.IDOf(opened.Token), session.HashOf(opened.Token))
			return err == nil && got.Source == session.FromRedis
		}, "Redis has the session")
	}
	limit(1, fmt.Appendf(nil, `{"lowered_in":3,"lowered_at":%d}`, time.Now().UnixMilli()))
	after, second := instanceOn(t, cfg, db)
	if err := after.feed.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	accepted := 0
	for _, token := range tokens {
		if _, err := second.Verify(t.Context(), token); err == nil {
			accepted++
		}
	}
	if accepted != 1 {
		t.Errorf("%d sessions are accepted, want 1", accepted)
	}
}
