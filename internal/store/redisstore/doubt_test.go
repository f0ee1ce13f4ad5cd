package redisstore_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/redisstore"
)

// TestDoubtedValuesAreNotBelieved: after a policy that allows fewer sessions, no value of
// before is believed, also if the clock of whoever wrote it is ahead. Values of after are
// believed when no other can be left.
func TestDoubtedValuesAreNotBelieved(t *testing.T) {
	for _, ahead := range []time.Duration{0, 10 * time.Second, -10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			next, values := &fake{}, &kept{of: map[string]value{}}
			instance := func(ahead time.Duration) *redisstore.Sessions {
				tier, err := redisstore.NewSessionsOver(values, next, redisstore.Options{
					Key: secret, Bound: bound, Feed: fresh{}, Now: func() time.Time { return time.Now().Add(ahead) },
				})
				if err != nil {
					t.Fatal(err)
				}
				return tier
			}
			writer, reader := instance(ahead), instance(0)
			s := alive(7)
			s.AsOf = time.Now().Add(ahead)
			next.set(s)
			mustGet(t, writer, 7, "")
			reader.Doubt()
			for since := time.Duration(0); since < 2*time.Minute; since += time.Second {
				before := next.asked()
				s.AsOf = time.Now()
				next.set(s)
				mustGet(t, reader, 7, "")
				if since < 30*time.Second && next.asked() == before {
					t.Errorf("written by a clock that is ahead by %v, and believed %v after a lower limit", ahead, since)
				}
				time.Sleep(time.Second) //nolint:forbidigo // in a bubble
			}
			before := next.asked()
			mustGet(t, reader, 7, "")
			mustGet(t, reader, 7, "")
			if n := next.asked() - before; n > 1 {
				t.Errorf("%d questions behind Redis in the end", n)
			}
		})
	}
}

type fresh struct{}

func (fresh) Fresh() bool { return true }

// kept is a Redis of one process.
type kept struct{ of map[string]value }

type value struct {
	text  []byte
	until time.Time
}

func (k *kept) Get(_ context.Context, key string) ([]byte, error) {
	if v, ok := k.of[key]; ok && time.Now().Before(v.until) {
		return v.text, nil
	}
	delete(k.of, key)
	return nil, redis.Nil
}

func (k *kept) Fill(_ context.Context, key string, text []byte, ttl time.Duration) error {
	if _, ok := k.of[key]; !ok {
		k.of[key] = value{text, time.Now().Add(ttl)}
	}
	return nil
}

func (k *kept) End(_ context.Context, key string, text []byte, ttl time.Duration) error {
	k.of[key] = value{text, time.Now().Add(ttl)}
	return nil
}

// TestRenamedValuesAreNotBelieved: nor one that a slow reader on another instance, whose
// clock is ahead, puts there after the rename was received here.
func TestRenamedValuesAreNotBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next, values := &fake{}, &kept{of: map[string]value{}}
		const ahead = time.Second
		instance := func(ahead time.Duration) *redisstore.Sessions {
			tier, err := redisstore.NewSessionsOver(values, next, redisstore.Options{
				Key: secret, Bound: bound, Feed: fresh{}, Now: func() time.Time { return time.Now().Add(ahead) },
			})
			if err != nil {
				t.Fatal(err)
			}
			return tier
		}
		writer, reader := instance(ahead), instance(0)
		old := alive(7)
		old.AsOf = time.Now().Add(ahead)
		now := old
		now.Username = "ada2"
		reader.ApplyPoll(session.News{Renames: []session.Rename{{UserID: old.UserID, At: time.Now()}}})
		time.Sleep(time.Second) //nolint:forbidigo // in a bubble
		next.set(old)
		mustGet(t, writer, 7, "") // it was read before the rename
		for since := time.Duration(0); since < 2*time.Minute; since += time.Second {
			now.AsOf = time.Now()
			next.set(now)
			if got, err := reader.Get(t.Context(), 7, hashOf(7)); err != nil || got.Username != "ada2" {
				t.Fatalf("%v after the rename: %q, %v", since, got.Username, err)
			}
			time.Sleep(time.Second) //nolint:forbidigo // in a bubble
		}
		before := next.asked()
		_, _ = reader.Get(t.Context(), 7, hashOf(7))
		_, _ = reader.Get(t.Context(), 7, hashOf(7))
		if n := next.asked() - before; n > 1 {
			t.Errorf("%d questions behind Redis in the end", n)
		}
	})
}
