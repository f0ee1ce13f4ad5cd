//go:build unix

package sqlstore_test

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/activity"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// TestAProofOfNoRole: a login of any role has it, for as long as what was shown in it counts.
func TestAProofOfNoRole(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for _, role := range []account.Role{account.RoleUser, account.RoleService, account.RoleAdmin} {
			user := w.user(t, string(role)+"s")
			w.run(t, "UPDATE users SET role = ? WHERE id = ?", string(role), int64(user))
			s := w.begin(t, user)
			may := func(when string, want error) {
				t.Helper()
				if err := w.makes(t, acts(s), audit.NeedsOwnProof); !errors.Is(err, want) {
					t.Errorf("%s, %s: %v, want %v", role, when, err, want)
				}
				if err := w.users.Authorize(t.Context(), acts(s), audit.NeedsOwnProof); !errors.Is(err, want) {
					t.Errorf("%s, %s, no change: %v, want %v", role, when, err, want)
				}
			}
			may("just logged in", nil)
			w.run(t, "UPDATE users SET token_proved_at = token_proved_at - 660000 WHERE id = ?", int64(user))
			may("eleven minutes later", audit.ErrUnproven)
			w.run(t, "UPDATE users SET disabled_at = 1 WHERE id = ?", int64(user))
			may("disabled", flakepass.ErrAccountDisabled)
		}
	})
}

// TestProofOfATicketIsAsOldAsTheTicket, in the first slot and in a further one: password and code were shown when the ticket
// was given, and not when it opens the login.
func TestProofOfATicketIsAsOldAsTheTicket(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.set(t, func(p *policy.Policy) { p.MaxSessions, p.Refuse = 2, true })
		alice := w.user(t, "alice")
		ends := []session.Session{w.begin(t, alice), w.begin(t, alice)}
		rule := policy.Default()
		kept := &sqlstore.Sessions{DB: w.DB}
		for i, last := range []idworker.ID{ends[1].ID, 0} {
			shown := time.Now().Add(-secondfactor.TicketLife + 10*time.Second)
			now := shown
			codes := &secondfactor.Service{Store: w.factors(), Codes: w.factors(), IDs: w.ids, Now: func() time.Time { return now }}
			if last == 0 {
				last = idworker.ID(w.number(t, "SELECT token_id FROM users WHERE id = ?", int64(alice)))
			}
			ticket, err := codes.Ticket(t.Context(), secondfactor.Holder{UserID: alice, Username: "alice", PasswordVersion: 1, Last: last})
			must(t, err)
			now = time.Now()
			own := &login.Service{
				Users: w.users, Codes: codes, Attempts: w.limiter(t), Incidents: unnoted{}, Counts: &activity.Counter{}, IDs: w.ids, Now: time.Now, Log: slog.New(slog.DiscardHandler),
				Sessions: &session.Service{Store: kept, Rows: kept, Writer: kept, IDs: above{w.ids}, EventIDs: w.ids, Policy: always{&rule}},
			}
			_, err = own.Instead(t.Context(), &login.Client{By: audit.Actor{Via: audit.ViaAPI}}, account.RoleUser, ticket.Reveal(), ends[i].ID)
			must(t, err)
			table := [...]string{"users WHERE id", "user_slots WHERE user_id"}[i]
			if at := time.UnixMilli(w.number(t, "SELECT token_proved_at FROM "+table+" = ?", int64(alice))); at.Sub(shown).Abs() > time.Minute {
				t.Errorf("%s: proven at %v; password and code were shown at %v, %v before", table, at.UTC(), shown.UTC(), at.Sub(shown).Round(time.Second))
			}
		}
	})
}
