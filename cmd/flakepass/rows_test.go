package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/flakepass/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/audit"
	"github.com/flakepass/flakepass/internal/gormstore"
	"github.com/flakepass/flakepass/internal/policy"
	"github.com/flakepass/flakepass/internal/session"
	"github.com/flakepass/flakepass/internal/telemetry"
)

// TestInstanceThatDoesNotPollAsksForThePolicy: one that stands still, or whose
// polls fail, does not decide by the policy of before. One that has never polled
// does not know what time it is, and decides nothing.
func TestInstanceThatDoesNotPollAsksForThePolicy(t *testing.T) {
	t.Parallel()
	d := onSQLite(t)
	must(t, d.vars, newPassword(), "user", "add", "alice", "--password-stdin")
	db := d.open(t)
	kept := &gormstore.Sessions{DB: db}
	rule, err := policy.NewLive(t.Context(), &gormstore.Settings{DB: db})
	if err != nil {
		t.Fatal(err)
	}
	tiers, err := stack(t.Context(), d.config(t), db, kept, rule, slog.New(slog.DiscardHandler), telemetry.NewMetrics("test"), &audit.Tally{})
	if err != nil {
		t.Fatal(err)
	}
	defer tiers.close() // it was never told to run
	s := &session.Service{
		Store: tiers.near, Rows: tiers.truth, Book: kept, IDs: nowIDs{}, Policy: rule, Known: tiers.feed,
	}
	alice, err := (&gormstore.Users{DB: db}).ByUsername(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
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

// nowIDs mints by the clock.
type nowIDs struct{}

func (nowIDs) NextAfter(_ context.Context, above idworker.ID) (idworker.ID, error) {
	return max(above, idworker.Default().Smallest(time.Now())) + 1, nil
}
