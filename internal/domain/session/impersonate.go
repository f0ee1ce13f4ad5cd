package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// An impersonation is a session in which an admin acts for a user, for support. Its Act is
// the admin. It is passive: no use of it counts, so it ends when it is as old as [ActLife].
// It takes no place among the sessions of its user, and what counts those does not see it.
// What ends all sessions of the user ends it, and so does what ends all of the admin.

// ActLife is how long an impersonation lasts; less where the policy allows less. It is the
// same for all, so that the ID and Act of a session say when it is over, in every tier.
const ActLife = time.Hour

// SlotOfAct is the slot of an impersonation. No login has it.
const SlotOfAct Slot = policy.MostSessions

// MostActs is for how many users an admin acts at once. What takes the right of the admin ends
// them all in one transaction.
const MostActs = 8

// ErrManyActs means that the admin acts for [MostActs] other users.
var ErrManyActs = errors.New("the admin acts for as many users as are allowed")

// ErrNotUser means that the account is that of an admin or of a service. Nobody acts for these.
var ErrNotUser = errors.New("nobody acts for an account of this role")

// An Act asks for an impersonation of a user by an admin.
type Act struct {
	User   idworker.ID
	By     audit.Actor
	Need   audit.Need
	Reason string
}

// Impersonate begins a session in which the admin acts for the user. It ends the impersonation of
// this user that came before, whichever admin acts in it. Each impersonation is on record, as the
// act of the admin. Impersonate fails with [account.ErrNotFound], [account.ErrDisabled],
// [ErrNotUser], [ErrManyActs], with a [*policy.OlderInstanceError] while an instance runs that
// knows no impersonations, and with the errors of the check of the admin's right (see [Rights]).
func (s *Service) Impersonate(ctx context.Context, a Act) (Opened, error) {
	now, err := s.clock()
	if err != nil {
		return Opened{}, fmt.Errorf("session: impersonate: %w", err)
	}
	opened, err := s.open(ctx, Opening{
		UserID: a.User, Act: a.By.ID, Seen: now,
		Record: &Record{By: a.By, Need: a.Need, Reason: a.Reason, Policy: s.Policy.Current(), Now: now},
	})
	if err != nil {
		return Opened{}, fmt.Errorf("session: impersonate: %w", err)
	}
	return opened, nil
}

// actEntry is an impersonation in the record.
type actEntry struct {
	ID        idworker.ID `json:"session_id"`
	Act       idworker.ID `json:"act,omitzero"`
	ExpiresAt time.Time   `json:"expires_at,omitzero"`
	Reason    Reason      `json:"reason,omitempty"` // of its end
}

// eventOfAct is the event of a new impersonation, about its user.
func (o *Opening) eventOfAct(now *Session, before any) (audit.Event, error) {
	rule := now.Expiry(o.Record.Policy)
	return audit.WithID(now.ID, o.Record.By, o.Record.Need, audit.ImpersonationBegan, audit.AboutUser(now.UserID, now.Username), o.Record.Reason,
		before, actEntry{ID: now.ID, ExpiresAt: rule.ExpiresAt(layout.Time(now.ID))})
}

// eventOfAct is the event of the end of an impersonation, about its user. The admin who acts
// ends it with its token.
func (e *Ending) eventOfAct(was *Session) (audit.Event, error) {
	r, by := e.Record, e.Record.By
	if (e.Hash != Hash{}) && e.Reason == LoggedOut {
		by.ID, by.Name = was.Act, ""
	}
	after := actEntry{ID: was.ID, Reason: e.Reason}
	if e.Reason == LoggedOut {
		after.Reason = cmp.Or(OverBefore(*was, r.Policy, r.Now).Ended, LoggedOut)
	}
	return audit.WithID(r.ID, by, r.Need, audit.ImpersonationEnded, audit.AboutUser(was.UserID, was.Username), r.Reason, actEntry{ID: was.ID, Act: was.Act}, after)
}
