package flakepass

import (
	"context"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// An Identity is the answer to the question that a token asks. Times are UTC.
type Identity struct {
	UserID    ID // never changes, never reused
	Username  string
	Role      string // user, service or admin
	SessionID ID     // of this login; public
	// DeviceClass is what the client said of its device at the login, such as phone, or
	// other. It is not trusted: an app may say anything. It is empty where it is not
	// passed on: in forwarded headers, and by a server of an earlier version.
	DeviceClass string
	// Act is the ID of the admin who acts by this login in place of the user (the claim act
	// of RFC 8693); 0 if the user does. A server of an earlier version has no such logins.
	Act ID
	// AuthMethod is how the user was authenticated for this login, and AuthTime when: pwd (RFC
	// 8176) is a password, and other methods, such as sms, are those of an issuer. The method is
	// empty, and the time zero, where DeviceClass is not passed on either.
	AuthMethod string
	AuthTime   time.Time

	IssuedAt      time.Time // when the login began; read from SessionID
	LastSeenAt    time.Time // by what its row says; moves when a use is written, at most once per touch interval
	ExpiresAt     time.Time // when the absolute lifetime ends
	IdleExpiresAt time.Time // when the idle timeout ends if no further use is written
}

// A Verifier says who holds a token.
//
// It returns a [*Refusal] (possibly wrapped) when the token is refused. Any
// other error means that the answer is unknown; a [Guard] answers 503 then, never 401.
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

// A Room is a place in a context for the Identity that a [Guard] finds. A server that makes a
// context of its own for each request may have one in it, and answer for it in Value: then
// the Guard needs no further context, and no copy of the request. The zero Room is empty. A
// Room takes one Identity; a second Guard makes a context as always.
type Room struct {
	who   Identity
	state atomic.Int32 // 1: somebody fills it; 2: who is there
}

type roomKey struct{}

// Value is what the context with the room has for that key; nil if the key is not of this
// package. It is safe for concurrent use.
func (r *Room) Value(key any) any {
	switch key {
	case identityKey{}:
		if r.state.Load() == 2 {
			return &r.who
		}
	case roomKey{}:
		return r
	}
	return nil
}

// take reports whether it has kept who.
func (r *Room) take(who *Identity) bool {
	if !r.state.CompareAndSwap(0, 1) {
		return false
	}
	r.who = *who
	r.state.Store(2)
	return true
}

// with is r with who in its context.
func with(r *http.Request, who *Identity) *http.Request {
	ctx := r.Context()
	if room, ok := ctx.Value(roomKey{}).(*Room); ok && room.take(who) {
		return r
	}
	return r.WithContext(NewContext(ctx, *who))
}

// FromContext is the identity that a [Guard] put into the context of a request
// that it let through; false if the request passed no Guard.
func FromContext(ctx context.Context) (Identity, bool) {
	if who, ok := ctx.Value(identityKey{}).(*Identity); ok {
		return *who, true
	}
	return Identity{}, false
}

// Headers of every answer behind a [Guard] and of GET /v1/verify: the time that
// the login has left, in whole seconds, rounded down and never negative. The
// first counts to the end of the absolute lifetime; the second to the end of the
// idle timeout, if no request comes that counts as a use.
const (
	ExpiresInHeader     = "X-Auth-Expires-In"
	IdleExpiresInHeader = "X-Auth-Idle-Expires-In"
)

// setTimes sets the headers that say how long who stays. A time that is not
// known has none. Both values share two allocations.
func setTimes(h http.Header, who *Identity) {
	var room [40]byte // two numbers of 64 bits
	digits, first := appendTimes(room[:0], who, time.Now())
	text := string(digits)
	values := []string{text[:first], text[first:]}
	// No room behind either, so that an Add copies.
	for i, name := range [...]string{ExpiresInHeader, IdleExpiresInHeader} {
		if values[i] != "" {
			h[name] = values[i : i+1 : i+1]
		}
	}
}

// appendTimes appends the seconds that who stays: up to first those of the absolute lifetime,
// then those of the idle timeout. A time that is not known has no digits.
func appendTimes(b []byte, who *Identity, now time.Time) (digits []byte, first int) {
	if !who.ExpiresAt.IsZero() {
		b = strconv.AppendInt(b, secondsLeft(who.ExpiresAt, now), 10)
	}
	first = len(b)
	if !who.IdleExpiresAt.IsZero() {
		b = strconv.AppendInt(b, secondsLeft(who.IdleExpiresAt, now), 10)
	}
	return b, first
}

// secondsLeft is the whole seconds from now to at, or 0 if at has passed.
func secondsLeft(at, now time.Time) int64 { return int64(max(0, at.Sub(now)) / time.Second) }

// PassiveHeader makes a request passive if its value is 1: it is answered as any
// other, and does not count as a use of the login. An app sends it when it asks by
// itself, so that a timer does not keep alive a login that is not used.
const PassiveHeader = "X-Auth-Passive"

type passiveKey struct{}

// NewPassiveContext returns a context whose requests do not count as a use of
// the login. A [Guard] makes one for a passive request; a [Verifier] looks with
// [IsPassive].
func NewPassiveContext(ctx context.Context) context.Context {
	return context.WithValue(ctx, passiveKey{}, true)
}

// IsPassive reports whether ctx comes from [NewPassiveContext]. A Verifier that
// notes uses asks only when it is about to note one, for the answer takes a walk
// through ctx; one that asks a server passes the word on.
func IsPassive(ctx context.Context) bool { return ctx.Value(passiveKey{}) != nil }

// passive reports whether the request says that it is. Any value but 1 is
// ignored.
func passive(h http.Header) bool {
	values := h[PassiveHeader]
	return len(values) == 1 && values[0] == "1"
}
