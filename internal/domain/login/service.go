// Package login is what people do with their own accounts: make one, log in and
// out, prove a password, change it or set it by a link, and add, renew or remove a
// second factor. Each act is here once, for every edge, with its limits, what it
// gives back, its event, its counts and its line in the log.
package login

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/activity"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Accounts know people and their passwords. *account.Service is one.
type Accounts interface {
	Authenticate(ctx context.Context, by account.Asker, f account.Found, p account.Password) (account.User, error)
	VerifyPassword(ctx context.Context, by account.Asker, u account.User, p account.Password) error
	NewHash(ctx context.Context, by account.Asker, username string, p account.Password) (account.PHC, error)
	// NewHashBeside is for a password beside which there is a second factor.
	NewHashBeside(ctx context.Context, by account.Asker, username string, p account.Password) (account.PHC, error)
}

// Names find the account of a name that was typed, a username or an alias, at the same cost
// for names that no account has. An error is [account.ErrUndecided]. *account.Service is one.
type Names interface {
	Find(ctx context.Context, typed string) (account.Found, error)
}

// Newcomers makes accounts that are not stored yet. *account.Service is one.
type Newcomers interface {
	New(ctx context.Context, by account.Asker, username string, p account.Password, role account.Role) (account.User, error)
	// NewIssued makes one without a password, and a name if it is given none.
	NewIssued(ctx context.Context, username, externalID string) (account.User, error)
}

// Users are the rows of the accounts. What changes one writes its events in the same
// transaction. Create and CreateFirstAdmin return [account.ErrExists] if the name is
// taken, CreateFirstAdmin [account.ErrHasAdmin] if there is an admin. Create returns [account.ErrOtherPerson] if
// another user has the external ID. ResetPassword
// sets a new password and ends the login of its user in one step; it returns
// [account.ErrStale] if the password is not of that version.
type Users interface {
	ByID(ctx context.Context, id idworker.ID) (account.User, error)
	Create(ctx context.Context, u account.User, events ...audit.Event) error
	CreateFirstAdmin(ctx context.Context, u account.User, events ...audit.Event) error
	ResetPassword(ctx context.Context, id idworker.ID, version int64, hash account.PHC, e audit.Event) ([]session.Session, error)
}

// Arrivals gives accounts their first hash of a password. FirstHash stores that of u and the
// event in one transaction and raises the version of the password, or returns [account.ErrExists] and changes nothing: the row has a
// hash, another version of the password or another role than u, or is disabled.
type Arrivals interface {
	FirstHash(ctx context.Context, u account.User, e audit.Event) error
}

// Known finds the users whom an issuer names, and makes them. It fails with [account.ErrNotFound].
type Known interface {
	ByUsername(ctx context.Context, username string) (account.User, error)
	ByExternalID(ctx context.Context, id string) (account.User, error)
	// ByRequest returns the user for whom a request by that key has opened a login within
	// [session.RequestLife], or whom such a request has made; 0 if there is none. It also returns
	// the [session.Issued].Factor that was kept with the request. It fails with
	// [session.ErrRequestReused] if the request that is known had another body.
	ByRequest(ctx context.Context, key idworker.ID, r *session.Request) (user idworker.ID, factor time.Time, err error)
	// CreateBy is [Users].Create for a request by that key. If a request with the same name and
	// another body is known, it makes no user and fails with [session.ErrRequestReused]. This is
	// also so if that request came after the caller has asked ByRequest.
	CreateBy(ctx context.Context, key idworker.ID, r *session.Request, u account.User, events ...audit.Event) error
}

// Proofs stores in the login of the event's actor that password and code were right, and
// writes the event in the same transaction. It returns
// [account.ErrStale] unless the password is of that version.
type Proofs interface {
	Prove(ctx context.Context, version int64, e audit.Event) error
}

// Links finds the reset of a token and who started it, and spends it. UseReset sets
// the password, ends the login, spends the reset and writes the event, all or
// nothing. Of several calls with one reset, one succeeds. Both fail with
// [account.ErrReset] unless the reset can be used at that time. ByReset wraps that in an
// [*account.RefusedError] if the reset exists. UseReset also fails with
// [account.ErrDisabled].
type Links interface {
	ByReset(ctx context.Context, hash account.ResetHash, now time.Time) (account.User, account.Issuer, error)
	UseReset(ctx context.Context, r account.Reset, version int64, hash account.PHC, now time.Time, e audit.Event) ([]session.Session, error)
}

