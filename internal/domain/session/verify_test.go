package session_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// What a poll has proven to be too old is refused without I/O, and nothing else
// is: what only looks too old by the policy that is known here may live by a
// longer one that is not.
func TestOnlyWhatIsProvenTooOldIsRefusedWithoutAsking(t *testing.T) {
	w := newWorld(t)
	rule := w.service.Policy.Current()
	w.known.watermark = w.now.Add(-rule.Absolute)
	for _, age := range []time.Duration{rule.Absolute, rule.Absolute + time.Millisecond, 10 * rule.Absolute} {
		token := flakepass.NewToken(flakepass.ID(idworker.Default().Smallest(w.now.Add(-age))))
		_, err := w.service.Verify(t.Context(), token)
		refusedWith(t, err, flakepass.ErrExpired)
	}
	w.wantCalls(t, "")
	// One millisecond younger: a store has to answer.
	_, err := w.service.Verify(t.Context(), flakepass.NewToken(flakepass.ID(idworker.Default().Smallest(w.now.Add(-rule.Absolute+time.Millisecond)))))
	refusedWith(t, err, flakepass.ErrInvalid)
	w.wantCalls(t, "near.Get ")
}

// The policy that is known here says that the login is too old. Its row decides.
func TestTooOldByAPolicyThatIsNotProvenIsSettled(t *testing.T) {
	w := newWorld(t)
	short := *w.rule()
	short.Absolute = time.Hour
	w.service.Policy = policy.Fixed(short)
	_, err := w.service.Verify(t.Context(), w.token)
	refusedWith(t, err, flakepass.ErrExpired)
	w.wantCalls(t, "near.Get truth.Settle ")
	if len(w.settled) != 1 || w.settled[0].Ended != session.Expired {
		t.Errorf("reported as settled: %+v, want the session, expired", w.settled)
	}

	w = newWorld(t) // it lives by a longer one
	w.truth.world = newWorld(t)
	w.service.Policy = policy.Fixed(short)
	if _, err := w.service.Verify(t.Context(), w.token); err != nil {
		t.Errorf("alive by the policy in force: %v", err)
	}

	w = newWorld(t) // no store can answer
	w.service.Policy = policy.Fixed(short)
	w.truth.err = session.ErrUnsettled
	_, err = w.service.Verify(t.Context(), w.token)
	undecided(t, err, session.ErrUnsettled)
}

// A logout that says "it was over already" is a promise about all instances.
func TestLogoutAlwaysAsksTheDatabase(t *testing.T) {
	w := newWorld(t)
	w.known.watermark = w.now
	w.known.floor = session.IDOf(w.token)
	if _, err := w.service.Close(t.Context(), ada, w.token); err != nil {
		t.Fatal(err)
	}
	w.wantCalls(t, "End near.Publish ")
}

func TestNothingIsDecidedBeforeTheFirstPoll(t *testing.T) {
	w := newWorld(t)
	w.known.clock = time.Time{}
	if _, err := w.service.Verify(t.Context(), w.token); err == nil {
		t.Error("Verify decides without a clock")
	} else if _, ok := errors.AsType[*flakepass.Refusal](err); ok {
		t.Errorf("Verify: %v, want no refusal", err)
	}
	if _, err := w.service.Open(t.Context(), ada, 42, 1, nil, session.Place{}); err == nil {
		t.Error("Open makes a login without a clock")
	}
}

func TestNoTokenIsRefusedWithoutAskingAnybody(t *testing.T) {
	w := newWorld(t)
	_, err := w.service.Verify(t.Context(), flakepass.Token{})
	if _, ok := errors.AsType[*flakepass.Refusal](err); !ok {
		t.Errorf("Verify of no token: %v, want a refusal", err)
	}
	if _, err := w.service.Close(t.Context(), ada, flakepass.Token{}); err != nil {
		t.Errorf("Close of no token: %v", err)
	}
	w.wantCalls(t, "")
}

