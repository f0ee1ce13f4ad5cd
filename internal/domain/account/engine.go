package account

import (
	"fmt"

	"github.com/alexedwards/argon2id"
)

// An Engine computes Argon2id (RFC 9106) for a [Hasher], which decides how many
// times at once. It sees passwords in the clear. An error that wraps [ErrBusy]
// means that it has not been computed, and that trying again later helps.
type Engine interface {
	// Create hashes password with a new salt at the costs of p, and returns the
	// hash in PHC form.
	Create(password string, p Params) (phc string, err error)
	// Compare reports whether phc is a hash of password, in constant time.
	Compare(password, phc string) (bool, error)
}

// Here is the [Engine] that computes in the calling goroutine.
type Here struct{}

// Create is [Engine.Create].
func (Here) Create(password string, p Params) (string, error) {
	phc, err := argon2id.CreateHash(password, p.argon2id())
	if err != nil {
		return "", fmt.Errorf("account: argon2id: %w", err)
	}
	return phc, nil
}

// Compare is [Engine.Compare].
func (Here) Compare(password, phc string) (bool, error) {
	ok, err := argon2id.ComparePasswordAndHash(password, phc)
	if err != nil {
		return false, fmt.Errorf("account: argon2id: %w", err)
	}
	return ok, nil
}
