package run

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/telemetry"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// TestInstanceThatDoesNotPollAsksForThePolicy: one that stands still, or whose
// polls fail, does not decide by the policy of before. One that has never polled
// does not know what time it is, and decides nothing.
func TestInstanceThatDoesNotPollAsksForThePolicy(t *testing.T) {
	t.Parallel()
	db, tiers, s, alice := unpolled(t)
	if _, err := s.Open(t.Context(), audit.Actor{}, alice.ID, alice.PasswordVersion, nil, session.Place{}); err == nil {
		t.Error("a login before the clock of the database was read")
	}
	if err := tiers.feed.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	opened, err := s.Open(t.Context(), audit.Actor{}, alice.ID, alice.PasswordVersion, nil, session.Place{})
	if err != nil {
		t.Fatal(err)
	}
	statement(t, db, "UPDATE users SET token_seen_at = token_seen_at - ?", time.Hour.Milliseconds())
	statement(t, db, "UPDATE settings SET version = version + 1, idle_timeout_ms = ?", (5 * time.Minute).Milliseconds())
	if _, err := s.Verify(t.Context(), opened.Token); !errors.Is(err, flakepass.ErrIdle) {
		t.Errorf("an hour idle of five minutes: %v", err)
	}
	// What cannot be asked is not decided.
	again, err := s.Open(t.Context(), audit.Actor{}, alice.ID, alice.PasswordVersion, nil, session.Place{})
	if err != nil {
		t.Fatal(err)
	}
	statement(t, db, "UPDATE settings SET scope = 'away'")
	var refused *flakepass.Refusal
	if _, err := s.Verify(t.Context(), again.Token); err == nil || errors.As(err, &refused) {
		t.Errorf("without a policy to ask for: %v", err)
	}
	statement(t, db, "UPDATE settings SET scope = 'global'")
	if _, err := s.Verify(t.Context(), again.Token); err != nil {
		t.Error(err)
	}
}

// TestMemoryAppliesWhatTheRowsSay: a use counts when the row has it, and then at
// once, written behind or before the answer.
func TestMemoryAppliesWhatTheRowsSay(t *testing.T) {
	t.Parallel()
	db, tiers, s, alice := unpolled(t)
	idle := policy.Default().Idle
	for name, c := range map[string]struct {
		ago   time.Duration // since the last use
		write func() error
	}{
		"behind":            {time.Hour, func() error { return tiers.touches.Flush(t.Context()) }},
		"before the answer": {idle - 4500*time.Millisecond, func() error { return nil }}, // so near the end it is not written behind
	} {
		if err := tiers.feed.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
		opened, err := s.Open(t.Context(), audit.Actor{}, alice.ID, alice.PasswordVersion, nil, session.Place{})
		if err != nil {
			t.Fatal(err)
		}
		statement(t, db, "UPDATE users SET token_seen_at = token_seen_at - ?", c.ago.Milliseconds())
		if _, err := s.Verify(t.Context(), opened.Token); err != nil {
			t.Fatal(name, err)
		}
		if err := c.write(); err != nil {
			t.Fatal(name, err)
		}
		// The row is not read again: here it says what it said at first.
		statement(t, db, "UPDATE users SET token_seen_at = token_seen_at - ?", c.ago.Milliseconds())
		// The login has the database's time and the use the instance's estimate
		// of it, which may be some milliseconds behind.
		who, err := s.Verify(flakepass.NewPassiveContext(t.Context()), opened.Token)
		if want := opened.Identity.LastSeenAt.Add(-c.ago / 2); err != nil || who.LastSeenAt.Before(want) {
			t.Errorf("%s: last seen at %v, %v; want no earlier than %v", name, who.LastSeenAt, err, want)
		}
	}
}

// opened is the new database of an instance with nothing configured.
func opened(t *testing.T) (config.Config, *sqlstore.DB) {
	t.Helper()
	return openedWith(t, config.Options{Environ: []string{"FLAKEPASS_DATA_DIR=" + filepath.Join(t.TempDir(), "data")}})
}

func openedWith(t *testing.T, o config.Options) (config.Config, *sqlstore.DB) {
	t.Helper()
	cfg, err := config.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	db, err := openDatabase(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return cfg, db
}

func statement(t *testing.T, db *sqlstore.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.SQL().ExecContext(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

// unpolled is an instance that has a user and does not run.
func unpolled(t *testing.T) (*sqlstore.DB, *tiers, *session.Service, account.User) {
	t.Helper()
	cfg, db := opened(t)
	alice := created(t, db)
	stacked, s := instanceOn(t, cfg, db)
	return db, stacked, s, alice
}

func created(t *testing.T, db *sqlstore.DB) account.User {
	t.Helper()
	alice := account.User{ID: 1, Username: "alice", Role: account.RoleUser, PasswordVersion: 1}
	if err := (&sqlstore.Users{DB: db}).Create(t.Context(), alice); err != nil {
		t.Fatal(err)
	}
	return alice
}

// instanceOn is an instance that does not run.
func instanceOn(t *testing.T, cfg config.Config, db *sqlstore.DB) (*tiers, *session.Service) {
	t.Helper()
	kept := &sqlstore.Sessions{DB: db}
	rule, err := policy.NewLive(t.Context(), &sqlstore.Settings{DB: db})
	if err != nil {
		t.Fatal(err)
	}
	stacked, err := stack(t.Context(), cfg, db, make([]byte, 32), kept, rule, slog.New(slog.DiscardHandler), telemetry.NewMetrics("test"), &audit.Collector{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stacked.close)
	return stacked, stacked.service(cfg.RevocationBound, kept, false, nowIDs{}, nil, rule)
}

// nowIDs mints by the clock.
type nowIDs struct{}

func (nowIDs) NextAfter(_ context.Context, above idworker.ID) (idworker.ID, error) {
	return max(above, idworker.Default().Smallest(time.Now())) + 1, nil
}
