package session_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

func TestCloseIsWrittenBeforeItIsTold(t *testing.T) {
	w := newWorld(t)
	if _, err := w.service.Close(t.Context(), w.token); err != nil {
		t.Fatal(err)
	}
	w.wantCalls(t, "End near.Hear ")
	if w.near.heard.ID != session.IDOf(w.token) || w.near.heard.Ended != session.LoggedOut || w.near.heard.UserID != 42 {
		t.Errorf("heard %+v, want the session, logged out", w.near.heard)
	}
}

// Whoever closes for another reason keeps the same order: written, then told,
// with that reason.
func TestCloseAsIsACloseForAnotherReason(t *testing.T) {
	w := newWorld(t)
	recorded := 0
	end := func(ctx context.Context, e session.Ending) (session.Session, error) {
		recorded++
		return w.book.End(ctx, e)
	}
	ended, err := w.service.CloseAs(t.Context(), w.token, session.Revoked, end)
	if err != nil || ended.Ended != session.Revoked || ended.Before || recorded != 1 {
		t.Fatalf("CloseAs: %+v, %v, recorded %d times", ended, err, recorded)
	}
	w.wantCalls(t, "End near.Hear ")
	if w.near.heard.ID != session.IDOf(w.token) || w.near.heard.Ended != session.Revoked {
		t.Errorf("heard %+v, want the session, revoked", w.near.heard)
	}
}

func TestCloseTwiceSaysTheSameAndTellsAgain(t *testing.T) {
	w := newWorld(t)
	for range 2 {
		w.near.heard = session.Session{}
		if _, err := w.service.Close(t.Context(), w.token); err != nil {
			t.Fatal(err)
		}
		if w.near.heard.Ended != session.LoggedOut {
			t.Errorf("heard %q, want logged out, each time", w.near.heard.Ended)
		}
	}
	w.wantCalls(t, "End near.Hear End near.Hear ")
}

func TestCloseOfAnEndedSessionTellsWhyItEnded(t *testing.T) {
	w := newWorld(t)
	w.book.s.Ended = session.Replaced
	if _, err := w.service.Close(t.Context(), w.token); err != nil {
		t.Fatal(err)
	}
	if w.near.heard.Ended != session.Replaced {
		t.Errorf("heard %q, want replaced: nobody knows whether that was told", w.near.heard.Ended)
	}
}

// The book knows only the last login that ended. One before that may still be
// alive in a memory that has not heard.
func TestCloseOfALoginThatOnlyAMemoryStillBelieves(t *testing.T) {
	w := newWorld(t)
	w.book.s = session.Session{}
	ended, err := w.service.Close(t.Context(), w.token)
	if err != nil || ended.ID != session.IDOf(w.token) || !ended.Before {
		t.Fatalf("Close: %+v, %v", ended, err)
	}
	w.wantCalls(t, "End near.Get near.Hear ")
	if w.near.heard.ID != session.IDOf(w.token) || w.near.heard.Ended != session.Replaced || w.near.heard.UserID != 42 {
		t.Errorf("heard %+v, want the session, replaced", w.near.heard)
	}
	w.near.s.Ended, w.near.heard = session.Replaced, session.Session{}
	if _, err := w.service.Close(t.Context(), w.token); err != nil || w.near.heard.ID != 0 {
		t.Errorf("Close of what is known to be over: %v, heard %+v; want nothing told", err, w.near.heard)
	}
	w.near.err = errors.New("no route") // then nobody knows, and nobody says that it is done
	if _, err := w.service.Close(t.Context(), w.token); !errors.Is(err, w.near.err) {
		t.Errorf("Close: %v, want undecided", err)
	}
}

