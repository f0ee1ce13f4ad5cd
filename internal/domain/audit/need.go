package audit

import (
	"errors"
	"time"
)

// A Need is what has to be true of whoever acts, as the database has it in the
// transaction that changes something. A token is believed for as long as the
// bound after it was ended elsewhere; that is for reading, and nothing is made or
// changed by it.
//
// Each need includes those before it, down to NeedsLogin.
type Need uint8

const (
	// needUnsaid is the need of an event for which nobody has chosen one. A store
	// writes none of these for a user.
	needUnsaid Need = iota
	// NeedsNothing is for what proves itself: a login by its password, a logout by
	// its token, the use of a one-time link.
	NeedsNothing
	// NeedsLogin says that the acting login lives, and that its account is enabled.
	NeedsLogin
	// NeedsService says that the account has the role service or admin.
	NeedsService
	// NeedsAdmin says that the account has the role admin.
	NeedsAdmin
	// NeedsProof says that password and code were shown in this login, at most
	// [ProofLife] ago.
	NeedsProof
)

// ProofLife is for how long a login counts as proven after whoever has it has
// shown password and code, by the clock of the database.
const ProofLife = 10 * time.Minute

var (
	// ErrRole means that whoever acts has another role by now, or had never the
	// right one.
	ErrRole = errors.New("audit: the role of whoever acts may not do this")
	// ErrUnproven means that the acting login has not shown password and code
	// lately, and has to before it may do this.
	ErrUnproven = errors.New("audit: password and code were not shown lately")
)

// Said reports whether somebody has chosen this need.
func (n Need) Said() bool { return n != needUnsaid }
