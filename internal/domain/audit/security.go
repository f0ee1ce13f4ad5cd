package audit

import (
	"errors"
	"slices"
	"time"
)

// The actions of people who are, or want to be, logged in. The first three are
// written with the change. The others are written by a [Collector].
const (
	LoginBegan     Action = "login.began"      // with the login that it ended in old, if one lived
	LoginLoggedOut Action = "login.logged_out" // by its holder

	// Reauthenticated: password and code, once more, in a login that lives.
	Reauthenticated Action = "login.reauthenticated"

	LoginFailed         Action = "login.failed"    // wrong name or password, a disabled account, not an admin
	LoginThrottled      Action = "login.throttled" // refused by a limit, unchecked
	LoginNewPlace       Action = "login.new_place" // from none of the last 20 places of a user who has some
	LoginAfterMisses    Action = "login.after_failures"
	PasswordRefused     Action = "user.password_refused" // the current one, of a user who is logged in
	RegistrationHeld    Action = "user.registration_throttled"
	RegistrationRefused Action = "user.registration_refused" // for its name or its password
	TokenReused         Action = "token.reused"              // after its login was ended
	TokenOutlived       Action = "token.expired"             // after its login had expired or gone idle
	TokenForged         Action = "token.forged"              // the ID of a login, with a secret that it never had
	KeyReused           Action = "service_key.reused"        // after it was revoked, or while its account is disabled
	KeyOutlived         Action = "service_key.expired"       // after it had expired
	KeyForged           Action = "service_key.forged"        // the ID of a key, with a secret that it never had
	AccessForbidden     Action = "access.forbidden"
	AccessAmbiguous     Action = "access.ambiguous" // two credentials in one request
	CacheForeignValue   Action = "cache.foreign_value"
)

// Actions are all that there are, in the order of [docs/logging.md].
//
// [docs/logging.md]: https://github.com/flakepass/flakepass/blob/main/docs/logging.md
func Actions() []Action {
	return []Action{
		LoginBegan, LoginLoggedOut, Reauthenticated, LoginEnded, AllLoginsEnded, LoginExpired, ImpersonationBegan, ImpersonationEnded, LoginFailed, LoginThrottled, LoginNewPlace, LoginAfterMisses,
		UserCreated, UserRenamed, AliasesChanged, ImportBegun, UsersImported, HashesExported, UserDisabled, UserEnabled, UserDeleted, UserPurged, DeletionAsked, DeletionOff, DataExported, RoleChanged, PasswordChanged, PasswordReset, ResetStarted, ResetWithdrawn, ResetUsed, ResetRefused,
		PasswordRefused, RegistrationHeld, RegistrationRefused, SecondFactorEnrolled, SecondFactorRemoved, RecoveryCodeUsed, RecoveryCodesRenewed,
		TokenReused, TokenOutlived, TokenForged, KeyCreated, KeyRevoked, KeyReused, KeyOutlived, KeyForged, AccessForbidden, AccessAmbiguous,
		PolicyChanged, SweepRequested, SecondFactorsRekeyed, CacheForeignValue, CommitsLost,
	}
}

// IsAction reports whether an event may have that action: a name that was mistyped must not
// look as if it had never happened.
func IsAction(text string) bool { return slices.Contains(Actions(), Action(text)) }

// Coded reports whether the reason of such an event is a code, such as
// credentials_invalid, and not what the person who did it gave as one.
func (a Action) Coded() bool {
	switch a {
	case LoginBegan, LoginLoggedOut, Reauthenticated, LoginFailed, LoginThrottled, LoginNewPlace, LoginAfterMisses,
		PasswordRefused, RegistrationHeld, RegistrationRefused, ResetRefused, RecoveryCodesRenewed,
		TokenReused, TokenOutlived, TokenForged, KeyReused, KeyOutlived, KeyForged, AccessForbidden, AccessAmbiguous, CacheForeignValue, SecondFactorsRekeyed:
		return true
	}
	return false
}

// ByTarget reports whether the user whom an event of that action is about caused it, by a
// login, although the event has no ID of an actor: the address is that of the user.
func (a Action) ByTarget() bool { return a == LoginNewPlace || a == LoginAfterMisses }

