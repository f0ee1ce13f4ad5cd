package session_test

import (
	"crypto/sha256"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// TestHashIsTheWholeSHA256: of the whole text, and all 256 bits of it. Every bit
// is compared.
func TestHashIsTheWholeSHA256(t *testing.T) {
	token := flakepass.NewToken(1 << 40)
	got := session.HashOf(token)
	sum := sha256.Sum256([]byte(token.Reveal()))
	if want := session.Hash(append([]byte{1}, sum[:]...)); got != want {
		t.Errorf("got %x, want %x", got, want)
	}
	for i := range len(got) * 8 {
		other := got
		other[i/8] ^= 1 << (i % 8)
		if got.Equal(&other) {
			t.Errorf("bit %d is not compared", i)
		}
	}
}

// The public package reads the time out of an ID by itself, for it requires no
// other module. What it reads is what the server's IDs carry.
func TestPublicIDsAreTheServers(t *testing.T) {
	for _, id := range []idworker.ID{1, 1 << 22, 1573518342946488333, 1<<63 - 1} {
		public := flakepass.ID(id)
		if !public.Time().Equal(idworker.Default().Time(id)) || public.String() != id.String() {
			t.Errorf("%d: the public package has %v and %q, the ID worker %v and %q", id, public.Time(), public, idworker.Default().Time(id), id)
		}
	}
}
