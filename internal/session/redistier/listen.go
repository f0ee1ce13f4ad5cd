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
			value := []byte(m.Payload)
			if len(value) < fixedLen {
				continue
			}
			id := idworker.ID(binary.BigEndian.Uint64(value[1:]))
			if s, err := t.codec.decode(keyOf(id), id, value); err == nil && !s.Alive() {
				heard(s)
			}
		}
	}
}
