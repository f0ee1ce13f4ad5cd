package cli

import (
	"context"
	"iter"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/server/run"
)

// A place is where a command acts: the database of this deployment, or a server
// elsewhere. A command is written once, over these interfaces.
type place struct {
	users    userVerbs
	adding   addingVerbs
	resets   resetVerbs
	sessions sessionVerbs
	events   eventVerbs
	policies policyPlace
	command  string // before user, session or policy, as a person types it
}

// A person is a user as a command needs one.
type person struct {
	id        idworker.ID
	name      string
	hasFactor bool
	login     idworker.ID // that lives; 0 if there is none, or it is not looked for
}

// userVerbs find and change users. ended is a sentence about the login that ended by
// the change, or empty if there is nothing to say.
type userVerbs interface {
	// find looks a user up by the name as a person types it.
	find(ctx context.Context, name string) (person, error)
	// list has all users, in the order in which they came.
	list(ctx context.Context) ([]userLine, error)
	// change returns account.ErrLastAdmin if nobody would be left to change it back.
	change(ctx context.Context, u person, c operator.UserChange) (ended string, err error)
	removeFactor(ctx context.Context, u person, reason string) (ended string, err error)
}

// addingVerbs return account.ErrExists if the name is taken.
type addingVerbs interface {
	add(ctx context.Context, c userAdd, password string) (account.User, error)
	invite(ctx context.Context, c userAdd) (account.User, shownReset, error)
}

type resetVerbs interface {
	start(ctx context.Context, u person, life time.Duration, reason string) (shownReset, error)
	withdraw(ctx context.Context, u person, reason string) error
	// open are the links that work now: those that the issuer gave out, or all if it
	// has no ID.
	open(ctx context.Context, issuer person) ([]linkLine, error)
	withdrawIssued(ctx context.Context, issuer person, reason string) (int, error)
}

type sessionVerbs interface {
	// living are the logins that live, the newest first, of one user or of all if the
	// name is empty.
	living(ctx context.Context, user string, limit int) ([]sessionLine, error)
	// end returns session.ErrNotFound for a login that is not known.
	end(ctx context.Context, id idworker.ID, reason string) (ended string, err error)
}

type eventVerbs interface {
	// search yields at most limit events, the newest first; 0 is all of them.
	search(ctx context.Context, c auditCommand, limit int) iter.Seq2[*audit.Event, error]
}

// looks is for a command that changes nothing, or looks before it decides to.
func (a *app) looks(f func(ctx context.Context, p place) error) error {
	return a.at(a.withOffice, run.OpenExisting, f)
}

// acts is for a command that changes something.
func (a *app) acts(f func(ctx context.Context, p place) error) error {
	return a.at(a.withDesk, run.OpenExisting, f)
}

func (a *app) at(with func(opener, func(context.Context, *office) error) error, open opener, f func(context.Context, place) error) error {
	if a.remote {
		return a.remotely(func(ctx context.Context, s counter) error { return f(ctx, s.place()) })
	}
	return with(open, func(ctx context.Context, o *office) error { return f(ctx, o.place()) })
}