// An Incident is something that may come in floods, and changed nothing: a
// refusal, or a hint that an account is under attack.
type Incident struct {
	Action Action
	Reason string // a code, such as credentials_invalid; never what a client typed
	Target Target // zero where no user is known to be meant
	By     Actor  // Address is where it came from
	// Admin says that the target or the actor is an admin, as far as is known. Such
	// incidents are limited apart, so that no flood about others displaces them.
	Admin bool
	// Times is how many of them there were, and 0 is one.
	Times int64
}

// Incidents take what may come in floods. Note must neither wait nor fail, and
// reports whether this is the first of its kind for a while. *[Collector] is one.
type Incidents interface {
	Note(i Incident) (first bool)
}

// Refused is the action of a token that was refused for the reason with that
// code, and what the log calls it; empty for what every stranger can send, which
// is about no user. forged means that the token names a login whose it is not.
func Refused(code string, forged bool) (action Action, what string) {
	switch code {
	case "token_expired", "token_idle_timeout":
		return TokenOutlived, "token of a login that is over"
	case "token_logged_out", "token_replaced", "token_revoked", "account_disabled":
		return TokenReused, "token of a login that was ended"
	}
	if forged {
		return TokenForged, "token made up"
	}
	return "", ""
}

// RefusedKey is [Refused] for a service key that there is.
func RefusedKey(code string, forged bool) (action Action, what string) {
	switch {
	case forged:
		return KeyForged, "service key made up"
	case code == "key_expired":
		return KeyOutlived, "service key that has expired"
	}
	return KeyReused, "service key that was ended"
}

// The actions about second factors. The actor shows whether a user removed a
// factor or an admin did.
const (
	SecondFactorEnrolled Action = "user.second_factor_enrolled"
	SecondFactorRemoved  Action = "user.second_factor_removed"
	RecoveryCodeUsed     Action = "user.recovery_code_used"
	RecoveryCodesRenewed Action = "user.recovery_codes_renewed"
	SecondFactorsRekeyed Action = "second_factors.rekeyed" // stored secrets, under a newer key
)

// A Need is what has to be true of the actor, as the database has it in the transaction that
// changes something. An instance may believe a token for up to the bound after the token was ended
// on another instance. That is good enough to read, and not to make or change something.
//
// Each need includes those before it, down to NeedsLogin; see [Need.Includes] for those
// that do not.
type Need uint8

const (
	// needUnsaid is the need of an event for which none was chosen. A store
	// writes none of these for a user.
	needUnsaid Need = iota
	// NeedsNothing is for what proves itself: a login by its password, a logout by
	// its token, the use of a one-time link.
	NeedsNothing
	// NeedsLogin says that the acting login lives, and that its account is enabled.
	NeedsLogin
	// NeedsOwnProof says that password and code were shown in this login, at most
	// [ProofLife] ago, whatever the role: for what users do to their other logins.
	NeedsOwnProof
	// NeedsService says that the account has the role service or admin.
	NeedsService
	// NeedsAdmin says that the account has the role admin.
	NeedsAdmin
	// NeedsProof says that password and code were shown in this login, at most
	// [ProofLife] ago.
	NeedsProof
	// NeedsIssuer says that the account is a service, and that it acts by a service key that
	// may open logins.
	NeedsIssuer
)

// ProofLife is for how long a login counts as proven after its user has
// shown password and code, by the clock of the database.
const ProofLife = 10 * time.Minute

var (
	// ErrRole means that the actor has another role by now, or had never the
	// right one.
	ErrRole = errors.New("audit: the role of the actor may not do this")
	// ErrUnproven means that the acting login has not shown password and code
	// lately, and has to before it may do this.
	ErrUnproven = errors.New("audit: password and code were not shown lately")
	// ErrImpersonated means that the actor acts for the user of the login. Nothing is
	// changed by such a login, whatever is needed for it.
	ErrImpersonated = errors.New("audit: an impersonation changes nothing")
)

// Includes reports whether who has n also has o. A role proves no password: of the others
// only NeedsProof includes NeedsOwnProof. NeedsIssuer includes only itself, and nothing
// includes it.
func (n Need) Includes(o Need) bool {
	if n == NeedsIssuer || o == NeedsIssuer {
		return n == o
	}
	if o == NeedsOwnProof {
		return n == NeedsOwnProof || n == NeedsProof
	}
	return o <= n
}

// Said reports whether this need was chosen.
func (n Need) Said() bool { return n != needUnsaid }
