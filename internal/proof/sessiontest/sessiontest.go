// Package sessiontest holds every store of sessions, and every stack of tiers,
// to the same promises.
package sessiontest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A Stack is what the promises are asked of. Several may share one database or
// one Redis.
type Stack struct {
	// Store is the top of the stack.
	Store session.Store
	// Writer is where its sessions begin and end.
	Writer session.Writer
	// AddUser adds a user of role "user", whose password has version 1, and
	// returns the user's ID and name.
	AddUser func(t *testing.T) (idworker.ID, string)
	// Settle, if set, returns when every touch so far was written.
	Settle func(t *testing.T)
}

// TestStack holds what open returns to every promise, each a subtest with a
// stack of its own.
func TestStack(t *testing.T, open func(t *testing.T) Stack) {
	for _, promise := range []struct {
		name string
		kept func(t *testing.T, w *world)
	}{
		{"UnknownIsNotFoundAndNotRemembered", unknown},
		{"BegunIsAliveWithAllItsFields", begun},
		{"SecondLoginReplacesTheFirst", replaced},
		{"EndedIsRefusedWithItsReasonForGood", ended},
		{"EndsMayArriveTwiceAndOutOfOrder", outOfOrder},
		{"EndOfAnOldSessionLeavesTheNewerAlone", oldEnd},
		{"EndWithAWrongHashChangesNothing", wrongHash},
		{"EndTwiceReturnsTheFirstReason", endTwice},
		{"EndOfAUserEndsWhateverThereIs", endUser},
		{"FailedBeginChangesNothing", failedBegin},
		{"TouchNeitherMakesNorRevives", touchNothing},
		{"TouchNeverMovesBack", touchForward},
		{"CancelledIsNotNotFound", cancelled},
		{"ValuesAreNotShared", notShared},
		{"ConcurrentUseIsSafe", concurrent},
	} {
		t.Run(promise.name, func(t *testing.T) { promise.kept(t, &world{Stack: open(t)}) })
	}
}

// A world is a stack with the users and logins of one promise.
type world struct {
	Stack
	mu   sync.Mutex
	last idworker.ID
}

// mint makes IDs as a worker would: greater than above, and none twice.
func (w *world) mint(above idworker.ID) idworker.ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := idworker.Default().Smallest(time.Now()) + idworker.ID(rand.Int64N(1<<22))
	w.last = max(id, above+1, w.last+1)
	return w.last
}

// A login is a session that began, and its token.
type login struct {
	session.Begun
	token flakepass.Token
	from  time.Time // before it began
}

func (l *login) id() idworker.ID    { return l.Session.ID }
func (l *login) hash() session.Hash { return session.HashOf(l.token) }

// bySMS is how the user of each session was authenticated, as an issuer says.
var bySMS = session.Auth{Method: "sms", At: time.UnixMilli(1795252353123).UTC()}

// begin begins a session and passes nothing on.
func (w *world) begin(ctx context.Context, user idworker.ID, seen time.Time) (login, error) {
	l := login{from: time.Now()}
	var err error
	id := w.mint(0)
	l.token = flakepass.NewToken(flakepass.ID(id))
	l.Begun, err = w.Writer.Begin(ctx, session.Opening{
		ID: id, Hash: session.HashOf(l.token), UserID: user, PasswordVersion: 1, Seen: seen,
		Device: session.DeviceOf("tablet", "the tablet of a test"), Place: session.Place{Issued: &session.Issued{Auth: bySMS}},
	})
	return l, err
}

// login begins a session and passes the one that it replaced to the store.
func (w *world) login(t *testing.T, user idworker.ID) login {
	t.Helper()
	l, err := w.begin(t.Context(), user, time.Now())
	if err != nil {
		t.Fatalf("Begin: %v", err)
	}
	w.hear(t, l.Replaced...)
	return l
}

// user adds a user who has logged in.
func (w *world) user(t *testing.T) login {
	t.Helper()
	id, _ := w.AddUser(t)
	return w.login(t, id)
}

func (w *world) end(t *testing.T, l login, why session.Reason) session.Session {
	t.Helper()
	s, err := w.Writer.End(t.Context(), session.Ending{ID: l.id(), Hash: session.HashOf(l.token), Reason: why})
	if err != nil {
		t.Fatalf("End: %v", err)
	}
	return s
}

func (w *world) hear(t *testing.T, ended ...session.Session) {
	t.Helper()
	for _, s := range ended {
		if err := w.Store.Publish(t.Context(), s); err != nil {
			t.Fatalf("Publish: %v", err)
		}
	}
}

// wantEnded asks three times, for the second answer may come from elsewhere.
func (w *world) wantEnded(t *testing.T, l login, why session.Reason) {
	t.Helper()
	for range 3 {
		got, err := w.Store.Get(t.Context(), l.id(), l.hash())
		if err != nil || got.Ended != why {
			t.Fatalf("Get of an ended session: ended %q, error %v; want ended %q", got.Ended, err, why)
		}
		if want := session.HashOf(l.token); !got.Hash.Equal(&want) {
			t.Fatal("Get of an ended session: not the hash of its token, so its holder cannot learn why")
		}
	}
}

// wantDead allows for a store that has forgotten why.
func (w *world) wantDead(t *testing.T, l login) {
	t.Helper()
	got, err := w.Store.Get(t.Context(), l.id(), l.hash())
	if (err != nil && !errors.Is(err, session.ErrNotFound)) || (err == nil && got.Alive()) {
		t.Fatalf("Get: ended %q, error %v; want it dead", got.Ended, err)
	}
}

func (w *world) wantAlive(t *testing.T, l login) session.Session {
	t.Helper()
	var got session.Session
	for range 3 {
		var err error
		if got, err = w.Store.Get(t.Context(), l.id(), l.hash()); err != nil || !got.Alive() {
			t.Fatalf("Get of a living session: ended %q, error %v", got.Ended, err)
		}
	}
	return got
}
