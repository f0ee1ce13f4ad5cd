package flakepass

import (
	"context"
	"time"
)

// An Identity is the answer to the question that a token asks. Times are UTC.
type Identity struct {
	UserID    ID // never changes, never reused
	Username  string
	Role      string // user, service or admin
	SessionID ID     // of this login; public

	IssuedAt      time.Time // when the login began; read from SessionID
	LastSeenAt    time.Time // by what its row says; moves when a use is written, at most once per touch interval
	ExpiresAt     time.Time // when the absolute lifetime ends
	IdleExpiresAt time.Time // when the idle timeout ends if no further use is written
}

// A Verifier says who holds a token.
//
// It returns a [*Refusal] (possibly wrapped) when the answer is nobody. Any
// other error means that it cannot tell; a [Guard] answers 503 then, never 401.
type Verifier interface {
	Verify(ctx context.Context, t Token) (Identity, error)
}

// A VerifierFunc is a function that is a Verifier.
type VerifierFunc func(context.Context, Token) (Identity, error)

// Verify calls f.
func (f VerifierFunc) Verify(ctx context.Context, t Token) (Identity, error) { return f(ctx, t) }

type identityKey struct{}

// NewContext returns a context that carries who.
func NewContext(ctx context.Context, who Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, &who)
}

// FromContext is the identity that a [Guard] put into the context of a request
// that it let through; false if the request passed no Guard.
func FromContext(ctx context.Context) (Identity, bool) {
	if who, ok := ctx.Value(identityKey{}).(*Identity); ok {
		return *who, true
	}
	return Identity{}, false
}
