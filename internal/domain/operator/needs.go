package operator

import (
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// A verb is something that an operator does.
type verb uint8

const (
	createUser verb = iota
	createPrivileged
	inviteUser
	changeRole
	disable
	enable
	setPassword
	startReset
	withdrawReset
	removeFactor
	endLogin
	endAllLogins
	setPolicy
	verbs // how many there are
)

// needs is what each verb needs of whoever does it, whichever way it came in. A
// token alone, as somebody may have stolen it, is not enough for what gives power
// that outlives the login (accounts with a role, the way into an account), for
// what loosens the limits and the times, and for what ends the logins of all.
var needs = [verbs]audit.Need{
	createUser:       audit.NeedsAdmin,
	createPrivileged: audit.NeedsProof,
	inviteUser:       audit.NeedsProof,
	changeRole:       audit.NeedsProof,
	disable:          audit.NeedsAdmin,
	enable:           audit.NeedsProof,
	setPassword:      audit.NeedsProof,
	startReset:       audit.NeedsProof,
	withdrawReset:    audit.NeedsAdmin,
	removeFactor:     audit.NeedsProof,
	endLogin:         audit.NeedsAdmin,
	endAllLogins:     audit.NeedsProof,
	setPolicy:        audit.NeedsProof,
}

// create is the verb that makes an account with that role.
func create(role account.Role) verb {
	if role == account.RoleUser {
		return createUser
	}
	return createPrivileged
}
