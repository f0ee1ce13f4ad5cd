package redisstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/redisstore"
)

func TestAnswerIsSharedWithOtherInstances(t *testing.T) {
	server := testenv.Redis(t)
	next, silent := &fake{}, &fake{}
	want := alive(7)
	next.set(want)
	mustGet(t, open(t, server, next), 7, "")
	got := mustGet(t, open(t, server, silent), 7, "")
	if silent.asked() != 0 {
		t.Error("another instance asked its own next tier, want Redis to answer")
	}
	if got.UserID != want.UserID || got.Username != want.Username || got.Role != want.Role || got.Hash != want.Hash ||
		!got.Seen.Equal(want.Seen) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got.AsOf.After(want.AsOf) || want.AsOf.Sub(got.AsOf) > time.Millisecond {
		t.Errorf("as of %v, want %v: what Redis remembers is no younger for it", got.AsOf, want.AsOf)
	}
	if !strings.Contains(got.AsOf.String(), " m=") {
		t.Error("the as-of is by the clock on the wall only: setting that back would keep the answer young")
	}
}

func TestTombstoneIsNotOverwrittenByALateFill(t *testing.T) {
	server := testenv.Redis(t)
	next := &fake{hold: make(chan struct{}), read: make(chan struct{}, 1)}
	next.set(alive(7))
	slow, other := open(t, server, next), open(t, server, &fake{})
	filled := make(chan struct{})
	go func() {
		defer close(filled)
		_, _ = slow.Get(t.Context(), 7, hashOf(7))
	}()
	<-next.read // it knows that Redis has nothing, and was told "alive"
	if err := other.Publish(t.Context(), gone(7, session.LoggedOut)); err != nil {
		t.Fatal(err)
	}
	close(next.hold)
	<-filled
	got := mustGet(t, other, 7, session.LoggedOut)
	if want := alive(7).Hash; got.Hash != want {
		t.Error("the tombstone has lost the hash: its holder cannot be told why")
	}
}

func TestTombstoneReplacesWhatIsKnown(t *testing.T) {
	server := testenv.Redis(t)
	next := &fake{}
	next.set(alive(7))
	tier := open(t, server, next)
	mustGet(t, tier, 7, "")
	if err := tier.Publish(t.Context(), gone(7, session.Revoked)); err != nil {
		t.Fatal(err)
	}
	mustGet(t, open(t, server, &fake{}), 7, session.Revoked)
	ttl := admin(t, server).PTTL(t.Context(), redisstore.KeyOf(7)).Val()
	if longest := tier.Tombstone(); ttl <= 2*bound || ttl > longest {
		t.Errorf("tombstone stays for %v, want longer than any alive value under way, at most %v", ttl, longest)
	}
}

func TestFillLivesUntilItsAsOfIsTooOld(t *testing.T) {
	const bound = time.Hour // what is kept stays until it is looked for
	server := testenv.Redis(t)
	rdb := admin(t, server)
	for i, c := range []struct {
		age  time.Duration
		kept bool
	}{
		{0, true},
		{3 * time.Second, true},
		{bound - time.Minute, true},
		{bound - 500*time.Microsecond, false},
		{bound, false},
		{bound + time.Hour, false},
	} {
		id := idworker.ID(10 + i)
		now := time.Now()
		next := &fake{}
		s := alive(id)
		s.AsOf = now.Add(-c.age)
		next.set(s)
		tier := open(t, server, next, func(o *redisstore.Options) { o.Bound, o.Now = bound, func() time.Time { return now } })
		mustGet(t, tier, id, "")
		ttl := rdb.PTTL(t.Context(), redisstore.KeyOf(id)).Val()
		switch {
		case !c.kept && ttl != -2:
			t.Errorf("as of %v ago: shared for %v, want not at all", c.age, ttl)
		case c.kept && (ttl <= 0 || ttl > bound-c.age):
			t.Errorf("as of %v ago: shared for %v, want at most %v, and never for ever", c.age, ttl, bound-c.age)
		}
	}
	// A session that had ended is shared as a tombstone.
	next := &fake{}
	next.set(gone(7, session.Idle))
	tier := open(t, server, next)
	mustGet(t, tier, 7, session.Idle)
	if ttl := rdb.PTTL(t.Context(), redisstore.KeyOf(7)).Val(); ttl <= 0 || ttl > tier.Tombstone() {
		t.Errorf("ended: shared for %v, want at most %v", ttl, tier.Tombstone())
	}
}

