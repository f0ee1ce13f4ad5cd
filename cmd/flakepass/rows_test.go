package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/server/telemetry"
	"github.com/flakepass/flakepass/internal/store/gormstore"
)

// TestInstanceThatDoesNotPollAsksForThePolicy: one that stands still, or whose
// polls fail, does not decide by the policy of before. One that has never polled
// does not know what time it is, and decides nothing.
func TestInstanceThatDoesNotPollAsksForThePolicy(t *testing.T) {
	t.Parallel()
	d, tiers, s, alice := unpolled(t)
	if _, err := s.Open(t.Context(), alice.ID, alice.PasswordVersion); err == nil {
		t.Error("a login before the clock of the database was read")
	}
	if err := tiers.feed.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	opened, err := s.Open(t.Context(), alice.ID, alice.PasswordVersion)
	if err != nil {
		t.Fatal(err)
	}
	execute(t, d.sql(t), "UPDATE users SET token_seen_at = token_seen_at - ?", time.Hour.Milliseconds())
	must(t, d.vars, "", "policy", "set", "--idle", "5m", "--yes")
	if _, err := s.Verify(t.Context(), opened.Token); !errors.Is(err, flakepass.ErrIdle) {
		t.Errorf("an hour idle of five minutes: %v", err)
	}
	// What cannot be asked is not decided.
	again, err := s.Open(t.Context(), alice.ID, alice.PasswordVersion)
	if err != nil {
		t.Fatal(err)
	}
	execute(t, d.sql(t), "UPDATE settings SET scope = 'away'")
	var refused *flakepass.Refusal
	if _, err := s.Verify(t.Context(), again.Token); err == nil || errors.As(err, &refused) {
		t.Errorf("without a policy to ask for: %v", err)
	}
	execute(t, d.sql(t), "UPDATE settings SET scope = 'global'")
	if _, err := s.Verify(t.Context(), again.Token); err != nil {
		t.Error(err)
	}
}

// TestMemoryHearsWhatTheRowsSay: a use counts when the row has it, and then at
// once, written behind or before the answer.
func TestMemoryHearsWhatTheRowsSay(t *testing.T) {
	t.Parallel()
	d, tiers, s, alice := unpolled(t)
	if err := tiers.feed.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Settled, s.Near = tiers.settled, nearEnd
	idle := policy.Default().Idle
	for name, c := range map[string]struct {
		ago   time.Duration // since the last use
		write func() error
	}{
		"behind":            {time.Hour, func() error { return tiers.touches.Flush(t.Context()) }},
		"before the answer": {idle - time.Second, func() error { return nil }},
	} {
		opened, err := s.Open(t.Context(), alice.ID, alice.PasswordVersion)
		if err != nil {
			t.Fatal(err)
		}
		execute(t, d.sql(t), "UPDATE users SET token_seen_at = token_seen_at - ?", c.ago.Milliseconds())
		if _, err := s.Verify(t.Context(), opened.Token); err != nil {
			t.Fatal(name, err)
		}
		if err := c.write(); err != nil {
			t.Fatal(name, err)
		}
		// The row is not read again: here it says what it said at first.
		execute(t, d.sql(t), "UPDATE users SET token_seen_at = token_seen_at - ?", c.ago.Milliseconds())
		who, err := s.Verify(flakepass.NewPassiveContext(t.Context()), opened.Token)
		if err != nil || who.LastSeenAt.Before(opened.Identity.LastSeenAt) {
			t.Errorf("%s: last seen at %v, %v; want no earlier than %v", name, who.LastSeenAt, err, opened.Identity.LastSeenAt)
		}
	}
}

// unpolled is an instance that has a user and was never told to run.
func unpolled(t *testing.T) (*deployment, *tiers, *session.Service, account.User) {
	t.Helper()
	d := onSQLite(t)
	must(t, d.vars, newPassword(), "user", "add", "alice", "--password-stdin")
	db := d.open(t)
	kept := &gormstore.Sessions{DB: db}
	rule, err := policy.NewLive(t.Context(), &gormstore.Settings{DB: db})
	if err != nil {
		t.Fatal(err)
	}
	stacked, err := stack(t.Context(), d.config(t), db, kept, rule, slog.New(slog.DiscardHandler), telemetry.NewMetrics("test"), &audit.Tally{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stacked.close)
	s := &session.Service{
		Store: stacked.near, Rows: stacked.truth, Book: kept, IDs: nowIDs{}, Policy: rule, Known: stacked.feed,
	}
	alice, err := (&gormstore.Users{DB: db}).ByUsername(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	return d, stacked, s, alice
}

// nowIDs mints by the clock.
type nowIDs struct{}

func (nowIDs) NextAfter(_ context.Context, above idworker.ID) (idworker.ID, error) {
	return max(above, idworker.Default().Smallest(time.Now())) + 1, nil
}
