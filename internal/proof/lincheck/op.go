package lincheck

import (
	"fmt"
	"time"
)

// A Kind is what a client asked for.
type Kind string

// The kinds. The state of a user that they act on is: which login lives, if any,
// and whether the account is disabled.
const (
	// Login begins a login, with an ID larger than every one before of its user,
	// and ends the one that lived ("token_replaced").
	Login Kind = "login"
	// Verify is a question about a token. It changes nothing.
	Verify Kind = "verify"
	// Logout ends the login of one token, if it lives, and no other.
	Logout Kind = "logout"
	// End ends whatever login lives, for the reason in Code: a change of password,
	// an operator's command, a logout of all users.
	End Kind = "end"
	// Disable is End for the reason "account_disabled", and no login begins until
	// Enable.
	Disable Kind = "disable"
	Enable  Kind = "enable"
	// EndOthers ends all logins but that of one token, by which it is asked for.
	EndOthers Kind = "end others"
	// Limit says that a user has Sessions logins at most from now on, and Named of them on
	// devices with a name. A history in which it
	// occurs is of a user who may have several: there a login ends that one on the same device, and
	// others only if there are too many. Nothing is held of the reason of a refusal.
	Limit Kind = "limit"
)

// An Outcome is what a client was answered.
type Outcome string

// The outcomes. The zero Outcome counts as Unknown.
const (
	Done    Outcome = "done"    // it happened; of a Verify: accepted
	Refused Outcome = "refused" // nothing changed, for the reason in Code
	Unknown Outcome = "unknown" // it may have happened, or may yet, or never
)

// The reasons that the model knows, as answers give them.
const (
	codeExpired  = "token_expired"
	codeInvalid  = "token_invalid"
	codeReplaced = "token_replaced"
	codeLogout   = "token_logged_out"
	codeDisabled = "account_disabled"
)

// An Op is one question and its answer.
type Op struct {
	User string
	Kind Kind
	// Token is the ID of a login: the new one's (0 if no answer said), or that of
	// the token that was presented.
	Token int64
	// At names the instance that was asked. It may be empty; then the promise of
	// one instance to itself is not checked.
	At      string
	Outcome Outcome
	Code    string // why it was refused; of an End, the reason
	// Device is that of a Login: of several logins, one on the same device ends. "" is none.
	Device   string
	Sessions int // of a Limit
	Named    int // of a Limit; 0: as many as on all
	// Call and Return are when the question was sent and the answer was there, by
	// one clock that never goes back. Of an Unknown, Return means nothing.
	Call, Return time.Duration
	// Expires is when a new login ends whatever happens, by the same clock. 0
	// means after the history.
	Expires time.Duration
}

// String is the op on one line.
func (o Op) String() string {
	end := o.Return.Round(time.Microsecond).String()
	if o.unknown() {
		end = "?"
	}
	s := fmt.Sprintf("%v .. %s  %s %s %d: %s", o.Call.Round(time.Microsecond), end, o.User, o.Kind, o.Token, o.Outcome)
	if o.Kind == Limit {
		s += fmt.Sprintf(" to %d", o.Sessions)
		if o.Named != 0 {
			s += fmt.Sprintf(", %d on devices with a name", o.Named)
		}
	}
	if o.Device != "" {
		s += " on " + o.Device
	}
	if o.Code != "" {
		s += " " + o.Code
	}
	if o.At != "" {
		s += " by " + o.At
	}
	return s
}

func (o *Op) unknown() bool { return o.Outcome != Done && o.Outcome != Refused }

func (o *Op) accept() bool { return o.Kind == Verify && o.Outcome == Done }

func (o *Op) refusal() bool { return o.Kind == Verify && o.Outcome == Refused }
