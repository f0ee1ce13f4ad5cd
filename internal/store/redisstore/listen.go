package redisstore

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

const (
	// pingEvery is how often a Redis that sends nothing is asked whether it is there.
	pingEvery = time.Second
	// pings is how many pings in a row may get no answer before the connection is given up.
	pings = 3
)

var errNoAnswer = errors.New("the connection says nothing, and does not answer either")

// Listen calls received for every session that another instance, or this one,
// says has ended, until ctx ends. received must not block. A lost message is made
// good by the bound; a forged one fails its MAC and is dropped.
//
// Redis keeps no message for a client that is away, and a client that connects anew
// by itself would hide that it was. So each subscription here is one connection,
// with no other reader and no queue that could overflow: as long as it lasts nothing
// is lost. When it ends that is logged, and reported by the Listening and Gap of
// [Options] once there is another.
func (t *Sessions) Listen(ctx context.Context, received func(session.Session)) {
	l := &listener{Sessions: t, received: received, last: time.Now()}
	for ctx.Err() == nil {
		err := l.subscribe(ctx)
		if ctx.Err() != nil {
			return
		}
		wait := pingEvery
		if l.on { // most often another connection is all it takes
			wait /= 4
		}
		l.lost(ctx, err)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// A listener is the state of one call of Listen.
type listener struct {
	*Sessions
	received func(session.Session)
	on       bool
	last     time.Time // until when nothing was missed
	since    time.Time // of the loss; zero unless it was logged
}

// subscribe listens on one connection until that ends, and says why.
func (l *listener) subscribe(ctx context.Context) error {
	sub := l.rdb.Subscribe(ctx) // connects at the first channel
	defer context.AfterFunc(ctx, func() { _ = sub.Close() })()
	defer func() { _ = sub.Close() }()
	connect, cancel := context.WithTimeout(ctx, pings*pingEvery)
	err := sub.Subscribe(connect, channel)
	cancel()
	for quiet := 0; err == nil && quiet < pings; {
		var message any
		message, err = receive(ctx, sub)
		if err != nil && timedOut(err) && ctx.Err() == nil {
			// Its answer is a message too.
			quiet, err = quiet+1, sub.Ping(ctx)
			continue
		}
		if err == nil {
			quiet = 0
			err = l.take(ctx, message)
		}
	}
	return cmp.Or(err, errNoAnswer)
}

func receive(ctx context.Context, sub *redis.PubSub) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*pingEvery) // for the client's own connecting anew, which take undoes
	defer cancel()
	return sub.ReceiveTimeout(ctx, pingEvery)
}

func (l *listener) take(ctx context.Context, message any) error {
	if _, ok := message.(*redis.Subscription); ok {
		if l.on {
			return errors.New("the client has connected anew")
		}
		l.found(ctx)
	}
	l.last = time.Now()
	if m, ok := message.(*redis.Message); ok {
		if s, ok := l.DecodeEnd([]byte(m.Payload)); ok {
			l.received(s)
		}
	}
	return nil
}

// found reports that a subscription has begun.
func (l *listener) found(ctx context.Context) {
	if !l.since.IsZero() {
		l.Log.InfoContext(ctx, "redis tells of endings again", "after", time.Since(l.since))
	}
	l.on, l.since = true, time.Time{}
	if l.Listening != nil {
		l.Listening(true)
	}
	if l.Gap != nil {
		l.Gap(l.last)
	}
}

// lost reports that a subscription has ended, or did not begin.
func (l *listener) lost(ctx context.Context, err error) {
	if l.since.IsZero() {
		l.since = time.Now()
		l.Log.WarnContext(ctx, "redis does not tell of endings; logouts on other instances are effective here within the bound",
			"bound", l.Bound, "err", err)
	}
	if l.on && l.Listening != nil {
		l.Listening(false)
	}
	l.on = false
}

// DecodeEnd returns the session that a message says has ended, or false if it is no
// message of this deployment.
func (t *Sessions) DecodeEnd(message []byte) (session.Session, bool) {
	if len(message) < fixedLen {
		return session.Session{}, false
	}
	id := idworker.ID(binary.BigEndian.Uint64(message[1:]))
	s, err := t.codec.decode(keyOf(id), id, message)
	return s, err == nil && !s.Alive()
}
