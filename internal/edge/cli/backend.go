package cli

import (
	"context"
	"iter"
	"time"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/wire"
)

// A backend is what a command acts on: the database of this deployment, or a server
// elsewhere. A command is written once, over these interfaces. Their methods are those
// of [client.Client] where it has them; errors are of the domain or of the client, and
// [either] knows both.
type backend struct {
	users    userVerbs
	accounts accountVerbs
	resets   resetVerbs
	keys     keyVerbs
	sessions sessionVerbs
	events   eventVerbs
	policies policyVerbs
	command  string // before user, session or policy, as a person types it
	within   string // by when every instance acts by a change of the policy
	// changing opens what a change of the policy takes beside a question, while f makes it.
	changing func(ctx context.Context, f func() error) error
}

// userVerbs find and change users. ended is a sentence about the login that ended by
// the change, or empty if there is nothing to say.
type userVerbs interface {
	// find looks a user up by the name as a person types it.
	find(ctx context.Context, name string) (wire.Person, error)
	Users(ctx context.Context, prefix string) iter.Seq2[wire.User, error]
	// change returns account.ErrLastAdmin or client.LastAdmin if no admin would be left to
	// change it back.
	change(ctx context.Context, u wire.Person, c client.UserChange) (ended string, err error)
	removeFactor(ctx context.Context, u wire.Person, reason string) (ended string, err error)
}

// accountVerbs make and delete users, and change their names. They return account.ErrExists
// and account.ErrAliasTaken, or client.UsernameTaken and client.AliasTaken, if another user
// has a name.
type accountVerbs interface {
	add(ctx context.Context, u client.NewUser, password string) (wire.User, error)
	InviteUser(ctx context.Context, u client.NewUser, life time.Duration) (client.Invited, error)
	ChangeNames(ctx context.Context, id wire.ID, to client.NameChange) (wire.User, error)
	// deleteUser returns account.ErrLastAdmin or client.LastAdmin if no admin would be left.
	// ended is as in userVerbs.
	deleteUser(ctx context.Context, u wire.Person, reason string) (ended string, err error)
}

type resetVerbs interface {
	StartPasswordReset(ctx context.Context, id wire.ID, how client.ResetHow) (client.PasswordReset, error)
	WithdrawPasswordReset(ctx context.Context, id wire.ID, reason string) error
	PasswordResets(ctx context.Context, issuer wire.ID) iter.Seq2[wire.OpenReset, error]
	WithdrawIssuedPasswordResets(ctx context.Context, issuer wire.ID, reason string) (int, error)
}

// keyVerbs are about the keys of services.
type keyVerbs interface {
	CreateServiceKey(ctx context.Context, user wire.ID, k client.NewServiceKey) (client.MadeServiceKey, error)
	ServiceKeys(ctx context.Context, user wire.ID) iter.Seq2[wire.ServiceKey, error]
	// RevokeServiceKey returns servicekey.ErrNotFound or client.NotFound for a key that is
	// not known.
	RevokeServiceKey(ctx context.Context, id wire.ID, reason string) (within time.Duration, err error)
}

type sessionVerbs interface {
	Sessions(ctx context.Context, deviceClass string) iter.Seq2[wire.UserSession, error]
	// end returns session.ErrNotFound or client.NotFound for a login that is not known.
	end(ctx context.Context, id wire.ID, reason string) (ended string, err error)
	// logout ends logins of a user.
	logout(ctx context.Context, u wire.Person, how client.LogoutHow) (ended string, err error)
}

type eventVerbs interface {
	Audit(ctx context.Context, f client.AuditFilter) iter.Seq2[wire.Event, error]
}

// policyVerbs fail with policy.ErrVersion, operator.ErrUnconfirmed and
// operator.ErrNoVersion, or with what a server says for them.
type policyVerbs interface {
	Policy(ctx context.Context) (wire.Policy, error)
	PolicyHistory(ctx context.Context) iter.Seq2[wire.Policy, error]
	SetPolicy(ctx context.Context, to client.PolicyChange) (wire.PolicyChanged, error)
	RevertPolicy(ctx context.Context, to int64, how client.PolicyHow) (wire.PolicyChanged, error)
}

// looks is for a command that changes nothing, or looks before it decides to.
func (a *app) looks(f func(ctx context.Context, b backend) error) error {
	return a.at(a.toLook, f)
}

// acts is for a command that changes something.
func (a *app) acts(f func(ctx context.Context, b backend) error) error {
	return a.at(a.toAct, f)
}

func (a *app) at(here func(func(context.Context, *local) error) error, f func(context.Context, backend) error) error {
	if a.remote {
		return a.remotely(func(ctx context.Context, s remoteServer) error { return f(ctx, s.backend()) })
	}
	return here(func(ctx context.Context, l *local) error { return f(ctx, l.backend()) })
}

// ofUser is for a command about one user, with the name as a person types it.
func ofUser(name string, f func(ctx context.Context, b backend, u wire.Person) error) func(context.Context, backend) error {
	return func(ctx context.Context, b backend) error {
		u, err := b.users.find(ctx, name)
		if err != nil {
			return err
		}
		return f(ctx, b, u)
	}
}

// collect is a list as a whole, in JSON never null.
func collect[T any](entries iter.Seq2[T, error]) ([]T, error) {
	all := []T{}
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}