func TestValueExpires(t *testing.T) {
	server := testenv.Redis(t)
	next := &fake{}
	next.set(alive(7))
	tier := open(t, server, next, func(o *redisstore.Options) { o.Bound = 100 * time.Millisecond })
	mustGet(t, tier, 7, "")
	rdb := admin(t, server)
	testenv.Eventually(t, soon, func() bool {
		return rdb.Exists(t.Context(), redisstore.KeyOf(7)).Val() == 0
	}, "the value is gone from Redis")
}

func TestUnknownIsNotRemembered(t *testing.T) {
	server := testenv.Redis(t)
	next := &fake{}
	tier := open(t, server, next)
	for range 2 {
		if _, err := tier.Get(t.Context(), 7, hashOf(7)); err == nil {
			t.Fatal("Get of an unknown session: no error")
		}
	}
	if n := admin(t, server).DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys in Redis, want none", n)
	}
	next.set(alive(7))
	mustGet(t, tier, 7, "")
}

func TestFlushCostsAQuestionAndNoAnswer(t *testing.T) {
	server := testenv.Redis(t)
	next := &fake{}
	next.set(alive(7))
	tier := open(t, server, next)
	mustGet(t, tier, 7, "")
	if err := tier.Publish(t.Context(), gone(8, session.LoggedOut)); err != nil {
		t.Fatal(err)
	}
	if err := admin(t, server).FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	mustGet(t, tier, 7, "")
	mustGet(t, tier, 8, session.LoggedOut) // by what lies behind
	if next.asked() != 3 {
		t.Errorf("asked %d times, want 3: once before the flush, twice after", next.asked())
	}
}

func TestValueOfAnotherClock(t *testing.T) {
	server := testenv.Redis(t)
	rdb := admin(t, server)
	base := time.Now().Truncate(time.Millisecond)
	for _, c := range []struct {
		what     string
		asOf     time.Duration // from now
		believed bool
	}{
		{"now", 0, true},
		{"almost as old as the bound", -bound + time.Millisecond, true},
		{"as old as the bound", -bound, false},
		{"from the future, within the skew", 2*time.Second - time.Millisecond, true},
		{"from the future, beyond the skew", 2 * time.Second, false},
		{"from next year", 365 * 24 * time.Hour, false},
	} {
		s := alive(7)
		s.AsOf = base.Add(c.asOf)
		value, err := redisstore.Encode(secret, redisstore.KeyOf(7), &s)
		if err != nil {
			t.Fatal(err)
		}
		if err := rdb.Set(t.Context(), redisstore.KeyOf(7), value, time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
		next := &fake{}
		next.set(alive(7))
		got := mustGet(t, open(t, server, next, func(o *redisstore.Options) { o.Now = func() time.Time { return base } }), 7, "")
		if believed := next.asked() == 0; believed != c.believed {
			t.Errorf("%s: believed %v, want %v", c.what, believed, c.believed)
		}
		if c.believed && got.AsOf.After(base) {
			t.Errorf("%s: as of %v, which is not yet", c.what, got.AsOf)
		}
	}
}

func TestNoTokenIsWritten(t *testing.T) {
	server := testenv.Redis(t)
	token := flakepass.NewToken(flakepass.ID(idworker.Default().Smallest(time.Now())))
	s := alive(session.IDOf(token))
	s.Hash = session.HashOf(token)
	next := &fake{}
	next.set(s)
	tier, rdb := openClient(t, server, next)
	seen := &tap{}
	rdb.AddHook(seen)
	mustGet(t, tier, s.ID, "")
	s.Ended = session.LoggedOut
	if err := tier.Publish(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	cmds := seen.all()
	if len(cmds) < 3 {
		t.Fatalf("saw %d commands, want a question, a fill and an end at least", len(cmds))
	}
	text := token.Reveal()
	for _, cmd := range cmds {
		for _, no := range []string{text, text[14:40], text[14:24], string(secret[:16])} {
			if strings.Contains(cmd, no) {
				t.Errorf("sent to Redis: %q, which holds a secret", cmd)
			}
		}
	}
}

func TestOptionsThatCannotBeMet(t *testing.T) {
	rdb := redisstore.Open(redisstore.Server{Addrs: []string{"127.0.0.1:1"}})
	defer func() { _ = rdb.Close() }()
	for _, o := range []redisstore.Options{{}, {Key: secret}, {Key: secret[:31], Bound: bound}, {Key: secret, Bound: -1}} {
		if _, err := redisstore.NewSessions(rdb, &fake{}, o); err == nil {
			t.Errorf("New(%d bytes of key, bound %v): no error", len(o.Key), o.Bound)
		}
	}
}
