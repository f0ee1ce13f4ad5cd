package session_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

func TestCloseIsWrittenBeforeItIsPublished(t *testing.T) {
	w := newWorld(t)
	if _, err := w.service.Close(t.Context(), ada, w.token); err != nil {
		t.Fatal(err)
	}
	w.wantCalls(t, "End near.Publish ")
	if w.near.published.ID != session.IDOf(w.token) || w.near.published.Ended != session.LoggedOut || w.near.published.UserID != 42 {
		t.Errorf("published %+v, want the session, logged out", w.near.published)
	}
}

// A revocation keeps the same order, with its own reason, and is always on record.
func TestARevocationIsACloseForAnotherReason(t *testing.T) {
	w := newWorld(t)
	billing := audit.Actor{ID: 7, Session: 8, Name: "billing", Via: audit.ViaAPI, RequestID: "r1"}
	ended, err := w.service.Revoke(t.Context(), billing, w.token)
	if err != nil || ended.Ended != session.Revoked || ended.Before {
		t.Fatalf("Revoke: %+v, %v", ended, err)
	}
	w.wantCalls(t, "End near.Publish ")
	if w.near.published.ID != session.IDOf(w.token) || w.near.published.Ended != session.Revoked {
		t.Errorf("published %+v, want the session, revoked", w.near.published)
	}
	e, err := w.rows.ending.Event(ended)
	if err != nil || e.ID == 0 || e.By != billing || e.Need != audit.NeedsService || e.Action != audit.LoginEnded ||
		e.Target != audit.AboutLogin(ended.ID, "ada") || e.Reason != session.RevokedReason || e.Old != nil || e.New != nil {
		t.Errorf("recorded %+v, %v", e, err)
	}
	w = newWorld(t)
	w.service.EventIDs = minter{} // without a record it is none
	if _, err := w.service.Revoke(t.Context(), billing, w.token); !errors.Is(err, errNoID) || !w.rows.s.Alive() {
		t.Errorf("Revoke without an ID for its event: %v, alive %v", err, w.rows.s.Alive())
	}
}

func TestCloseTwiceSaysTheSameAndTellsAgain(t *testing.T) {
	w := newWorld(t)
	for range 2 {
		w.near.published = session.Session{}
		if _, err := w.service.Close(t.Context(), ada, w.token); err != nil {
			t.Fatal(err)
		}
		if w.near.published.Ended != session.LoggedOut {
			t.Errorf("published %q, want logged out, each time", w.near.published.Ended)
		}
	}
	w.wantCalls(t, "End near.Publish End near.Publish ")
}

func TestCloseOfAnEndedSessionTellsWhyItEnded(t *testing.T) {
	w := newWorld(t)
	w.rows.s.Ended = session.Replaced
	if _, err := w.service.Close(t.Context(), ada, w.token); err != nil {
		t.Fatal(err)
	}
	if w.near.published.Ended != session.Replaced {
		t.Errorf("published %q, want replaced: it is unknown whether that was published", w.near.published.Ended)
	}
}

// The database knows only the last login that ended. One before that may still be
// alive in a cache that has not received the end.
func TestCloseOfALoginThatOnlyACacheStillHolds(t *testing.T) {
	w := newWorld(t)
	w.rows.s, w.truth.err = session.Session{}, errors.New("this server may have been replaced")
	if _, err := w.service.Close(t.Context(), ada, w.token); !errors.Is(err, w.truth.err) || w.near.published.ID != 0 {
		t.Errorf("Close while it is not known whether there is a row: %v, published %+v", err, w.near.published)
	}
	w.truth.err = session.ErrNotFound
	w.calls.Reset()
	ended, err := w.service.Close(t.Context(), ada, w.token)
	if err != nil || ended.ID != session.IDOf(w.token) || !ended.Before {
		t.Fatalf("Close: %+v, %v", ended, err)
	}
	w.wantCalls(t, "End near.Get truth.Get near.Publish ")
	if w.near.published.ID != session.IDOf(w.token) || w.near.published.Ended != session.Replaced || w.near.published.UserID != 42 {
		t.Errorf("published %+v, want the session, replaced", w.near.published)
	}
	w.near.s.Ended, w.near.published = session.Replaced, session.Session{}
	if _, err := w.service.Close(t.Context(), ada, w.token); err != nil || w.near.published.ID != 0 {
		t.Errorf("Close of what is known to be over: %v, published %+v; want nothing published", err, w.near.published)
	}
	w.near.err = errors.New("no route") // then it is unknown, and no answer says that it is done
	if _, err := w.service.Close(t.Context(), ada, w.token); !errors.Is(err, w.near.err) {
		t.Errorf("Close: %v, want undecided", err)
	}
}

