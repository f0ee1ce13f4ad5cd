package redisstore

import (
	"log/slog"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Channel carries word of endings.
const Channel = channel

// KeyOf is where a session lies in Redis.
func KeyOf(id idworker.ID) string { return keyOf(id) }

// Encode is the value of a session under a key of the deployment.
func Encode(secret []byte, key string, s *session.Session) ([]byte, error) {
	return newCodec(secret).encode(key, s)
}

// Decode is the session in a value.
func Decode(secret []byte, key string, id idworker.ID, b []byte) (session.Session, error) {
	return newCodec(secret).decode(key, id, b)
}

// DecodeEnd is the end in a message.
func DecodeEnd(secret, message []byte) (session.Session, bool) {
	return (&Sessions{codec: newCodec(secret)}).DecodeEnd(message)
}

// Tombstone is how long a tombstone stays.
func (t *Sessions) Tombstone() time.Duration { return t.tombstone }

// Sign is a body with its MAC.
func Sign(secret []byte, key string, body []byte) []byte {
	mac := newCodec(secret).mac(key, body)
	return append(body[:len(body):len(body)], mac[:]...)
}

// A Breaker is what stops requests from asking a server that does not answer.
type Breaker struct{ *breaker }

// NewBreaker makes one for the server with that address.
func NewBreaker(addr string, log *slog.Logger) Breaker { return Breaker{newHealth(addr, log)} }

// Ask asks a server that answers so. asked is false if it was left alone.
func (b Breaker) Ask(answer error) (asked bool) {
	_ = b.do(func() error { asked = true; return answer })
	return asked
}

// When a breaker opens, and for how long.
const (
	Stall = stall
	Pause = pause
)

// ParsePolicy reads an answer to INFO.
var ParsePolicy = parsePolicy

// How long a request waits for Redis at most, and how much less it may be.
const (
	AskTimeout = askTimeout
	Grain      = grain
)

// AMinuteLater lets what a store has noted in Redis be a minute old.
func AMinuteLater(s ratelimit.Store) {
	b, _ := s.(*Buckets)
	b.learnt.Range(func(key, _ any) bool {
		b.learnt.Store(key, time.Now().Add(-noteAgain))
		return true
	})
}
