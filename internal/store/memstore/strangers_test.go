package memstore_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/memstore"
)

// guessed is the hash of a token that opens no session here.
var guessed = session.Hash{1: 0xff}

// Who knows the IDs of others, living or ended or of nobody, and not one of their secrets, gets
// answers, and leaves nothing behind.
func TestForgedSecretsDisplaceNobody(t *testing.T) {
	const held, others = 900, 20_000
	next := &fake{}
	for id := range idworker.ID(held + 2*others) {
		s := alive(id + 1)
		if id >= held+others {
			s = gone(id+1, session.LoggedOut)
		}
		s.UserID = id + 1
		next.set(s)
	}
	tier := openWith(t, next, memstore.Options{Entries: 1000, Bound: time.Hour})
	holders := func() {
		for id := range idworker.ID(held) {
			mustBe(t, tier, id+1, "")
		}
	}
	holders()
	asked := next.asked()
	for id := range idworker.ID(3 * others) {
		got, err := tier.Get(t.Context(), held+id+1, guessed)
		if unknown := id >= 2*others; unknown != errors.Is(err, session.ErrNotFound) || !unknown && (err != nil || got.Hash == guessed) {
			t.Fatalf("session %v: %v", held+id+1, err)
		}
	}
	if n := next.asked() - asked; n != 3*others {
		t.Errorf("strangers had %d questions asked, want one each", n)
	}
	asked = next.asked()
	holders()
	if lost := next.asked() - asked; lost > 0 || tier.Size() != held || tier.Tombstones() > 0 {
		t.Errorf("%d of %d sessions were displaced; %d are held, and %d ends", lost, held, tier.Size(), tier.Tombstones())
	}
}

// A holder who waits for a stranger's question gets the answer, and it is kept: also if the
// stranger leaves at once.
func TestStrangersQuestionServesTheHolder(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		for _, why := range []session.Reason{"", session.LoggedOut} {
			synctest.Test(t, func(t *testing.T) {
				next := &fake{}
				next.set(gone(7, why))
				next.holdBack(make(chan struct{}))
				tier := open(t, next)
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				go func() { _, _ = tier.Get(ctx, 7, guessed) }()
				synctest.Wait() // the question is asked
				answered := make(chan struct{})
				go func() { mustBe(t, tier, 7, why); close(answered) }()
				synctest.Wait()
				if leaves {
					leave()
					synctest.Wait()
				}
				next.mu.Lock()
				close(next.hold)
				next.hold = nil
				next.mu.Unlock()
				<-answered
				asked := next.asked()
				if asked > 2 || asked > 1 && !leaves {
					t.Errorf("%d questions, where one stranger and one holder ask", asked)
				}
				mustBe(t, tier, 7, why)
				if next.asked() != asked || tier.Size() != 1 || (tier.Tombstones() == 1) != (why != "") {
					t.Errorf("ended %q: not kept, %d sessions and %d ends", why, tier.Size(), tier.Tombstones())
				}
			})
		}
	}
}

// What is not believed for now may be believed again once a poll succeeds. No stranger has it
// forgotten meanwhile.
func TestStrangersHaveNothingForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &fake{}
		next.set(alive(7))
		tier, known := openFed(t, next)
		known.poll()
		mustBe(t, tier, 7, "")
		time.Sleep(2 * bound) //nolint:forbidigo // in a bubble: no poll has succeeded for so long
		if got, err := tier.Get(t.Context(), 7, guessed); err != nil || got.Hash == guessed {
			t.Errorf("a stranger: %v", err)
		}
		known.poll()
		mustBe(t, tier, 7, "")
		if next.asked() != 1 {
			t.Errorf("%d questions, want one", next.asked())
		}
	})
}
