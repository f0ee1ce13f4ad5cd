package redisstore_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/redisstore"
)

type freshness struct{ atomic.Bool }

func (f *freshness) Fresh() bool { return f.Load() }

func fed(f *freshness, change func(*redisstore.Options)) func(*redisstore.Options) {
	return func(o *redisstore.Options) {
		o.Feed = f
		if change != nil {
			change(o)
		}
	}
}

// While an instance does not hear of ends, it does not believe what another
// one has put into Redis, and asks the database.
func TestValueIsBelievedOnlyWhileEndsArrive(t *testing.T) {
	server := testenv.Redis(t)
	truth, feed := &fake{}, &freshness{}
	truth.set(alive(7))
	here := open(t, server, truth, fed(feed, nil))
	there := open(t, server, truth, fed(feed, nil))
	mustGet(t, there, 7, "")
	if got := mustGet(t, here, 7, ""); truth.asked() != 2 || got.Source != session.FromDatabase {
		t.Errorf("before the first poll: the truth was asked %d times, answer from the %v", truth.asked(), got.Source)
	}
	feed.Store(true)
	if got := mustGet(t, here, 7, ""); truth.asked() != 2 || got.Source != session.FromRedis {
		t.Errorf("with a current feed: the truth was asked %d times, answer from %v", truth.asked(), got.Source)
	}
	feed.Store(false)
	mustGet(t, here, 7, "")
	if truth.asked() != 3 {
		t.Errorf("without a current feed: the truth was asked %d times, want 3", truth.asked())
	}
	// That it ended is believed whatever is received.
	if err := there.Publish(t.Context(), gone(7, session.LoggedOut)); err != nil {
		t.Fatal(err)
	}
	mustGet(t, here, 7, session.LoggedOut)
}

func TestFedValueLivesForHalfOfAnAnswersLife(t *testing.T) {
	server := testenv.Redis(t)
	truth, feed := &fake{}, &freshness{}
	feed.Store(true)
	truth.set(alive(7))
	var ahead atomic.Int64
	now := func(o *redisstore.Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	}
	tier := open(t, server, truth, fed(feed, now))
	mustGet(t, tier, 7, "")
	const slow = 20 * time.Second // what this test may take
	half := session.Life(bound) / 2
	ttl := admin(t, server).PTTL(t.Context(), redisstore.KeyOf(7)).Val()
	if ttl > half || ttl < half-slow {
		t.Errorf("Redis keeps the value for %v, want %v", ttl, half)
	}
	ahead.Store(int64(half - slow))
	mustGet(t, tier, 7, "")
	if truth.asked() != 1 {
		t.Errorf("younger than half a life: the truth was asked %d times, want once", truth.asked())
	}
	ahead.Store(int64(half))
	mustGet(t, tier, 7, "")
	if truth.asked() != 2 {
		t.Errorf("half a life old: the truth was asked %d times, want twice", truth.asked())
	}
}

// A filler is so slow that the tombstone of its session has come and gone.
func TestLateFillAfterTombstoneTTL(t *testing.T) {
	server := testenv.Redis(t)
	truth, feed := &fake{hold: make(chan struct{}), read: make(chan struct{}, 1)}, &freshness{}
	truth.set(alive(7))
	feed.Store(true)
	var ahead atomic.Int64
	now := func(o *redisstore.Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	}
	slow, other := open(t, server, truth, fed(feed, now)), open(t, server, &fake{}, fed(feed, now))
	filled := make(chan session.Session)
	go func() {
		got, _ := slow.Get(t.Context(), 7, hashOf(7))
		filled <- got
	}()
	<-truth.read
	if err := other.Publish(t.Context(), gone(7, session.LoggedOut)); err != nil {
		t.Fatal(err)
	}
	rdb, key := admin(t, server), redisstore.KeyOf(7)
	stays := rdb.PTTL(t.Context(), key).Val()
	ahead.Store(int64(stays))
	if n := rdb.Del(t.Context(), key).Val(); n != 1 { // as if that time had passed for Redis, too
		t.Fatal("no tombstone")
	}
	close(truth.hold)
	got := <-filled
	if value, err := rdb.Get(t.Context(), key).Result(); err == nil {
		t.Errorf("Redis holds %d bytes of a session that ended %v ago", len(value), stays)
	}
	if age := session.Age(time.Now().Add(stays), got.AsOf); age < session.Life(bound) {
		t.Errorf("the answer is %v old, and memory would believe it", age)
	}
}