func TestCloseOfWhatIsNobodysSucceedsAndTellsNothing(t *testing.T) {
	w := newWorld(t)
	for _, token := range []flakepass.Token{
		flakepass.NewToken(w.token.ID()),     // a wrong secret
		flakepass.NewToken(w.token.ID() + 1), // unknown
	} {
		if _, err := w.service.Close(t.Context(), token); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	w.wantCalls(t, "End near.Get End near.Get ")
	if !w.book.s.Alive() {
		t.Error("a guess ended the login")
	}
}

func TestCloseThatCouldNotBeWrittenFailsAndTellsNobody(t *testing.T) {
	w := newWorld(t)
	down := errors.New("no route")
	w.book.err = down
	if _, err := w.service.Close(t.Context(), w.token); !errors.Is(err, down) {
		t.Errorf("Close: %v, want what the book said", err)
	}
	w.wantCalls(t, "End ")
}

func TestUntoldPassesThroughClose(t *testing.T) {
	w := newWorld(t)
	w.near.hearErr = fmt.Errorf("redis: %w", session.ErrUntold)
	if _, err := w.service.Close(t.Context(), w.token); !errors.Is(err, session.ErrUntold) {
		t.Errorf("Close: %v, want ErrUntold", err)
	}
	// Told again, it is over.
	w.near.hearErr = nil
	if _, err := w.service.Close(t.Context(), w.token); err != nil {
		t.Errorf("Close, tried again: %v", err)
	}
}

func TestOpenReturnsTheTokenThatWasKept(t *testing.T) {
	w := newWorld(t)
	opened, err := w.service.Open(t.Context(), 42, 7)
	if err != nil {
		t.Fatal(err)
	}
	if o := w.book.opening; o.UserID != 42 || o.PasswordVersion != 7 || !o.Seen.Equal(w.now) {
		t.Errorf("asked the book for %+v", o)
	}
	// The book minted twice; only the last token opens what it keeps.
	id, hash, err := w.book.opening.Mint(t.Context(), 0)
	if err != nil || id == 0 || hash == session.HashOf(opened.Token) {
		t.Fatalf("a token made later has the same hash (%v)", err)
	}
	who := opened.Identity
	if opened.Token.ID() != who.SessionID || who.SessionID <= w.token.ID() {
		t.Errorf("token %v, identity %v; want the same, above %v", opened.Token.ID(), who.SessionID, w.token.ID())
	}
	issued := who.SessionID.Time()
	want := flakepass.Identity{
		UserID: 42, Username: "ada", Role: "user", SessionID: who.SessionID, IssuedAt: issued, LastSeenAt: w.now,
		ExpiresAt: issued.Add(w.rule().Absolute), IdleExpiresAt: w.now.Add(w.rule().Idle),
	}
	if who != want {
		t.Errorf("got  %+v\nwant %+v", who, want)
	}
}

func TestOpenedTokenOpensItsSession(t *testing.T) {
	w := newWorld(t)
	var kept session.Hash
	w.service.Book = keeper{w.book, &kept}
	opened, err := w.service.Open(t.Context(), 42, 1)
	if err != nil {
		t.Fatal(err)
	}
	if kept != session.HashOf(opened.Token) {
		t.Error("the token that was returned is not the one whose hash was kept")
	}
}

// TestOpenTriesAnotherIDTheSecondTime: the first may have been why the book
// tried again, or too small.
func TestOpenTriesAnotherIDTheSecondTime(t *testing.T) {
	for _, ahead := range []time.Duration{-time.Hour, 0, time.Second} { // of the user's last ID
		w := newWorld(t)
		w.service.IDs = &counter{next: idworker.Default().Smallest(w.now)}
		w.book.s.ID = idworker.Default().Smallest(w.now.Add(ahead))
		if _, err := w.service.Open(t.Context(), 42, 1); err != nil {
			t.Fatal(err)
		}
		first, second := w.book.minted[0], w.book.minted[1]
		if first <= w.book.s.ID || second <= first {
			t.Errorf("last ID %v, then %v and %v; want them to grow", w.book.s.ID, first, second)
		}
	}
}

func TestOpenTellsOfTheOneItReplaced(t *testing.T) {
	w := newWorld(t)
	if _, err := w.service.Open(t.Context(), 42, 1); err != nil {
		t.Fatal(err)
	}
	w.wantCalls(t, "Begin near.Hear ")
	if w.near.heard.ID != session.IDOf(w.token) || w.near.heard.Ended != session.Replaced {
		t.Errorf("heard %v, ended %q; want %v, replaced", w.near.heard.ID, w.near.heard.Ended, session.IDOf(w.token))
	}

	w = newWorld(t)
	w.book.s = session.Session{} // the user's first login
	if _, err := w.service.Open(t.Context(), 42, 1); err != nil {
		t.Fatal(err)
	}
	w.wantCalls(t, "Begin ")
}

func TestOpenDoesNotFailBecauseOthersCannotBeTold(t *testing.T) {
	w := newWorld(t)
	w.near.hearErr = session.ErrUntold
	if opened, err := w.service.Open(t.Context(), 42, 1); err != nil || opened.Token.IsZero() {
		t.Errorf("Open: %v, token %v", err, opened.Token)
	}
}

// Whoever writes a log of logouts must not take a stranger's word for one.
func TestCloseReportsWhetherTheTokenWasOne(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		token         flakepass.Token
		found, before bool
	}{
		{w.token, true, false},
		{w.token, true, true}, // ended by now
		{flakepass.NewToken(w.token.ID()), false, false},
		{flakepass.NewToken(w.token.ID() + 1), false, false},
	} {
		ended, err := w.service.Close(t.Context(), c.token)
		if found := ended.ID == session.IDOf(w.token); found != c.found || ended.Before != c.before || err != nil {
			t.Errorf("Close = %v, ended before: %v, %v; want it found: %v, ended before: %v", ended.ID, ended.Before, err, c.found, c.before)
		}
	}
}

