// Package account owns the people who log in: what their names may look like,
// what a password must be, how it is kept, and how it is checked.
//
// A name goes through [NormalizeUsername] before it is compared, counted,
// stored or looked up, so all spellings of a name are one account. A password
// goes through [NewPassword], and is never seen in the clear again outside
// this package. [Hasher] turns it into an Argon2id hash, in a bounded pool:
// hashing is made to be expensive, and a server that hashes whenever it is
// asked is easy to bring down. [Service] puts the three together.
//
// The package says who someone is. Throttling, tokens and audit belong to its
// callers.
package account

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/flakepass/flakepass/idworker"
)

var (
	// ErrNotFound means that there is no such user.
	ErrNotFound = errors.New("no such user")
	// ErrExists means that the username is taken.
	ErrExists = errors.New("username taken")
	// ErrHasAdmin means that there is an admin already, where only the first was
	// to be made.
	ErrHasAdmin = errors.New("there is an admin already")
	// ErrNotNamed means that the user with the ID has another name than the one that was
	// given to confirm a deletion.
	ErrNotNamed = errors.New("another user than the one that is named")
	// ErrLastAdmin means that no enabled admin would be left.
	ErrLastAdmin = errors.New("the last enabled admin")
	// ErrWrong means that the name does not exist or that the password is wrong. Callers
	// must not learn which.
	ErrWrong = errors.New("wrong name or password")
	// ErrDisabled means that the password is right, and the account is disabled.
	ErrDisabled = errors.New("account disabled")
	// ErrBusy means that too many passwords are being hashed; trying again later
	// helps.
	ErrBusy = errors.New("too many passwords to check")
	// ErrStale means that the password was changed since the user was read. A
	// store returns it from a change of password that names the version it
	// replaces.
	ErrStale = errors.New("password changed meanwhile")
	// ErrBadHash means that a stored hash is malformed, or costs more than this
	// program agrees to pay. No password was compared.
	ErrBadHash = errors.New("stored password hash not usable")
	// ErrRole means that a text is not the name of a role.
	ErrRole = errors.New("no such role")
)

// A RefusedError wraps one of the errors above, or another failure, when the account is
// known: the log names the account by it. It is not for the client that was refused, which
// must not learn that the name exists.
type RefusedError struct {
	UserID   idworker.ID
	Username string // as it is kept; not for the log, since a name may be a password
	Role     Role
	// Issuer is who started the reset whose token was refused, if that was it.
	Issuer Issuer
	Err    error
}

// Error is that of Err, without the ID.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap is Err.
func (e *RefusedError) Unwrap() error { return e.Err }

// A Role says what an account may do.
type Role string

// The roles.
const (
	// RoleUser uses its own login.
	RoleUser Role = "user"
	// RoleService may ask about the logins of others, and revoke them.
	RoleService Role = "service"
	// RoleAdmin may do everything.
	RoleAdmin Role = "admin"
)

// ParseRole reads the name of a role, exactly as written. It returns
// [ErrRole] for anything else, the empty text included.
func ParseRole(s string) (Role, error) {
	switch r := Role(s); r {
	case RoleUser, RoleService, RoleAdmin:
		return r, nil
	}
	return "", fmt.Errorf("account: parse role: %w", ErrRole)
}