func TestMalformedNeverBecomesAToken(t *testing.T) {
	w := newWorld(t)
	text := w.token.Reveal()
	for _, bad := range []string{"", text[1:], text + "0", "fp_" + text[4:] + "0", text[:len(text)-1] + "?"} {
		if _, err := flakepass.ParseToken(bad); !errors.Is(err, flakepass.ErrMalformed) {
			t.Errorf("ParseToken(%q): %v, want ErrMalformed", bad, err)
		}
	}
}

func TestIdentityHasAllItsFields(t *testing.T) {
	w := newWorld(t)
	seen := w.now.Add(-30 * time.Second).In(time.FixedZone("elsewhere", 3600))
	w.near.change(func(s *session.Session) { s.Seen, s.Device = seen, session.DeviceOf("phone", "Ada’s phone") })
	got, err := w.service.Verify(t.Context(), w.token)
	if err != nil {
		t.Fatal(err)
	}
	rule, issued := w.service.Policy.Current(), w.issued()
	want := flakepass.Identity{
		UserID: 42, Username: "ada", Role: "user", SessionID: w.token.ID(), DeviceClass: "phone", AuthMethod: session.PasswordMethod, AuthTime: issued, IssuedAt: issued, LastSeenAt: seen.UTC(),
		ExpiresAt: issued.Add(rule.Absolute), IdleExpiresAt: seen.Add(rule.Idle).UTC(),
	}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	w.wantCalls(t, "near.Get ")
	proven := session.Auth{Method: "oidc:apple", At: issued.Add(-time.Hour)}
	w.near.change(func(s *session.Session) { s.Auth = &proven })
	want.AuthMethod, want.AuthTime = proven.Method, proven.At
	if got, err := w.service.Verify(t.Context(), w.token); err != nil || got != want {
		t.Errorf("of an issuer: %+v, %v", got, err)
	}
}

func TestWrongSecretLearnsNothing(t *testing.T) {
	for _, why := range append([]session.Reason{""}, reasons...) {
		w := newWorld(t)
		w.near.change(func(s *session.Session) { s.Ended = why })
		guess := flakepass.NewToken(w.token.ID())
		_, err := w.service.Verify(t.Context(), guess)
		refusedWith(t, err, flakepass.ErrInvalid)
		w.wantCalls(t, "near.Get ")
	}
	// Nor when the session is idle, by the near store or by the truth.
	w := newWorld(t)
	w.near.change(func(s *session.Session) { s.Seen = w.now.Add(-365 * 24 * time.Hour) })
	_, err := w.service.Verify(t.Context(), flakepass.NewToken(w.token.ID()))
	refusedWith(t, err, flakepass.ErrInvalid)
	w.truth.change(func(s *session.Session) { s.Hash[3]++; s.Ended = session.Revoked })
	_, err = w.service.Verify(t.Context(), w.token)
	refusedWith(t, err, flakepass.ErrInvalid)
}

func TestEachReasonHasItsRefusal(t *testing.T) {
	for why, want := range map[session.Reason]*flakepass.Refusal{
		session.LoggedOut:       flakepass.ErrLoggedOut,
		session.Replaced:        flakepass.ErrReplaced,
		session.Revoked:         flakepass.ErrRevoked,
		session.PasswordChanged: flakepass.ErrRevoked,
		session.Disabled:        flakepass.ErrAccountDisabled,
		session.Expired:         flakepass.ErrExpired,
		session.Idle:            flakepass.ErrIdle,
		"of a later release":    flakepass.ErrRevoked,
	} {
		w := newWorld(t)
		w.near.change(func(s *session.Session) { s.Ended = why })
		_, err := w.service.Verify(t.Context(), w.token)
		refusedWith(t, err, want)
		w.wantCalls(t, "near.Get ") // no touch
	}
}

