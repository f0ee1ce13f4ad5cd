package account

import (
	"context"
	"crypto/sha1" //nolint:gosec // the list is kept by it; nothing here rests on it
	"github.com/flakepass/flakepass/internal/domain/invalid"
)

// A BreachList knows passwords that were stolen somewhere, by the SHA-1 of their
// UTF-8, which is how such lists are published.
//
// Has returns an error if it cannot read the list. It may be called concurrently.
type BreachList interface {
	Has(ctx context.Context, hash [sha1.Size]byte) (bool, error)
}

// Breaches refuse passwords that are in a list of stolen ones (NIST SP 800-63B-4
// section 3.1.1.2, OWASP ASVS 5.0, 6.2.12). A nil *Breaches refuses none.
//
// If the list cannot be read, a password is accepted: a failing disk must not prevent
// users from changing a password, which may itself be stolen. All other rules hold.
type Breaches struct {
	List BreachList
	// Unread, if set, receives why the list could not be asked, each time.
	Unread func(ctx context.Context, err error)
}

// problem is what is wrong with p, if the list has it as it was typed or in its
// normal form: people's keyboards and thieves' files differ in that.
func (b *Breaches) problem(ctx context.Context, p Password) (invalid.Field, bool) {
	if b == nil {
		return invalid.Field{}, false
	}
	for _, spelling := range p.spellings() {
		found, err := b.List.Has(ctx, sha1.Sum([]byte(spelling))) //nolint:gosec // as above
		if err != nil && b.Unread != nil && ctx.Err() == nil {
			b.Unread(ctx, err)
		}
		if found && err == nil {
			return invalid.Field{Field: "password", Code: CodeBreached, Message: "is in a list of stolen passwords, which guessers try first; choose one that you use nowhere else"}, true
		}
	}
	return invalid.Field{}, false
}
