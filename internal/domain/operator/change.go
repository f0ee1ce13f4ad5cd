package operator

import (
	"context"
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A UserChange says what is to be another way. nil is: as it is.
type UserChange struct {
	Role     *account.Role
	Disabled *bool
	Reason   string
}

// Change changes a user and ends the login: a role is part of what a login was
// given, and none outlives it (OWASP ASVS 5.0, 7.2.4). A change to what is so
// already is none: nothing ends, and nothing is recorded. It fails with
// [account.ErrNotFound], an [*account.InvalidError], and [account.ErrLastAdmin]
// if nobody would be left who is an admin and enabled.
//
// The session that ended has the ID 0 if there was none. After a change that was
// none it may be the one that ended when the same was asked before, for nobody
// knows who was told of it then.
func (u *Users) Change(ctx context.Context, by audit.Actor, id idworker.ID, c UserChange) (Person, session.Session, error) {
	if err := c.check(); err != nil {
		return Person{}, session.Session{}, err
	}
	now := u.Now().UTC().Truncate(time.Millisecond)
	// Minted before any row is locked: one for each thing that can change.
	var ready minted
	for i := range ready {
		var err error
		if ready[i], err = u.IDs.Next(ctx); err != nil {
			return Person{}, session.Session{}, fmt.Errorf("operator: change user: %w", err)
		}
	}
	changes := false
	_, _, ended, err := u.Register.Change(ctx, id, func(before account.User) (account.User, []audit.Event, error) {
		after := c.apply(before, now)
		events, err := c.events(ctx, by, ready, &before, &after)
		changes = len(events) > 0
		return after, events, err
	})
	if err == nil && !changes {
		err = u.Sessions.unchanged(ctx, by, c.need())
	}
	if err != nil {
		return Person{}, session.Session{}, fmt.Errorf("operator: change user: %w", err)
	}
	// Whoever is told comes first: what is read below may fail.
	ended, untold := u.Sessions.tell(ctx, ended)
	person, err := u.Get(ctx, id)
	if err == nil {
		acted(ctx, u.Sessions.Log, by, untold, "user changed", "user_id", id, "role", person.Role, "disabled", person.Disabled())
	}
	if err != nil {
		return Person{}, ended, err
	}
	return person, ended, untold
}

func (c *UserChange) check() error {
	if c.Role != nil {
		if _, err := account.ParseRole(string(*c.Role)); err != nil {
			return &account.InvalidError{Fields: []account.FieldError{
				{Field: "role", Code: account.CodeUnknown, Message: "must be user, service or admin"},
			}}
		}
	}
	return CheckReason(c.Reason)
}

// need is what all that is asked for needs, also of what is so already.
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
	DisabledAt *audit.Time  `json:"disabled_at,omitempty"`
}

func (c *UserChange) events(ctx context.Context, by audit.Actor, ready minted, before, after *account.User) (events []audit.Event, err error) {
	add := func(action audit.Action, from, to state) {
		if err != nil {
			return
		}
		var e audit.Event
		e, err = audit.New(ctx, &ready, by, c.need(), action, userTarget(before), c.Reason, from, to)
		events = append(events, e)
	}
	if before.Role != after.Role {
		add(audit.RoleChanged, state{Role: before.Role}, state{Role: after.Role})
	}
	switch {
	case before.Disabled() && !after.Disabled():
		add(audit.UserEnabled, state{DisabledAt: &audit.Time{Time: before.DisabledAt}}, state{})
	case !before.Disabled() && after.Disabled():
		add(audit.UserDisabled, state{}, state{DisabledAt: &audit.Time{Time: after.DisabledAt}})
	}
	return events, err
}

// minted are IDs that were made before they were needed.
type minted [2]idworker.ID

// Next returns each once.
func (m *minted) Next(context.Context) (idworker.ID, error) {
	id := m[0]
	*m = minted{m[1], 0}
	return id, nil
}

// CheckReason returns an [*account.InvalidError] for a reason that the record
// does not take: one of more than [audit.MaxReason] characters, or with control
// characters other than tabs and ends of lines.
func CheckReason(reason string) error {
	bad := func(code, message string) error {
		return &account.InvalidError{Fields: []account.FieldError{{Field: "reason", Code: code, Message: message}}}
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