func TestCloseOfAnUnknownSessionSucceedsAndPublishesNothing(t *testing.T) {
	w := newWorld(t)
	for _, token := range []flakepass.Token{
		flakepass.NewToken(w.token.ID()),     // a wrong secret
		flakepass.NewToken(w.token.ID() + 1), // unknown
	} {
		if _, err := w.service.Close(t.Context(), ada, token); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	w.wantCalls(t, "End near.Get End near.Get ")
	if !w.rows.s.Alive() {
		t.Error("a guess ended the login")
	}
}

func TestCloseThatCouldNotBeWrittenFailsAndPublishesNothing(t *testing.T) {
	w := newWorld(t)
	down := errors.New("no route")
	w.rows.err = down
	if _, err := w.service.Close(t.Context(), ada, w.token); !errors.Is(err, down) {
		t.Errorf("Close: %v, want what the writer said", err)
	}
	w.wantCalls(t, "End ")
}

func TestErrUnpublishedPassesThroughClose(t *testing.T) {
	w := newWorld(t)
	w.near.hearErr = fmt.Errorf("redis: %w", session.ErrUnpublished)
	if _, err := w.service.Close(t.Context(), ada, w.token); !errors.Is(err, session.ErrUnpublished) {
		t.Errorf("Close: %v, want ErrUnpublished", err)
	}
	// Published again, it is over.
	w.near.hearErr = nil
	if _, err := w.service.Close(t.Context(), ada, w.token); err != nil {
		t.Errorf("Close, tried again: %v", err)
	}
}

func TestOpenReturnsTheTokenThatWasKept(t *testing.T) {
	w := newWorld(t)
	device := session.DeviceOf("tablet", "Ada’s tablet")
	opened, err := w.service.Open(t.Context(), ada, 42, 7, device, session.Place{})
	if err != nil {
		t.Fatal(err)
	}
	o := w.rows.tried[len(w.rows.tried)-1]
	if o.UserID != 42 || o.PasswordVersion != 7 || !o.Seen.Equal(w.now) || o.Record != nil || o.Device != device {
		t.Errorf("asked the writer for %+v", o)
	}
	if o.Hash != session.HashOf(opened.Token) || o.ID != session.IDOf(opened.Token) {
		t.Error("the token that was returned is not the one whose hash was kept")
	}
	who := opened.Identity
	if opened.Token.ID() != who.SessionID || who.SessionID <= w.token.ID() {
		t.Errorf("token %v, identity %v; want the same, above %v", opened.Token.ID(), who.SessionID, w.token.ID())
	}
	issued := who.SessionID.Time()
	want := flakepass.Identity{
		UserID: 42, Username: "ada", Role: "user", SessionID: who.SessionID, IssuedAt: issued, LastSeenAt: w.now,
		DeviceClass: "tablet", AuthMethod: session.PasswordMethod, AuthTime: issued, ExpiresAt: issued.Add(w.rule().Absolute), IdleExpiresAt: w.now.Add(w.rule().Idle),
	}
	if who != want {
		t.Errorf("got  %+v\nwant %+v", who, want)
	}
}

// TestOpenTriesAnotherIDWhereOneIsRefused: the first may be too small, or another's.
// The token that is returned is the one that was kept.
func TestOpenTriesAnotherIDWhereOneIsRefused(t *testing.T) {
	for _, ahead := range []time.Duration{-time.Hour, 0, time.Second} { // of the user's last ID
		for refuses := range 4 {
			w := newWorld(t)
			w.service.IDs = &counter{next: idworker.Default().Smallest(w.now)}
			w.rows.s.ID, w.rows.refuses = idworker.Default().Smallest(w.now.Add(ahead)), refuses
			opened, err := w.service.Open(t.Context(), ada, 42, 1, nil, session.Place{})
			if err != nil {
				t.Fatal(err)
			}
			last := idworker.ID(0)
			for _, o := range w.rows.tried {
				if o.ID <= last {
					t.Errorf("%v after %v; want them to grow", o.ID, last)
				}
				last = o.ID
			}
			o := w.rows.tried[len(w.rows.tried)-1]
			if o.Hash != session.HashOf(opened.Token) || o.ID <= w.rows.s.ID {
				t.Errorf("the last of %d tries was %v, after %v", len(w.rows.tried), o.ID, w.rows.s.ID)
			}
		}
	}
}

// TestOpenGivesUpWhereEveryIDIsRefused: it does not try for ever.
func TestOpenGivesUpWhereEveryIDIsRefused(t *testing.T) {
	w := newWorld(t)
	w.service.IDs = &counter{next: idworker.Default().Smallest(w.now)}
	w.rows.refuses = 1 << 20
	_, err := w.service.Open(t.Context(), ada, 42, 1, nil, session.Place{})
	if _, ok := errors.AsType[*session.IDError](err); !ok || len(w.rows.tried) > 100 {
		t.Errorf("Open: %v after %d tries", err, len(w.rows.tried))
	}
}

func TestOpenTellsOfTheOneItReplaced(t *testing.T) {
	w := newWorld(t)
	if _, err := w.service.Open(t.Context(), ada, 42, 1, nil, session.Place{}); err != nil {
		t.Fatal(err)
	}
	w.wantCalls(t, "Begin near.Publish ")
	if w.near.published.ID != session.IDOf(w.token) || w.near.published.Ended != session.Replaced {
		t.Errorf("published %v, ended %q; want %v, replaced", w.near.published.ID, w.near.published.Ended, session.IDOf(w.token))
	}

	w = newWorld(t)
	w.rows.s = session.Session{} // the user's first login
	if _, err := w.service.Open(t.Context(), ada, 42, 1, nil, session.Place{}); err != nil {
		t.Fatal(err)
	}
	w.wantCalls(t, "Begin ")
}

func TestOpenSucceedsIfTheEndCannotBePublished(t *testing.T) {
	w := newWorld(t)
	w.near.hearErr = session.ErrUnpublished
	if opened, err := w.service.Open(t.Context(), ada, 42, 1, nil, session.Place{}); err != nil || opened.Token.IsZero() {
		t.Errorf("Open: %v, token %v", err, opened.Token)
	}
}

// A log of logouts contains no logout that an unproven token asked for.
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
		ended, err := w.service.Close(t.Context(), ada, c.token)
		if found := ended.ID == session.IDOf(w.token); found != c.found || ended.Before != c.before || err != nil {
			t.Errorf("Close = %v, ended before: %v, %v; want it found: %v, ended before: %v", ended.ID, ended.Before, err, c.found, c.before)
		}
	}
}

