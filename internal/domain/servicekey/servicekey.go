// Package servicekey is the credential of another back end: what a key may do, when it is
// over, and the service that recognises it.
//
// A key is not a login. No policy ends it, and "log everybody out" does not. It ends when
// it is revoked or expires, and while its account is disabled or has another role.
package servicekey

import (
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/session"
)

var (
	// ErrNotFound means that there is no such key.
	ErrNotFound = errors.New("servicekey: no such key")
	// ErrRole means that the account has another role than service.
	ErrRole = errors.New("servicekey: the account is not of a service")
	// ErrMany means that the account has as many keys as it may have.
	ErrMany = errors.New("servicekey: too many keys of one account")
)

// A Key is what is known of a service key without its secret. When it was made is read
// from its ID.
type Key struct {
	ID      idworker.ID
	UserID  idworker.ID // of its account
	Name    string      // for people
	Scopes  Scopes
	Creator Creator

	// Zero where there is none. UsedAt is the beginning of the last hour in which it was used.
	ExpiresAt, RevokedAt, UsedAt time.Time
}

// A Creator made a key. ID is 0 for a command on the server.
type Creator struct {
	ID   idworker.ID
	Name string // of now; empty for a command on the server
}

// CreatedAt is when the key was made.
func (k *Key) CreatedAt() time.Time { return idworker.Default().Time(k.ID) }

// Over reports whether the key is over for good at that time.
func (k *Key) Over(now time.Time) bool {
	return !k.RevokedAt.IsZero() || !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt)
}

// A Held is a key with its account, as they were at AsOf.
type Held struct {
	Key
	Hash     session.Hash
	Username string
	Role     string // of the account
	Disabled bool   // the account is
	AsOf     time.Time
}

// Role is the role of the accounts whose keys are good.
const Role = "service"

// May returns nil if a key is good, as its row says, at that time of the database and for
// what needs the scope. It fails with a [*RefusedError].
func (h *Held) May(now time.Time, needs Scope) error {
	switch {
	case !h.RevokedAt.IsZero():
		return h.no(false, flakepass.ErrKeyRevoked)
	case h.Over(now):
		return h.no(false, flakepass.ErrKeyExpired)
	case h.Disabled:
		return h.no(false, flakepass.ErrAccountDisabled)
	case h.Role != Role:
		return h.no(false, ErrRole)
	case !h.Scopes.Has(needs):
		return h.no(false, &ScopeError{needs})
	}
	return nil
}

func (h *Held) no(forged bool, err error) error {
	return &RefusedError{ID: h.ID, UserID: h.UserID, Username: h.Username, Forged: forged, Err: err}
}

// A RefusedError is the refusal of a key that there is. It says which, for the log and the
// record.
type RefusedError struct {
	ID       idworker.ID
	UserID   idworker.ID // of its account
	Username string
	Forged   bool // the secret is not that of the key
	Err      error
}

// Error names neither the key nor the account.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap is the refusal.
func (e *RefusedError) Unwrap() error { return e.Err }

// A ScopeError means that the key is good, and may not do this.
type ScopeError struct{ Needs Scope }

// Error names the scope.
func (e *ScopeError) Error() string { return "the key has not the scope " + string(e.Needs) }

// HashOf hashes the text of a key, as that of a token is hashed.
func HashOf(k flakepass.ServiceKey) session.Hash {
	sum := sha256.Sum256([]byte(k.Reveal()))
	h, _ := session.HashOfSum(sum[:])
	return h
}

// A Scope is something that a key may do. A key has none that it was not given.
type Scope string

// The scopes.
const (
	// Verify is to ask whose a token is: introspection, POST /v1/verifications and the stream
	// GET /v1/revocations.
	Verify Scope = "verify"
	// Revoke is to end the login of a token that the service was shown.
	Revoke Scope = "revoke"
	// Issue is to open logins of users whom the service has authenticated itself, and to make
	// such users; neither of admins nor of services.
	Issue Scope = "issue"
	// IssueAnyRole allows a key with the scope Issue to open logins of admins and services, too.
	IssueAnyRole Scope = "issue:any-role"
	// ReadUsers is to look up a user by a name: GET /v1/users.
	ReadUsers Scope = "read:users"
	// WriteUsers is to change the names of users: PATCH /v1/users/{id}. Accounts of admins and
	// services are not among them.
	WriteUsers Scope = "write:users"
)

// Known are all scopes, as they are shown.
func Known() Scopes { return Scopes{Verify, Revoke, Issue, IssueAnyRole, ReadUsers, WriteUsers} }

// Scopes are what a key may do, in the order of [Known].
type Scopes []Scope

// ParseScopes reads names of scopes. It fails with an [*invalid.Error] that lists the known
// ones, if one is not known or there are none.
func ParseScopes(names []string) (Scopes, error) {
	all := slices.DeleteFunc(Known(), func(s Scope) bool { return !slices.Contains(names, string(s)) })
	for _, name := range names {
		if !Known().Has(Scope(name)) {
			return nil, invalid.Of("scopes", "unknown", "must be of these: "+strings.Join(Known().Names(), ", "))
		}
	}
	if len(all) == 0 {
		return nil, invalid.Of("scopes", "required", "must have at least one of these: "+strings.Join(Known().Names(), ", "))
	}
	return all, nil
}

// Has reports whether one of them is s.
func (s Scopes) Has(scope Scope) bool {
	return slices.Contains(s, scope)
}

// Names are their names.
func (s Scopes) Names() []string {
	names := make([]string, len(s))
	for i, one := range s {
		names[i] = string(one)
	}
	return names
}

// Text is how they are stored: names and spaces, as RFC 6749 section 3.3 has it.
func (s Scopes) Text() string { return strings.Join(s.Names(), " ") }

// ScopesOf reads what Text writes. A scope of a later release is kept, and allows nothing
// here.
func ScopesOf(text string) Scopes {
	var all Scopes
	for _, name := range strings.Fields(text) {
		all = append(all, Scope(name))
	}
	return all
}

// MostKeys is how many keys an account has at most that were not revoked.
const MostKeys = 100

// MaxName is how many characters the name of a key has at most.
const MaxName = 64

// CheckName returns an [*invalid.Error] for a name that no key may have.
func CheckName(name string) error {
	switch n := utf8.RuneCountInString(name); {
	case invalid.Blank(name):
		return invalid.Of("name", "required", "must say where the key is used")
	case n > MaxName:
		return invalid.Of("name", "too_long", "must have at most 64 characters")
	case !utf8.ValidString(name), strings.ContainsFunc(name, unicode.IsControl):
		return invalid.Of("name", "invalid_characters", "must be text without control characters")
	}
	return nil
}
