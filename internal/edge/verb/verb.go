// Package verb has what an operator does, as the API and the console call it: the verbs of
// package operator, and what both show beside them, each interface once.
package verb

import (
	"context"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// People are the verbs about users and their logins. *operator.Users has most of them,
// *operator.Sessions and *operator.Stats have the others.
//
// A verb that ends a login returns an error wrapping [session.ErrUnpublished] if it is done,
// and other instances apply it within the bound only. All that name a user fail with
// [account.ErrNotFound], and what is wrong with a field is an [*invalid.Error].
type People struct {
	Users    Users
	Deletion Deletions
	Logout   Logouts
	Resets   Resets
	Open     OpenResets
	Sessions Sessions
	Stats    Stats
	Factors  Factors
	Keys     Keys
	Acts     Impersonations
	Names    Names
}

// Users looks at users and changes them.
//
// List returns at most limit users: newest first, or, with a prefix, those whose names
// begin with it, in the order of their names, behind the [operator.UserCursor] after. Create
// fails as [account.Service.New] does, and Change with [account.ErrLastAdmin].
type Users interface {
	List(ctx context.Context, prefix, after string, limit int) ([]account.User, error)
	Get(ctx context.Context, id idworker.ID) (operator.Person, error)
	Create(ctx context.Context, by audit.Actor, username string, p account.Password, role account.Role, reason string) (account.User, error)
	Change(ctx context.Context, by audit.Actor, id idworker.ID, c operator.UserChange) (operator.Person, []session.Session, error)
}

// Deletions deletes a user who has that name. It fails with [account.ErrLastAdmin].
type Deletions interface {
	Delete(ctx context.Context, by audit.Actor, id idworker.ID, username, reason string) ([]session.Session, error)
}

// Logouts end the logins of a user on devices of a class, or with "" on any.
type Logouts interface {
	Logout(ctx context.Context, by audit.Actor, user idworker.ID, class, reason string) ([]session.Session, error)
}

// Resets are the one-time links with which people set a password. Invite makes a user
// without a password, and a link to set the first one; it fails as [Users.Create] does.
type Resets interface {
	StartReset(ctx context.Context, by audit.Actor, id idworker.ID, life time.Duration, reason string) (operator.StartedReset, error)
	WithdrawReset(ctx context.Context, by audit.Actor, id idworker.ID, reason string) error
	Invite(ctx context.Context, by audit.Actor, username string, role account.Role, life time.Duration, reason string) (account.User, operator.StartedReset, error)
}

// OpenResets are those that still work, by who gave them out.
//
// ListResets returns at most limit of those that issuer gave out (0: anybody), newest first,
// with IDs below before (0: the newest). WithdrawIssued ends all of them, and returns how
// many there were; after an error some may have ended, and it helps to call it again.
type OpenResets interface {
	ListResets(ctx context.Context, issuer, before idworker.ID, limit int) ([]account.OpenReset, error)
	WithdrawIssued(ctx context.Context, by audit.Actor, issuer idworker.ID, reason string) (int, error)
}

// Sessions looks at logins and ends them.
//
// List returns at most limit logins with IDs below before (0: the newest), newest first;
// with a class, only those on devices of it. Get returns [session.ErrNotFound] for a login
// that is over, and End where nothing is known of such a login. EndAll ends every login.
type Sessions interface {
	List(ctx context.Context, class string, before idworker.ID, limit int) (operator.Page, error)
	Get(ctx context.Context, id idworker.ID) (session.Login, error)
	End(ctx context.Context, by audit.Actor, id idworker.ID, reason string) (session.Session, error)
	EndAll(ctx context.Context, by audit.Actor, reason string) (operator.EndedAll, error)
}

// Stats counts.
type Stats interface {
	Count(ctx context.Context) (operator.Numbers, error)
}

// Factors removes the second factor of a user who has lost it, and ends the logins.
type Factors interface {
	RemoveSecondFactor(ctx context.Context, by audit.Actor, user idworker.ID, reason string) ([]session.Session, error)
}

// Keys are the keys of services. RevokeKey fails with [servicekey.ErrNotFound].
type Keys interface {
	CreateKey(ctx context.Context, by audit.Actor, user idworker.ID, n operator.NewKey) (operator.MadeKey, error)
	ListKeys(ctx context.Context, user, before idworker.ID, limit int) ([]servicekey.Key, error)
	RevokeKey(ctx context.Context, by audit.Actor, id idworker.ID, reason string) (servicekey.Key, error)
}

// Impersonations begins sessions in which an admin acts for a user. Impersonate fails with
// [operator.ErrImpersonationOff], [account.ErrDisabled], [session.ErrNotUser] or
// [session.ErrManyActs].
type Impersonations interface {
	Impersonate(ctx context.Context, by audit.Actor, id idworker.ID, reason string) (session.Opened, error)
}

// Names finds users by their names, and changes these. ChangeNames fails with
// [account.ErrExists] and [account.ErrAliasTaken].
type Names interface {
	ChangeNames(ctx context.Context, by audit.Actor, id idworker.ID, c operator.NameChange) (account.User, error)
	Find(ctx context.Context, q operator.NameQuery) (account.User, error)
}