func TestOpenFailsWithWhatTheBookSays(t *testing.T) {
	w := newWorld(t)
	stale := errors.New("stale")
	w.rows.err = stale
	if opened, err := w.service.Open(t.Context(), ada, 42, 1, nil, session.Place{}); !errors.Is(err, stale) || !opened.Token.IsZero() {
		t.Errorf("Open: %v, token %v; want what the writer said and no token", err, opened.Token)
	}
	w = newWorld(t)
	w.service.IDs = minter{}
	if opened, err := w.service.Open(t.Context(), ada, 42, 1, nil, session.Place{}); !errors.Is(err, errNoID) || !opened.Token.IsZero() {
		t.Errorf("Open without an ID: %v, token %v", err, opened.Token)
	}
	w.wantCalls(t, "") // no row is locked while an ID is waited for
}

func TestErrorsShowNoToken(t *testing.T) {
	w := newWorld(t)
	w.near.err = errors.New("no route")
	w.rows.err = w.near.err
	_, err := w.service.Verify(t.Context(), w.token)
	_, closing := w.service.Close(t.Context(), ada, w.token)
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

// What had expired or was idle is ended for good, and counts as no logout.
func TestCloseOfAnIdleSessionSaysThatItWasOver(t *testing.T) {
	w := newWorld(t)
	w.rows.s.Seen = w.now.Add(-w.rule().Idle - time.Hour)
	ended, err := w.service.Close(t.Context(), ada, w.token)
	if err != nil || !ended.Before || ended.Ended != session.Idle {
		t.Errorf("Close = %q, before: %v, %v; want idle, before", ended.Ended, ended.Before, err)
	}
	if w.rows.s.Alive() {
		t.Error("it was not ended for good")
	}
}
