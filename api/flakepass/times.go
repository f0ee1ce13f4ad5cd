package flakepass

import (
	"net/http"
	"strconv"
	"time"
)

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
	if who.ExpiresAt.IsZero() || who.IdleExpiresAt.IsZero() {
		setTime(h, ExpiresInHeader, who.ExpiresAt)
		setTime(h, IdleExpiresInHeader, who.IdleExpiresAt)
		return
	}
	now := time.Now()
	var room [40]byte // two numbers of 64 bits
	digits := strconv.AppendInt(room[:0], secondsLeft(who.ExpiresAt, now), 10)
	first := len(digits)
	text := string(strconv.AppendInt(digits, secondsLeft(who.IdleExpiresAt, now), 10))
	values := [...]string{text[:first], text[first:]}
	both := values[:]
	// No room behind either, so that an Add copies.
	h[ExpiresInHeader], h[IdleExpiresInHeader] = both[0:1:1], both[1:2:2]
}

func setTime(h http.Header, name string, at time.Time) {
	if at.IsZero() {
		return
	}
	h[name] = []string{strconv.FormatInt(secondsLeft(at, time.Now()), 10)}
}

// secondsLeft is the whole seconds from now to at, or 0 if at has passed.
func secondsLeft(at, now time.Time) int64 { return int64(max(0, at.Sub(now)) / time.Second) }
