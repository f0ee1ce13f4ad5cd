//go:build unix

package sqlstore_test

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// TestEffectToldIsWhatHappens makes edit after edit under random logins, and
// compares what the preview and the change tell with the tokens that are then
// refused: those that lived, those that end, and those that end within the hour.
func TestEffectToldIsWhatHappens(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		// Each look at the tokens is a transaction for each that is refused, so there are
		// few people, and edits that are about somebody who is in.
		const people = 48
		r := rand.New(rand.NewPCG(9, 0))
		now := start
		tokens := w.tokens(t, r, now, people)
		rule, err := policy.NewLive(t.Context(), w.settings())
		if err != nil {
			t.Fatal(err)
		}
		clock := func() time.Time { return now }
		kept := unused{&sqlstore.Sessions{DB: w.DB}}
		service := &session.Service{Store: kept, Rows: kept, Policy: rule, Now: clock}
		verbs := &operator.Policies{
			Store: w.settings(), IDs: &auditIDs{}, Now: clock, Schedule: func(string) error { return nil },
			Here: rule,
		}
		living := func() map[idworker.ID]bool {
			t.Helper()
			w.SetNow(now)
			found := map[idworker.ID]bool{}
			for _, token := range tokens {
				_, err := service.Verify(t.Context(), token)
				if _, refused := errors.AsType[*flakepass.Refusal](err); err != nil && !refused {
					t.Fatal(err)
				}
				if err == nil {
					found[session.IDOf(token)] = true
				}
			}
			return found
		}
		drastic, soon := 0, int64(0)
		for round := range 10 {
			now = now.Add(time.Duration(r.Int64N(int64(24 * time.Hour)))).Truncate(time.Millisecond)
			w.SetNow(now)
			next := anyPolicy(r)
			before := living()
			if in := slices.Sorted(maps.Keys(before)); round%2 == 1 && len(in) > 0 { // the age of one of them ends that login within the hour
				age := now.Sub(idworker.Default().Time(in[r.IntN(len(in))]))
				next.Absolute = max(24*time.Hour, age+time.Duration(r.Int64N(int64(time.Hour))))
				next.Idle = min(next.Idle, next.Absolute)
			}
			next.Idle, next.Absolute = next.Idle.Truncate(time.Second), next.Absolute.Truncate(time.Second)
			change := operator.PolicyChange{Version: rule.Current().Version, Next: next, DryRun: true}
			_, told, err := verbs.Set(t.Context(), shell, change)
			if err != nil {
				t.Fatal(err)
			}
			change.DryRun, change.Confirmed = false, true
			_, done, err := verbs.Set(t.Context(), shell, change)
			if err != nil || done != told {
				t.Fatalf("round %d: told %+v, done %+v, %v", round, told, done, err)
			}
			after := living()
			at := now
			now = now.Add(time.Hour)
			later := living()
			now = at
			w.SetNow(now)
			want := policy.Effect{
				Live: policy.Estimate{Count: int64(len(before))}, Ends: policy.Estimate{Count: int64(len(before) - len(after))},
				Soon: policy.Estimate{Count: int64(len(after) - len(later))},
			}
			if told != want {
				t.Errorf("round %d: told %+v, and it is %+v", round, told, want)
			}
			for id := range after {
				if !before[id] {
					t.Errorf("round %d: a token came back", round)
				}
			}
			if want.Ends.Count > 0 && len(after) > 0 {
				drastic++
			}
			soon += want.Soon.Count
			if len(after) < people/3 { // everybody logs in again
				w.exec(t, "DELETE FROM users")
				tokens = w.tokens(t, r, now, people)
			}
		}
		if drastic < 3 || soon < 2 {
			t.Errorf("%d of the edits ended some logins, and not all, and %d logins were to end within the hour: too few to tell", drastic, soon)
		}
	})
}

// tokens makes logins that were begun within the 60 days before that, and used
// since, or not.
func (w *world) tokens(t *testing.T, r *rand.Rand, before time.Time, n int) (tokens []flakepass.Token) {
	t.Helper()
	w.logins(t, n, func(i int) (idworker.ID, session.Hash, time.Time) {
		issued := before.Add(-time.Duration(r.Int64N(int64(60 * 24 * time.Hour)))).Truncate(time.Millisecond)
		seen := issued.Add(time.Duration(r.Int64N(int64(before.Sub(issued)) + 1))).Truncate(time.Millisecond)
		token := flakepass.NewToken(flakepass.ID(idworker.Default().Smallest(issued) + idworker.ID(i)))
		tokens = append(tokens, token)
		return session.IDOf(token), session.HashOf(token), seen
	})
	return tokens
}

// unused is a store in which no use is noted: who looks changes nothing.
type unused struct{ *sqlstore.Sessions }

func (unused) Touch(context.Context, idworker.ID, time.Time) error { return nil }

func (u unused) Settle(ctx context.Context, id idworker.ID, _ time.Time) (session.Session, error) {
	return u.Sessions.Settle(ctx, id, time.Time{})
}

type auditIDs struct{ last idworker.ID }

func (m *auditIDs) Next(context.Context) (idworker.ID, error) { m.last++; return m.last, nil }

var _ audit.IDs = (*auditIDs)(nil)
