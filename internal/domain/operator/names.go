package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
)

// ErrProtected means that a service has asked for a change of the account of an admin or of
// a service, which admins alone change: a name is a way in.
var ErrProtected = errors.New("only an admin changes the account of an admin or of a service")

// A NameStore changes the names of users, and finds users by them.
//
// ChangeNames gives a user the names that decide returns, and writes the events in the same
// transaction. In that transaction by must have the right that need names. decide may be
// called more than once. ChangeNames returns the user as it was and as it is. It fails with
// [account.ErrNotFound], [account.ErrExists] or [account.ErrAliasTaken]. RenamedAgain tells all
// instances once more of the last rename of a user, if there was one. AliasesOf returns nil for a
// user who has no alias or does not exist. ByExternalID fails with [account.ErrNotFound].
type NameStore interface {
	ChangeNames(ctx context.Context, by audit.Actor, need audit.Need, id idworker.ID,
		decide func(account.User) (account.User, []audit.Event, error)) (before, after account.User, err error)
	RenamedAgain(ctx context.Context, id idworker.ID) error
	AliasesOf(ctx context.Context, id idworker.ID) ([]string, error)
	ByExternalID(ctx context.Context, externalID string) (account.User, error)
}

// A NameChange says what is to change of the names of a user. nil means that it stays.
type NameChange struct {
	Username *string
	Aliases  *[]string // all from now on
	// What is added to and taken from the aliases that the user has, also if others change them
	// meanwhile.
	AddAliases, RemoveAliases []string
	Reason                    string
}

// ChangeNames gives a user another username, other aliases, or both. No login ends: its
// identity has the new username within the bound. An alias that is the username, too,
// stays an alias: it is verified, and a username is not. If all is as requested, nothing is recorded, and a rename of before is
// told again. The old names are free at once.
//
// It fails with an [*invalid.Error], [account.ErrNotFound], [account.ErrExists] or
// [account.ErrAliasTaken] if another user has the name, and with [ErrProtected].
func (u *Users) ChangeNames(ctx context.Context, by audit.Actor, id idworker.ID, c NameChange) (account.User, error) {
	if err := c.normalize(); err != nil {
		return account.User{}, err
	}
	ready, err := u.mint(ctx)
	if err != nil {
		return account.User{}, fmt.Errorf("operator: change names: %w", err)
	}
	need := needs[changeNames]
	if by.Key != 0 {
		need = audit.NeedsService // and the scope, which the store knows
	}
	before, after, err := u.Names.ChangeNames(ctx, by, need, id, func(before account.User) (account.User, []audit.Event, error) {
		if by.Key != 0 && before.Role != account.RoleUser {
			return before, nil, ErrProtected
		}
		after, err := c.apply(before)
		if err != nil {
			return before, nil, err
		}
		events, err := c.events(by, need, ready, &before, &after)
		return after, events, err
	})
	if err != nil {
		return account.User{}, fmt.Errorf("operator: change names: %w", err)
	}
	logAct(ctx, u.Sessions.Log, by, nil, "names changed", "user_id", id, "renamed", before.Username != after.Username, "aliases", len(after.Aliases))
	if c.Username != nil && before.Username == after.Username {
		// A rename that was not acknowledged may have been committed after the polls had passed
		// its stamp. This is its repeat.
		if err := u.Names.RenamedAgain(ctx, id); err != nil {
			return account.User{}, fmt.Errorf("operator: change names: %w", err)
		}
	}
	if c.Username != nil && u.Renamed != nil {
		u.Renamed()
	}
	return u.Find(ctx, NameQuery{ID: id})
}

// normalize checks all that is requested.
func (c *NameChange) normalize() error {
	var all invalid.Error
	if c.Username == nil && c.Aliases == nil && len(c.AddAliases)+len(c.RemoveAliases) == 0 { // it would only read the user
		all.Add("aliases", account.CodeRequired, "must be given, or something else of the names")
	}
	if c.Username != nil {
		name, err := account.NormalizeUsername(*c.Username)
		c.Username = &name
		all.Take(err)
	}
	if c.Aliases != nil {
		names, err := account.NormalizeAliases(*c.Aliases)
		c.Aliases = &names
		all.Take(err)
	}
	for _, some := range []*[]string{&c.AddAliases, &c.RemoveAliases} {
		names, err := account.NormalizeAliases(*some)
		*some = names
		all.Take(err)
	}
	all.Take(CheckReason(c.Reason))
	return all.OrNil()
}

func (c *NameChange) apply(u account.User) (account.User, error) {
	if c.Username != nil {
		u.Username = *c.Username
	}
	if c.Aliases != nil {
		u.Aliases = *c.Aliases
	}
	rest := slices.DeleteFunc(slices.Clone(u.Aliases), func(alias string) bool { return slices.Contains(c.RemoveAliases, alias) })
	var err error
	u.Aliases, err = account.NormalizeAliases(append(rest, c.AddAliases...))
	return u, err
}

// names are those of a user, as the record has them.
type names struct {
	Username string    `json:"username,omitempty"`
	Aliases  *[]string `json:"aliases,omitempty"`
}

func (c *NameChange) events(by audit.Actor, need audit.Need, ready [2]idworker.ID, before, after *account.User) (events []audit.Event, err error) {
	add := func(action audit.Action, was, is names) {
		if err != nil {
			return
		}
		var e audit.Event
		e, err = audit.WithID(ready[len(events)], by, need, action, userTarget(before), c.Reason, was, is)
		events = append(events, e)
	}
	if before.Username != after.Username {
		add(audit.UserRenamed, names{Username: before.Username}, names{Username: after.Username})
	}
	if !slices.Equal(before.Aliases, after.Aliases) {
		was, is := append([]string{}, before.Aliases...), append([]string{}, after.Aliases...)
		add(audit.AliasesChanged, names{Aliases: &was}, names{Aliases: &is})
	}
	return events, err
}

// A NameQuery names one user by exactly one of its fields.
type NameQuery struct {
	ID                          idworker.ID
	Username, Alias, ExternalID string
}

// Find returns the user whom q names, with the aliases, or [account.ErrNotFound]. By
// Alias it finds no username that is no alias, and by Username no alias that is no username.
func (u *Users) Find(ctx context.Context, q NameQuery) (user account.User, err error) {
	name := ""
	switch {
	case q.ID != 0:
		user, err = u.Known.ByID(ctx, q.ID)
	case q.ExternalID != "":
		user, err = u.Names.ByExternalID(ctx, q.ExternalID)
	default:
		if name, err = account.NormalizeLogin(q.Username + q.Alias); err != nil {
			return account.User{}, account.ErrNotFound // nobody has such a name
		}
		if user, err = u.Known.ByName(ctx, name); err == nil && (user.Deleted || q.Username != "" && user.Username != name) {
			err = account.ErrNotFound
		}
	}
	if err == nil {
		user.Aliases, err = u.Names.AliasesOf(ctx, user.ID)
	}
	if err == nil && q.Alias != "" && !slices.Contains(user.Aliases, name) {
		err = account.ErrNotFound
	}
	if err != nil {
		return account.User{}, fmt.Errorf("operator: find user: %w", err)
	}
	return user, nil
}
