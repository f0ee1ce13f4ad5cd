package operator

import (
	"context"
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A UserChange says what is to change. nil means that it stays.
type UserChange struct {
	Role     *account.Role
	Disabled *bool
	Reason   string
}

// Change changes a user and ends the logins, because a login has the role of its
// beginning, and must not outlive it (OWASP ASVS 5.0, 7.2.4). If the user already is as
// requested, nothing ends, and nothing is recorded. It fails with
// [account.ErrNotFound], an [*invalid.Error], and [account.ErrLastAdmin]
// if no enabled admin would be left.
//
// It returns the sessions that ended. If nothing changed, they may be those
// that an earlier, equal change ended: it is unknown whether these ends were
// published.
func (u *Users) Change(ctx context.Context, by audit.Actor, id idworker.ID, c UserChange) (Person, []session.Session, error) {
	if err := c.check(); err != nil {
		return Person{}, nil, err
	}
	now := u.Now().UTC().Truncate(time.Millisecond)
	ready, err := u.mint(ctx)
	if err != nil {
		return Person{}, nil, fmt.Errorf("operator: change user: %w", err)
	}
	changes := false
	_, after, ended, err := u.Store.Change(ctx, id, func(before account.User) (account.User, []audit.Event, error) {
		after := c.apply(before, now)
		events, err := c.events(by, ready, &before, &after)
		changes = len(events) > 0
		return after, events, err
	})
	if err == nil && !changes {
		err = u.Sessions.unchanged(ctx, by, c.need())
	}
	if err != nil {
		return Person{}, nil, fmt.Errorf("operator: change user: %w", err)
	}
	// Published and logged first: what is read below may fail.
	ended, unpublished := u.Sessions.publish(ctx, ended)
	logAct(ctx, u.Sessions.Log, by, unpublished, "user changed", "user_id", id, "role", after.Role, "disabled", after.Disabled())
	person, err := u.Get(ctx, id)
	if err != nil {
		return Person{}, ended, err
	}
	return person, ended, unpublished
}

// mint returns IDs for events, one for each thing that a change of a user can change. It runs
// before any row is locked.
func (u *Users) mint(ctx context.Context) (ready [2]idworker.ID, err error) {
	for i := 0; err == nil && i < len(ready); i++ {
		ready[i], err = u.IDs.Next(ctx)
	}
	return ready, err
}

func (c *UserChange) check() error {
	if c.Role != nil {
		if _, err := account.ParseRole(string(*c.Role)); err != nil {
			return invalid.Of("role", account.CodeUnknown, "must be user, service or admin")
		}
	}
	return CheckReason(c.Reason)
}

// need is the right for all that is requested, also for what is so already.
func (c *UserChange) need() audit.Need {
	need := audit.NeedsAdmin
	if c.Role != nil {
		need = max(need, needs[changeRole])
	}
	switch {
	case c.Disabled == nil:
	case *c.Disabled:
		need = max(need, needs[disable])
	default:
		need = max(need, needs[enable])
	}
	return need
}

func (c *UserChange) apply(u account.User, now time.Time) account.User {
	if c.Role != nil {
		u.Role = *c.Role
	}
	if c.Disabled != nil && *c.Disabled != u.Disabled() {
		u.DisabledAt = time.Time{}
		if *c.Disabled {
			u.DisabledAt = now
		}
	}
	return u
}

// A state is a user as the record has it.
type state struct {
	Role       account.Role `json:"role,omitempty"`
	DisabledAt *wire.Time   `json:"disabled_at,omitempty"`
}

func (c *UserChange) events(by audit.Actor, ready [2]idworker.ID, before, after *account.User) (events []audit.Event, err error) {
	add := func(action audit.Action, from, to state) {
		if err != nil {
			return
		}
		var e audit.Event
		e, err = audit.WithID(ready[len(events)], by, c.need(), action, userTarget(before), c.Reason, from, to)
		events = append(events, e)
	}
	if before.Role != after.Role {
		add(audit.RoleChanged, state{Role: before.Role}, state{Role: after.Role})
	}
	switch {
	case before.Disabled() && !after.Disabled():
		add(audit.UserEnabled, state{DisabledAt: &wire.Time{Time: before.DisabledAt}}, state{})
	case !before.Disabled() && after.Disabled():
		add(audit.UserDisabled, state{}, state{DisabledAt: &wire.Time{Time: after.DisabledAt}})
	}
	return events, err
}

// CheckReason returns an [*invalid.Error] for a reason that the record
// does not take: one of more than [audit.MaxReason] characters, or with control
// characters other than tabs and ends of lines.
func CheckReason(reason string) error {
	bad := func(code, message string) error {
		return invalid.Of("reason", code, message)
	}
	if !utf8.ValidString(reason) {
		return bad(account.CodeInvalidCharacters, "must be text in UTF-8")
	}
	if utf8.RuneCountInString(reason) > audit.MaxReason {
		return bad(account.CodeTooLong, fmt.Sprintf("must have at most %d characters", audit.MaxReason))
	}
	for _, r := range reason {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return bad(account.CodeInvalidCharacters, "must have no control characters")
		}
	}
	return nil
}

// unchanged checks the rights of by if a verb has nothing to change, and so begins no
// transaction that checks them: an actor without the right gets an error, and not the
// answer that it is done.
func (s *Sessions) unchanged(ctx context.Context, by audit.Actor, need audit.Need) error {
	if err := s.Rights.Authorize(ctx, by, need); err != nil {
		return fmt.Errorf("operator: check the rights: %w", err)
	}
	return nil
}