// A User is one account.
type User struct {
	ID       idworker.ID
	Username string // as NormalizeUsername returns it
	Role     Role
	// ExternalID is what another system calls the user; empty if it has no name there. No
	// two users have the same.
	ExternalID string
	// Aliases are the other names with which the user may log in, sorted; nil where they
	// were not read.
	Aliases []string
	// CountedByID says that guesses, devices and places of the account are counted under
	// its ID; see [User.CountedAs].
	CountedByID bool

	PasswordHash PHC
	// PasswordVersion begins at 1. It grows with each new password, with the first hash, with each
	// change of the role, when a second factor is switched on or off, when the user asks for a
	// deletion, and with the deletion. A new hash of the same password does not change it. A login
	// that verified version 3 must not open when the row is at 4.
	PasswordVersion int64
	// ImportedVersion is the version of the password with which the user was imported;
	// zero for others. It grows with PasswordVersion when the user asks for a deletion.
	ImportedVersion int64

	// SecondFactorAt is since when a login needs a code beside the password; zero
	// if it does not.
	SecondFactorAt time.Time

	DisabledAt time.Time // zero when enabled
	// DeletionAskedAt is when the user asked for the account to be deleted; zero if the user
	// did not, or has logged in since.
	DeletionAskedAt time.Time
	// Deleted is set only where an account that was deleted is looked for: its name and its
	// external ID are taken until the purge.
	Deleted   bool
	CreatedAt time.Time
	UpdatedAt time.Time

	// Arrival is not stored in the database. It says that another system has just accepted the password, and
	// that the row is not written yet.
	Arrival Arrival
}

// Disabled reports whether the account may not log in.
func (u User) Disabled() bool { return !u.DisabledAt.IsZero() }

// BroughtPassword reports whether the password is one that another system has accepted, and
// that was imported: the rules for new passwords do not hold for it.
func (u User) BroughtPassword() bool {
	return u.ImportedVersion != 0 && u.ImportedVersion == u.PasswordVersion
}

// CountedAs is the name under which guesses, devices and places of the account are counted.
// It is the ID, which no text that is typed equals: so it stays when the account is
// renamed, and who takes the old name takes nothing over. Accounts that an earlier release
// has made are counted under their username until they are renamed, or their devices
// would be unknown after the upgrade.
func (u User) CountedAs() string {
	if u.CountedByID {
		return "#" + u.ID.String()
	}
	return u.Username
}

// HasSecondFactor reports whether a login needs a code beside the password.
func (u User) HasSecondFactor() bool { return !u.SecondFactorAt.IsZero() }

// Users keeps accounts. Names given to it have gone through
// [NormalizeUsername] and are compared byte for byte: a collation that treats
// different names as equal would give one person the account of another.
type Users interface {
	// ByUsername returns ErrNotFound when no account has the name. It answers for
	// disabled accounts too.
	ByUsername(ctx context.Context, username string) (User, error)
	// ByName is ByUsername for a name that may be an alias, too. It costs the same
	// whether the name is a username, an alias or nobody's.
	ByName(ctx context.Context, name string) (User, error)
	// ByID returns ErrNotFound when there is no such user.
	ByID(ctx context.Context, id idworker.ID) (User, error)
	// Rehash replaces the hash of a password by a hash of the same password.
	// The version stays. It does nothing, and returns nil, when the version is
	// no longer oldVersion: someone has changed the password, and the hash is
	// of the one before.
	Rehash(ctx context.Context, id idworker.ID, oldVersion int64, phc PHC) error
}

// The codes of what is wrong with a field. They are part of the HTTP contract:
// clients may switch on them.
const (
	CodeRequired          = "required"
	CodeTooShort          = "too_short"
	CodeTooLong           = "too_long"
	CodeTooCommon         = "too_common"
	CodeBreached          = "breached"
	CodeContainsUsername  = "contains_username"
	CodeInvalidCharacters = "invalid_characters"
	CodeMixedScripts      = "mixed_scripts"
	CodeConfusable        = "confusable"
	CodeUnknown           = "unknown_value"
)

// NormalizePrefix returns the form in which names that begin with s are kept,
// and whether there can be any. s is normalised like a name: a Greek sigma at its end
// counts as the end of a word. If s cannot be part of a name, for example because it has a
// space, ok is false, and likewise if its form is longer than a name can be.
func NormalizePrefix(s string) (prefix string, ok bool) {
	if s == "" || len(s) > 4*maxUsernameBytes || !utf8.ValidString(s) {
		return "", false
	}
	form, err := usernameForm(s)
	return form, err == nil && len(form) <= maxUsernameBytes
}
