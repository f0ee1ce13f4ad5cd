//go:build unix

package gormstore_test

import (
	"net/netip"
	"testing"

	"github.com/flakepass/flakepass/internal/gormstore"
	"github.com/flakepass/flakepass/internal/throttle"
)

func TestKnownPlaces(t *testing.T) {
	home, away := netip.MustParseAddr("2001:db8:1:2::7"), netip.MustParseAddr("2001:db8:1:3::7")
	onEach(t, func(t *testing.T, w *world) {
		p := &gormstore.Places{DB: w.DB, Key: []byte("secret")}
		ada, bob := w.user(t, "ada"), w.user(t, "bob")
		knows := func(what string, want bool, a throttle.Attempt) {
			t.Helper()
			if got, err := p.Knows(t.Context(), a); got != want || err != nil {
				t.Errorf("%s: known %v, %v", what, got, err)
			}
		}
		knows("before any login", false, throttle.Attempt{Account: "ada", Address: home})
		for range 3 {
			if _, err := p.Remember(t.Context(), ada, home); err != nil {
				t.Fatal(err)
			}
		}
		knows("where she was", true, throttle.Attempt{Account: "ada", Address: home})
		knows("her neighbour in the same network", true, throttle.Attempt{Account: "ada", Address: netip.MustParseAddr("2001:db8:1:2::8")})
		knows("elsewhere", false, throttle.Attempt{Account: "ada", Address: away})
		knows("another user there", false, throttle.Attempt{Account: "bob", Address: home})
		knows("nobody", false, throttle.Attempt{Account: "eve", Address: home})
		knows("a name with a space", false, throttle.Attempt{Account: "ada ", Address: home})

		hash := w.begin(t, bob).Hash
		knows("her device", true, throttle.Attempt{Account: "bob", Address: away, Device: hash[:]})
		knows("his device with her name", false, throttle.Attempt{Account: "ada", Address: away, Device: hash[:]})
		w.begin(t, bob)
		knows("the token of the login before", true, throttle.Attempt{Account: "bob", Address: away, Device: hash[:]})
		w.begin(t, bob)
		knows("one before that", false, throttle.Attempt{Account: "bob", Address: away, Device: hash[:]})
		knows("an empty proof of somebody who never logged in", false, throttle.Attempt{Account: "ada", Address: away, Device: []byte{}})

		w.exec(t, "UPDATE known_places SET seen_at = seen_at - 91 * 86400000")
		knows("91 days later", false, throttle.Attempt{Account: "ada", Address: home})
		if _, err := p.Remember(t.Context(), ada, home); err != nil {
			t.Fatal(err)
		}
		knows("back after 91 days", true, throttle.Attempt{Account: "ada", Address: home})

		for i := range 50 {
			w.exec(t, "UPDATE known_places SET seen_at = seen_at - 1000")
			if _, err := p.Remember(t.Context(), ada, netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})); err != nil {
				t.Fatal(err)
			}
		}
		if n := w.number(t, "SELECT COUNT(*) FROM known_places"); n != 20 {
			t.Errorf("%d places are kept, want 20", n)
		}
		knows("the newest of fifty", true, throttle.Attempt{Account: "ada", Address: netip.MustParseAddr("192.0.2.49")})
		knows("the oldest of fifty", false, throttle.Attempt{Account: "ada", Address: netip.MustParseAddr("192.0.2.0")})
		if n := w.number(t, "SELECT COUNT(*) FROM known_places WHERE user_id <> "+ada.String()); n != 0 {
			t.Errorf("%d places of others", n)
		}
	})
}
