package redistier

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/session"
)

// Listen calls heard for every session that another instance, or this one,
// says has ended, until ctx ends. heard must not block. A lost message is made
// good by the bound; a forged one fails its MAC and is dropped.
func (t *Tier) Listen(ctx context.Context, heard func(session.Session)) {
	for ctx.Err() == nil {
		sub := t.rdb.Subscribe(ctx, channel)
		t.listen(ctx, sub, heard)
		_ = sub.Close()
		select { // Redis is away: its client has already tried again by itself
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func (t *Tier) listen(ctx context.Context, sub *redis.PubSub, heard func(session.Session)) {
	messages := sub.Channel(redis.WithChannelSize(4096))
	for {
		select {
		case <-ctx.Done():
			return
		case m, ok := <-messages:
			if !ok {
				return
			}
			if s, ok := t.Word([]byte(m.Payload)); ok {
				heard(s)
			}
		}
	}
}

// Word is the session of whose end a message tells, or false if it is no
// message of this deployment.
func (t *Tier) Word(message []byte) (session.Session, bool) {
	if len(message) < fixedLen {
		return session.Session{}, false
	}
	id := idworker.ID(binary.BigEndian.Uint64(message[1:]))
	s, err := t.codec.decode(keyOf(id), id, message)
	return s, err == nil && !s.Alive()
}
