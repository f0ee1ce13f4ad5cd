package redisstore

import (
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/session"
)

// TestCodecKeepsWhoActs while the session lives; its end is of its slot, in a form that an
// earlier release reads.
func TestCodecKeepsWhoActs(t *testing.T) {
	c := newCodec([]byte("key"))
	at := time.UnixMilli(1_800_000_000_000).UTC()
	s := session.Session{ID: 9, UserID: 42, Username: "ada", Role: "user", Hash: session.Hash{1, 2}, Act: 7, Slot: session.SlotOfAct, Seen: at, AsOf: at}
	b, err := c.encode("k", &s)
	if err != nil || b[0] != withAct {
		t.Fatalf("version %d, %v", b[0], err)
	}
	if got, err := c.decode("k", 9, b); err != nil || got != s {
		t.Errorf("got %+v, %v; want %+v", got, err, s)
	}
	s.Ended = session.Revoked
	b, err = c.encode("k", &s)
	if err != nil || b[0] != withSlot {
		t.Fatalf("an end has version %d, %v", b[0], err)
	}
	if got, err := c.decode("k", 9, b); err != nil || got.Ended != session.Revoked || got.Slot != session.SlotOfAct {
		t.Errorf("an end: %+v, %v", got, err)
	}
}