func TestOpenFailsWithWhatTheBookSays(t *testing.T) {
	w := newWorld(t)
	stale := errors.New("stale")
	w.book.err = stale
	if opened, err := w.service.Open(t.Context(), 42, 1); !errors.Is(err, stale) || !opened.Token.IsZero() {
		t.Errorf("Open: %v, token %v; want what the book said and no token", err, opened.Token)
	}
	w = newWorld(t)
	w.service.IDs = minter{}
	if opened, err := w.service.Open(t.Context(), 42, 1); !errors.Is(err, errNoID) || !opened.Token.IsZero() {
		t.Errorf("Open without an ID: %v, token %v", err, opened.Token)
	}
	w.wantCalls(t, "") // no row is locked while an ID is waited for
}

func TestErrorsShowNoToken(t *testing.T) {
	w := newWorld(t)
	w.near.err = errors.New("no route")
	w.book.err = w.near.err
	_, err := w.service.Verify(t.Context(), w.token)
	_, closing := w.service.Close(t.Context(), w.token)
	for _, err := range []error{err, closing} {
		if err == nil || strings.Contains(fmt.Sprintf("%+v", err), w.token.Reveal()[14:40]) {
			t.Errorf("error %v: want one without the secret", err)
		}
	}
}

func TestHashIsVersionedAndOfTheWholeText(t *testing.T) {
	id := flakepass.ID(1 << 40)
	a, b := flakepass.NewToken(id), flakepass.NewToken(id)
	ha, again, hb := session.HashOf(a), session.HashOf(a), session.HashOf(b)
	if !ha.Equal(&again) || ha.Equal(&hb) || ha[0] != 1 {
		t.Errorf("hashes %x, %x and %x of two tokens", ha, again, hb)
	}
}

func TestAgeIsWhicheverClockSaysMore(t *testing.T) {
	asOf := time.Now()
	for _, c := range []struct{ ran, wall, want time.Duration }{
		{time.Second, time.Second, time.Second},
		{time.Second, time.Hour, time.Hour},    // the machine slept, or its clock was set forward
		{time.Second, -time.Hour, time.Second}, // set back
		{0, 0, 0},
	} {
		now := setWall(t, asOf.Add(c.ran), c.wall-c.ran)
		if got := session.Age(now, asOf); got != c.want {
			t.Errorf("%v by the clock that ran on, %v on the wall: age %v, want %v", c.ran, c.wall, got, c.want)
		}
	}
	// From another process: there is only the wall.
	if got := session.Age(asOf.Add(time.Minute), asOf.Round(0)); got != time.Minute {
		t.Errorf("Age by the wall: %v, want 1m", got)
	}
}

// setWall is at with the clock on the wall set by step, in whole seconds, and
// its monotonic reading as it was. No function of package time makes that.
func setWall(t *testing.T, at time.Time, step time.Duration) time.Time {
	t.Helper()
	type layout struct { // of time.Time with a monotonic reading
		wall uint64 // 1 bit of flag, 33 of seconds, 30 of nanoseconds
		ext  int64
		loc  *time.Location
	}
	moved := at
	(*layout)(unsafe.Pointer(&moved)).wall += uint64(int64(step/time.Second)) << 30
	if moved.Sub(at) != 0 || moved.Round(0).Sub(at.Round(0)) != step {
		t.Fatal("time.Time is laid out in another way now")
	}
	return moved
}

// What had expired or was idle is ended for good, and is nobody's logout.
func TestCloseOfAnIdleSessionSaysThatItWasOver(t *testing.T) {
	w := newWorld(t)
	w.book.s.Seen = w.now.Add(-w.rule().Idle - time.Hour)
	ended, err := w.service.Close(t.Context(), w.token)
	if err != nil || !ended.Before || ended.Ended != session.Idle {
		t.Errorf("Close = %q, before: %v, %v; want idle, before", ended.Ended, ended.Before, err)
	}
	if w.book.s.Alive() {
		t.Error("it was not ended for good")
	}
}