func TestUnknownIsInvalid(t *testing.T) {
	w := newWorld(t)
	w.near.err = session.ErrNotFound
	_, err := w.service.Verify(t.Context(), w.token)
	refusedWith(t, err, flakepass.ErrInvalid)
}

func TestUndecidedIsNoRefusal(t *testing.T) {
	down := errors.New("no route")
	w := newWorld(t)
	w.near.err = down
	_, err := w.service.Verify(t.Context(), w.token)
	undecided(t, err, down)
	w.wantCalls(t, "near.Get ")

	w = newWorld(t) // idle by the near store, and the truth cannot be asked
	w.near.change(func(s *session.Session) { s.Seen = w.now.Add(-365 * 24 * time.Hour) })
	w.truth.err = down
	_, err = w.service.Verify(t.Context(), w.token)
	undecided(t, err, down)
	w.wantCalls(t, "near.Get truth.Settle ")

	w = newWorld(t)
	w.near.err = context.DeadlineExceeded
	_, err = w.service.Verify(t.Context(), w.token)
	undecided(t, err, context.DeadlineExceeded)
}

func TestIdleByAMemoryButSeenSinceIsAccepted(t *testing.T) {
	w := newWorld(t)
	w.near.change(func(s *session.Session) { s.Seen = w.now.Add(-w.rule().Idle) })
	w.truth.change(func(s *session.Session) { s.Seen = w.now.Add(-time.Second) })
	got, err := w.service.Verify(t.Context(), w.token)
	if err != nil || !got.LastSeenAt.Equal(w.now.Add(-time.Second)) {
		t.Errorf("Verify: seen %v, error %v; want what the row says", got.LastSeenAt, err)
	}
	w.wantCalls(t, "near.Get truth.Settle ")
	if len(w.settled) != 1 || !w.settled[0].Seen.Equal(w.now.Add(-time.Second)) {
		t.Errorf("reported as settled: %+v, want what the row says", w.settled)
	}
}

func TestIdleInTruthIsRefused(t *testing.T) {
	w := newWorld(t)
	idle := w.now.Add(-w.rule().Idle)
	w.near.change(func(s *session.Session) { s.Seen = idle })
	w.truth.change(func(s *session.Session) { s.Seen = idle })
	_, err := w.service.Verify(t.Context(), w.token)
	refusedWith(t, err, flakepass.ErrIdle)
	w.wantCalls(t, "near.Get truth.Settle ") // no touch: nothing is revived
	if len(w.settled) != 1 || w.settled[0].Ended != session.Idle {
		t.Errorf("reported as settled: %+v, want the session, idle", w.settled)
	}

	w.near.change(func(s *session.Session) { s.Seen = idle.Add(time.Millisecond) })
	w.truth.change(func(s *session.Session) { s.Seen = idle.Add(time.Millisecond) })
	if _, err := w.service.Verify(t.Context(), w.token); err != nil {
		t.Errorf("a millisecond before it is idle: %v", err)
	}
}

// A use in the last seconds before the timeout is not left to a write behind,
// which would find the login idle by then.
func TestUseJustBeforeTheTimeoutIsWrittenBeforeItIsAnswered(t *testing.T) {
	for _, c := range []struct {
		left  time.Duration
		calls string
	}{
		{time.Millisecond, "near.Get truth.Settle "},
		{5 * time.Second, "near.Get truth.Settle "},
		{5*time.Second + time.Millisecond, "near.Get near.Touch "},
	} {
		w := newWorld(t)
		for _, s := range []*store{w.near, &w.truth.store} {
			s.change(func(s *session.Session) { s.Seen = w.now.Add(c.left - w.rule().Idle) })
		}
		got, err := w.service.Verify(t.Context(), w.token)
		if err != nil {
			t.Fatal(err)
		}
		w.wantCalls(t, c.calls)
		want := w.near.s.Seen // only what the row says is returned
		if c.left <= 5*time.Second {
			want = w.now
		}
		if !got.IdleExpiresAt.Equal(want.Add(w.rule().Idle)) {
			t.Errorf("%v left: idle at %v, want %v", c.left, got.IdleExpiresAt, want.Add(w.rule().Idle))
		}
	}
}

