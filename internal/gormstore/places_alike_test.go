//go:build unix

package gormstore_test

import (
	"net/netip"
	"testing"

	"github.com/flakepass/flakepass/internal/gormstore"
	"github.com/flakepass/flakepass/internal/throttle"
)

// Who has used up what there is for a name learns from the time of the refusal
// not whether somebody has it: the same is asked.
func TestNameThatNobodyHasIsAskedAboutAlike(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.user(t, "ada")
		p, spy := &gormstore.Places{DB: w.DB, Key: []byte("secret")}, w.spy(t)
		asked := map[string]int{}
		for _, name := range []string{"ada", "eve"} {
			for _, from := range []netip.Addr{netip.MustParseAddr("192.0.2.1"), {}} {
				if known, err := p.Knows(t.Context(), throttle.Attempt{Account: name, Address: from, Device: []byte("x")}); known || err != nil {
					t.Fatalf("%s: %v, %v", name, known, err)
				}
				asked[name] = 10*asked[name] + len(spy.take())
			}
		}
		if asked["ada"] != asked["eve"] || asked["ada"] == 0 {
			t.Errorf("questions about each: %v", asked)
		}
	})
}
