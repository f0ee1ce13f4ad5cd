package audit

import (
	"context"

	"github.com/flakepass/flakepass/idworker"
)

// The actions of people who are, or want to be, logged in. The first two are
// written with what they tell of; the others by a [Tally].
const (
	LoginBegan     Action = "login.began"      // with the login that it ended in old, if one lived
	LoginLoggedOut Action = "login.logged_out" // by its holder

	// Reauthenticated: password and code, once more, in a login that lives.
	Reauthenticated Action = "login.reauthenticated"

	LoginFailed         Action = "login.failed"    // wrong name or password, a disabled account, not an admin
	LoginThrottled      Action = "login.throttled" // refused by a limit, unchecked
	LoginNewPlace       Action = "login.new_place" // from none of the last 20 places of a user who has some
	LoginAfterMisses    Action = "login.after_failures"
	PasswordRefused     Action = "user.password_refused" // the current one, of somebody who is logged in
	RegistrationHeld    Action = "user.registration_throttled"
	RegistrationRefused Action = "user.registration_refused" // for its name or its password
	TokenReused         Action = "token.reused"              // after its login was ended by somebody
	TokenOutlived       Action = "token.expired"             // after its login had expired or gone idle
	TokenForged         Action = "token.forged"              // the ID of a login, with a secret that it never had
	AccessForbidden     Action = "access.forbidden"
	AccessAmbiguous     Action = "access.ambiguous" // two credentials in one request
	CacheForeignValue   Action = "cache.foreign_value"
)

// Actions are all that there are, in the order of [docs/logging.md].
//
// [docs/logging.md]: https://github.com/flakepass/flakepass/blob/main/docs/logging.md
func Actions() []Action {
	return []Action{
		LoginBegan, LoginLoggedOut, Reauthenticated, LoginEnded, AllLoginsEnded, LoginExpired, LoginFailed, LoginThrottled, LoginNewPlace, LoginAfterMisses,
		UserCreated, UserDisabled, UserEnabled, RoleChanged, PasswordChanged, PasswordReset, ResetStarted, ResetWithdrawn, ResetUsed, ResetRefused,
		PasswordRefused, RegistrationHeld, RegistrationRefused, SecondFactorEnrolled, SecondFactorRemoved, RecoveryCodeUsed, RecoveryCodesRenewed,
		TokenReused, TokenOutlived, TokenForged, AccessForbidden, AccessAmbiguous,
		PolicyChanged, SweepRequested, SecondFactorsRekeyed, CacheForeignValue,
	}
}

// Coded reports whether the reason of such an event is a code, such as
// credentials_invalid, and not what the person who did it gave as one.
func (a Action) Coded() bool {
	switch a {
	case LoginBegan, LoginLoggedOut, Reauthenticated, LoginFailed, LoginThrottled, LoginNewPlace, LoginAfterMisses,
		PasswordRefused, RegistrationHeld, RegistrationRefused, ResetRefused, RecoveryCodesRenewed,
		TokenReused, TokenOutlived, TokenForged, AccessForbidden, AccessAmbiguous, CacheForeignValue, SecondFactorsRekeyed:
		return true
	}
	return false
}

// A Sighting is something that may come in floods, and changed nothing: a
// refusal, or a hint that an account is under attack.
type Sighting struct {
	Action Action
	Reason string // a code, such as credentials_invalid; never what somebody typed
	Target Target // zero where nobody is known to be meant
	By     Actor  // Address is where it came from
	// Admin says that the target or the actor is an admin, as far as is known. Such
	// sightings have room of their own, which no flood about others takes.
	Admin bool
	// Times is how many of them there were, and 0 is one.
	Times int64
}

// SightingBy is a sighting of who acts in ctx.
func SightingBy(ctx context.Context, action Action, reason string, target Target) Sighting {
	return Sighting{Action: action, Reason: reason, Target: target, By: From(ctx)}
}

// AboutUser is a user as a target.
func AboutUser(id idworker.ID, name string) Target {
	if id == 0 {
		return Target{}
	}
	return Target{Kind: "user", ID: id, Name: name}
}

// AboutLogin is a login as a target, called by the name of its user.
func AboutLogin(id idworker.ID, name string) Target {
	if id == 0 {
		return Target{}
	}
	return Target{Kind: "login", ID: id, Name: name}
}

// Refused is the action of a token that was refused for the reason with that
// code, and what the log calls it; empty for what every stranger can send, which
// is about nobody. forged means that the token names a login whose it is not.
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
