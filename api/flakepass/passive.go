package flakepass

import (
	"context"
	"net/http"
)

// PassiveHeader makes a request passive if its value is 1: it is answered as any
// other, and does not count as a use of the login. An app sends it when it asks by
// itself, so that a timer does not keep alive what nobody uses.
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