// With the shortest timeout there is less room than a long bound asks for.
func TestNearTheEndIsAtMostHalfOfTheTimeout(t *testing.T) {
	w := newWorld(t)
	w.service.Near = time.Hour
	short := *w.rule()
	short.Idle = policy.MinIdle
	w.service.Policy = policy.Fixed(short)
	w.near.change(func(s *session.Session) { s.Seen = w.now.Add(time.Second - short.Idle/2) })
	if _, err := w.service.Verify(t.Context(), w.token); err != nil {
		t.Fatal(err)
	}
	w.wantCalls(t, "near.Get near.Touch ")
}

// A sweep may have been faster than the use: the row is cleared, and nothing
// here has received it.
func TestUseJustBeforeTheTimeoutIsRefusedIfTheSweepWasFaster(t *testing.T) {
	w := newWorld(t)
	w.near.change(func(s *session.Session) { s.Seen = w.now.Add(time.Second - w.rule().Idle) })
	w.truth.change(func(s *session.Session) { s.Ended = session.Idle })
	_, err := w.service.Verify(t.Context(), w.token)
	refusedWith(t, err, flakepass.ErrIdle)
	w.wantCalls(t, "near.Get truth.Settle ")
}

// What is remembered of it must not answer again when a longer timeout comes.
func TestLoginThatNoRowKnowsAnyMoreIsForgotten(t *testing.T) {
	w := newWorld(t)
	w.near.s.Seen = w.now.Add(-w.rule().Idle)
	w.truth.err = session.ErrNotFound
	if _, err := w.service.Verify(t.Context(), w.token); !errors.Is(err, flakepass.ErrReplaced) {
		t.Errorf("Verify: %v, want %v", err, flakepass.ErrReplaced)
	}
	if len(w.settled) != 1 || w.settled[0].Ended != session.Replaced || w.settled[0].UserID != 42 {
		t.Errorf("memory got %+v, want that the login has ended", w.settled)
	}
}

func TestGlobalFloorIsRefusedWithoutAskingAnybody(t *testing.T) {
	w := newWorld(t)
	w.known.floor = session.IDOf(w.token)
	_, err := w.service.Verify(t.Context(), w.token)
	refusedWith(t, err, flakepass.ErrRevoked)
	w.wantCalls(t, "")
	w.known.floor = idworker.ID(w.token.ID() - 1)
	if _, err := w.service.Verify(t.Context(), w.token); err != nil {
		t.Errorf("above the floor: %v", err)
	}
}

// What the instance learns while it asks counts: the answer may rely on a poll
// that brought it.
func TestRulesAreThoseOfTheAnswerNotOfTheQuestion(t *testing.T) {
	w := newWorld(t)
	w.known.late = func() {
		if w.calls.Len() > 0 {
			w.known.floor = session.IDOf(w.token)
		}
	}
	_, err := w.service.Verify(t.Context(), w.token)
	refusedWith(t, err, flakepass.ErrRevoked)
	w.wantCalls(t, "near.Get ")

	w = newWorld(t)
	short := *w.rule()
	short.Absolute = time.Hour
	w.service.Policy = &latePolicy{world: w, before: *w.rule(), after: short}
	_, err = w.service.Verify(t.Context(), w.token)
	refusedWith(t, err, flakepass.ErrExpired)
	w.wantCalls(t, "near.Get truth.Settle ")
}

