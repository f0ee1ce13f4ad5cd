//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package remote_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
)

// TestRemoteQuestionEndsWithoutADeadline: however many others ask a server that hangs.
func TestRemoteQuestionEndsWithoutADeadline(t *testing.T) {
	in(t, 1, func(t *testing.T, h *house) {
		const timeout = 2 * time.Second
		n := newNetwork(h.places[0])
		r := h.remote(n, func(o *flakepass.RemoteOptions) { o.Timeout = timeout })
		all := h.people(3000)
		n.set(func(n *network) { n.out = time.Hour })
		var asking sync.WaitGroup
		var longest atomic.Int64
		for _, token := range all {
			asking.Go(func() {
				start := time.Now()
				_, err := r.Verify(context.Background(), token)
				if refused := (*flakepass.Refusal)(nil); err == nil || errors.As(err, &refused) {
					t.Errorf("%v; want an error that is no refusal", err)
				}
				for took := int64(time.Since(start)); took > longest.Load(); {
					longest.CompareAndSwap(longest.Load(), took)
				}
			})
		}
		asking.Wait()
		if took := time.Duration(longest.Load()); took > 2*timeout {
			t.Errorf("the last answer came after %v; want twice the Timeout of a call at most", took)
		}
		n.set(func(n *network) { n.out = 0 })
		time.Sleep(time.Minute)
		h.good(r, all[len(all)-1])
	})
}

// TestRemoteOutlivesACredentialThatHangs: one question for it that is never answered stops neither the stream
// nor the calls, also if it does not look at its context.
func TestRemoteOutlivesACredentialThatHangs(t *testing.T) {
	for what, obeys := range map[string]bool{"until its context ends": true, "for good": false} {
		in(t, 1, func(t *testing.T, h *house) {
			release := make(chan struct{})
			defer close(release)
			var hangs atomic.Bool
			n := newNetwork(h.places[0])
			r := h.remote(n, func(o *flakepass.RemoteOptions) {
				o.Credential = func(ctx context.Context) (flakepass.Token, error) {
					if !hangs.CompareAndSwap(true, false) {
						return h.mine(), nil
					}
					end := ctx.Done()
					if !obeys {
						end = nil
					}
					select {
					case <-release:
					case <-end:
					}
					return flakepass.Token{}, errDown
				}
			})
			time.Sleep(time.Second)
			hangs.Store(true) // for the next stream
			n.cut()
			time.Sleep(30 * time.Second)
			if streams := n.streams.Load(); streams < 2 {
				t.Errorf("%s: %d streams were asked for, want one after the one that was cut", what, streams)
			}
			hangs.Store(true) // for a call
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if _, err := r.Verify(ctx, h.login("ada", "user")); err == nil || ctx.Err() != nil {
				t.Errorf("%s: %v, %v; want an error when the call is over", what, err, ctx.Err())
			}
			h.good(r, h.login("bob", "user"))
		})
	}
}