// Sessions open logins and end them. Over is why the login with that ID is over, whose user was not
// found. It is no refusal if the login may live all the same. *session.Service is one.
type Sessions interface {
	Open(ctx context.Context, by audit.Actor, user idworker.ID, passwordVersion int64, on *session.Device, in session.Place) (session.Opened, error)
	Close(ctx context.Context, by audit.Actor, t flakepass.Token) (session.Session, error)
	Revoke(ctx context.Context, by audit.Actor, t flakepass.Token) (session.Session, error)
	Over(ctx context.Context, id idworker.ID) error
}

// Codes check the codes of second factors, and give out tickets that stand for a
// password. *secondfactor.Service is one.
type Codes interface {
	Check(ctx context.Context, by audit.Actor, user *account.User, code secondfactor.Code) error
	CheckTicket(ctx context.Context, by audit.Actor, user *account.User, h secondfactor.Holder, code secondfactor.Code) error
	Ticket(ctx context.Context, h secondfactor.Holder) (secondfactor.Ticket, error)
	Redeem(text string) (secondfactor.Holder, error)
}

// Factors adds, renews and removes second factors. *secondfactor.Service is one.
type Factors interface {
	Begin(ctx context.Context, by audit.Actor, user *account.User) (secondfactor.Enrolment, error)
	Confirm(ctx context.Context, by audit.Actor, user *account.User, code secondfactor.Code) ([]secondfactor.RecoveryCode, error)
	Renew(ctx context.Context, by audit.Actor, user *account.User) ([]secondfactor.RecoveryCode, error)
	Remove(ctx context.Context, by audit.Actor, user *account.User) error
}

// Attempts bounds how often a password or a code may be tried. *ratelimit.Limiter is one.
//
// Login fails with a [*ratelimit.LimitedError]; with any other error the attempt
// could not be counted, and is not made. Return gives back what an attempt took that was
// no guess. LoggedIn notes that the attempt was right, and returns what was unusual about
// it.
type Attempts interface {
	Login(ctx context.Context, a ratelimit.Attempt) (ratelimit.Taken, error)
	LoggedIn(ctx context.Context, t ratelimit.Taken, user idworker.ID) ratelimit.Notice
	Return(ctx context.Context, t ratelimit.Taken)
	NewDevice(a ratelimit.Attempt) ratelimit.DeviceCredential
}

// Sources bounds what may come from one address. *ratelimit.Limiter is one. Register and
// Reset fail as [Attempts.Login] does, and what they took can be given back there.
// WasReset forgets what was counted against an account whose password was set anew.
// RefuseExport is the refusal of an export, which the record has counted, for that time.
type Sources interface {
	Register(ctx context.Context, from netip.Addr) (ratelimit.Taken, error)
	Reset(ctx context.Context, from netip.Addr) (ratelimit.Taken, error)
	WasReset(ctx context.Context, a ratelimit.Attempt)
	RefuseExport(wait time.Duration) error
}

// ErrRole means that the password is right, and that the account has another role
// than the login is for. No login was begun, and none was ended.
var ErrRole = errors.New("the account has another role")

// ErrServiceLogin means that the password is right, and that the account is of a service,
// which uses service keys. No login was begun, and none was ended.
var ErrServiceLogin = errors.New("a service does not log in with a password")

// A Service does what people ask about their own accounts. Set the fields once,
// before use; all are required.
type Service struct {
	Accounts  Accounts
	Names     Names
	Newcomers Newcomers
	Users     Users
	Arrivals  Arrivals // needed only where another system is asked about passwords
	Known     Known
	Proofs    Proofs
	Links     Links

	Sessions Sessions
	Devices  Devices
	Held     Held
	Store    session.Publisher // gets each login that a new password ends

	Leaving Leaving
	Past    Past
	// Grace is how long people who have asked for their account to be deleted can come back;
	// zero where they cannot ask.
	Grace time.Duration

	Codes   Codes
	Factors Factors

	Attempts  Attempts
	Sources   Sources
	Incidents audit.Incidents
	Counts    *activity.Counter
	// Begun, if set, is called with the class of the device of each login that begins.
	Begun func(class string)
	// ByPassword, if set, says whether a service may log in with a password.
	ByPassword func(*account.User) bool
	// Methods are those by which issuers may have authenticated a user.
	Methods []string
	// Issued, if set, is called with the method of each login that an issuer opens.
	Issued func(method string)

	IDs audit.IDs
	Now func() time.Time
	Log *slog.Logger
}