func TestAcceptsSayWhatTheyRelyOn(t *testing.T) {
	w := newWorld(t)
	horizon := w.now.Add(-time.Second)
	w.near.change(func(s *session.Session) { s.Source, s.Horizon = session.FromMemory, horizon })
	var seen []session.Accept
	w.service.Accepted = func(s session.Accept) { seen = append(seen, s) }
	if _, err := w.service.Verify(t.Context(), w.token); err != nil {
		t.Fatal(err)
	}
	if _, err := w.service.Verify(t.Context(), flakepass.NewToken(w.token.ID())); err == nil {
		t.Fatal("a guess was accepted")
	}
	want := session.Accept{ID: session.IDOf(w.token), At: w.now, Source: session.FromMemory, AsOf: w.now, Horizon: horizon}
	if len(seen) != 1 || seen[0] != want {
		t.Errorf("accepts: %+v, want %+v", seen, want)
	}
}

func TestReasonOfTheEndComesFromTheRow(t *testing.T) {
	w := newWorld(t)
	w.near.change(func(s *session.Session) { s.Seen = w.now.Add(-w.rule().Idle) })
	w.truth.change(func(s *session.Session) { s.Ended = session.LoggedOut })
	_, err := w.service.Verify(t.Context(), w.token)
	refusedWith(t, err, flakepass.ErrLoggedOut)
}

func TestTouchOnlyOnceTheIntervalHasPassed(t *testing.T) {
	for _, c := range []struct {
		since time.Duration
		calls string
	}{
		{-time.Hour, "near.Get "}, // another instance's clock is ahead
		{0, "near.Get "},
		{time.Minute - time.Millisecond, "near.Get "},
		{time.Minute, "near.Get near.Touch "},
		{time.Hour, "near.Get near.Touch "},
	} {
		w := newWorld(t)
		w.near.change(func(s *session.Session) { s.Seen = w.now.Add(-c.since) })
		w.near.touchErr = errors.New("a touch that fails costs no answer")
		got, err := w.service.Verify(t.Context(), w.token)
		if err != nil {
			t.Fatal(err)
		}
		w.wantCalls(t, c.calls)
		want := w.now.Add(-c.since) // as the row says, which may refuse the use
		if c.since >= time.Minute && !w.near.touched.Equal(w.now) {
			t.Errorf("touched at %v, want %v", w.near.touched, w.now)
		}
		if !got.LastSeenAt.Equal(want) {
			t.Errorf("seen %v ago: identity says %v, want %v", c.since, got.LastSeenAt, want)
		}
	}
}

func TestShorterTimeoutActsAtOnce(t *testing.T) {
	w := newWorld(t)
	w.near.change(func(s *session.Session) { s.Seen = w.now.Add(-time.Hour) })
	w.truth.change(func(s *session.Session) { s.Seen = w.now.Add(-time.Hour) })
	if _, err := w.service.Verify(t.Context(), w.token); err != nil {
		t.Fatal(err)
	}
	short := *w.rule()
	short.Idle = 10 * time.Minute
	w.service.Policy = policy.Fixed(short)
	_, err := w.service.Verify(t.Context(), w.token)
	refusedWith(t, err, flakepass.ErrIdle)
	// Longer again, as an operator's edit leaves it: the base has moved up.
	long := *w.rule()
	long.Idle, long.IdleBase = 24*time.Hour, short.For("", "").OldestSeen(w.now)
	w.service.Policy = policy.Fixed(long)
	_, err = w.service.Verify(t.Context(), w.token)
	refusedWith(t, err, flakepass.ErrIdle)
}

func refusedWith(t *testing.T, err error, want *flakepass.Refusal) {
	t.Helper()
	if got, ok := errors.AsType[*flakepass.Refusal](err); !ok || got != want {
		t.Errorf("got %v, want the refusal %s", err, want.Code())
	}
}

func undecided(t *testing.T, err, want error) {
	t.Helper()
	if _, ok := errors.AsType[*flakepass.Refusal](err); ok || !errors.Is(err, want) {
		t.Errorf("got %v, want %v, which is no refusal", err, want)
	}
}
