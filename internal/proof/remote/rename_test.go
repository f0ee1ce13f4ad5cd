//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package remote_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
)

// TestRenameIsKnownWithinTheBound: in a Remote and on every instance, whatever is lost; and
// no login ends.
func TestRenameIsKnownWithinTheBound(t *testing.T) {
	for name, trouble := range troubles() {
		for _, maxStale := range []time.Duration{0, time.Hour} {
			t.Run(fmt.Sprintf("%s, %v", name, maxStale), func(t *testing.T) {
				in(t, 3, func(t *testing.T, h *house) { showsTheName(t, h, maxStale, trouble) })
			})
		}
	}
}

func showsTheName(t *testing.T, h *house, maxStale time.Duration, trouble func(*house, *network)) {
	t.Helper()
	n := newNetwork(h.places[0])
	r := h.remote(n, func(o *flakepass.RemoteOptions) { o.MaxStale = maxStale })
	alice := h.login("alice", "user")
	asked := []flakepass.Verifier{r, h.places[0].session, h.places[1].session, h.places[2].session}
	for range 100 {
		for _, v := range asked {
			h.good(v, alice)
		}
		time.Sleep(100 * time.Millisecond)
	}
	trouble(h, n)
	h.rename(alice, "alice2") // all find out by their polls
	acknowledged := time.Now()
	var clients sync.WaitGroup
	for i, v := range asked {
		clients.Go(func() {
			for time.Since(acknowledged) < 4*remoteBound {
				began := time.Now()
				who, err := v.Verify(context.Background(), alice)
				late := began.Sub(acknowledged)
				if refusal, ok := err.(*flakepass.Refusal); ok { //nolint:errorlint // it comes as it is
					t.Errorf("%d: refused %v after the rename: %v", i, late, refusal)
					return
				}
				if err == nil && who.Username != "alice2" && late >= remoteBound {
					t.Errorf("%d: %q %v after the rename was acknowledged", i, who.Username, late)
					return
				}
				time.Sleep(time.Duration(37+13*i) * time.Millisecond)
			}
		})
	}
	clients.Wait()
}

// TestRenameIsReadOnce: the answers of after are repeated as those of before were.
func TestRenameIsReadOnce(t *testing.T) {
	in(t, 1, func(t *testing.T, h *house) {
		n := newNetwork(h.places[0])
		r := h.remote(n, nil)
		alice := h.login("alice", "user")
		use := func() (calls, reads int64) {
			before, asked := n.calls.Load(), h.truth.asked.Load()
			for range 200 {
				h.good(r, alice)
				time.Sleep(50 * time.Millisecond)
			}
			return n.calls.Load() - before, h.truth.asked.Load() - asked
		}
		use()
		h.rename(alice, "alice2")
		calls, reads := use()
		if who := h.good(r, alice); who.Username != "alice2" || calls > 25 || reads > 5 {
			t.Errorf("%q after %d calls and %d reads", who.Username, calls, reads)
		}
		if calls, reads = use(); calls > 2 || reads > 2 {
			t.Errorf("later: %d calls and %d reads", calls, reads)
		}
	})
}
