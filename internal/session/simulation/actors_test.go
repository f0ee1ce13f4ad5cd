package simulation

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/session"
)

func pause(ctx context.Context, r *rand.Rand, most time.Duration) bool {
	select {
	case <-time.After(time.Duration(1 + r.Int64N(int64(most)))):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// client logs people in and out and asks who they are, here and there.
func (w *world) client(ctx context.Context, r *rand.Rand) {
	for pause(ctx, r, 700*time.Millisecond) {
		i := w.places[r.IntN(instances)].instance.Load()
		user := idworker.ID(1 + r.IntN(people))
		switch n := r.IntN(100); {
		case n < 12:
			w.login(i, user)
		case n < 22:
			w.logout(i, w.pick(r, user))
		case n < 23:
			w.endAll(i)
		default:
			w.verify(i, w.pick(r, user))
		}
	}
}

// pick is a login of that user: the newest, as a rule, and sometimes an old one.
func (w *world) pick(r *rand.Rand, user idworker.ID) *login {
	w.judge.mu.Lock()
	defer w.judge.mu.Unlock()
	if n := len(w.judge.logins); n > 0 && r.IntN(4) == 0 {
		return w.judge.logins[n-1-r.IntN(min(n, 8))]
	}
	return w.judge.newest[user]
}

func (w *world) login(i *instance, user idworker.ID) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	own, before := w.judge.kill(user)
	opened, err := i.service.Open(ctx, user, 1)
	w.judge.done(own, err == nil)
	if err != nil {
		return
	}
	// IDs grow in the order of logins, so whatever has a smaller one is over. The
	// instance may not have ended it itself.
	w.judge.told("", older(before, opened.Token.ID()))
	w.judge.began(own, opened.Token)
}

// older is those of the logins with a smaller ID.
func older(logins []*login, id idworker.ID) (those []*login) {
	for _, l := range logins {
		if l.token.ID() < id {
			those = append(those, l)
		}
	}
	return those
}

func (w *world) logout(i *instance, l *login) {
	if l == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	w.judge.mu.Lock()
	l.mayDie(time.Now())
	w.judge.mu.Unlock()
	if _, err := i.service.Close(ctx, l.token); err == nil || errors.Is(err, session.ErrUntold) {
		w.judge.told(i.name, []*login{l})
	}
}

func (w *world) endAll(i *instance) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	own, all := w.judge.kill(0)
	err := i.db.endAll(ctx)
	w.judge.done(own, err == nil)
	if err == nil {
		w.judge.told("", all) // no instance has acknowledged it by itself
	}
}

func (w *world) verify(i *instance, l *login) {
	if l == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	asked := time.Now()
	_, err := i.service.Verify(ctx, l.token)
	w.judge.answered(l, i.name, asked, err)
}

// faults makes and mends trouble, until the work is over.
func (w *world) faults(ctx context.Context, r *rand.Rand) {
	defer w.mend()
	for life := 1; pause(ctx, r, 6*time.Second); {
		p := w.places[r.IntN(instances)]
		switch r.IntN(14) {
		case 0, 1:
			p.toDB.set(mood{cut: 1})
		case 2:
			p.toDB.set(mood{lose: 0.3})
		case 3:
			p.toDB.set(mood{slow: 3 * time.Second})
		case 4:
			p.toRedis.set(mood{cut: 1})
		case 5:
			p.toRedis.set(mood{lose: 0.5, slow: 8 * time.Second})
		case 6:
			for _, p := range w.places {
				p.toRedis.set(mood{cut: 1})
			}
		case 7:
			for _, p := range w.places {
				p.toDB.set(mood{cut: 1})
			}
		case 8:
			w.redis.flush()
		case 9:
			w.redis.save()
		case 10:
			w.redis.failOver()
		case 11:
			w.redis.mu.Lock()
			w.redis.drop = r.Float64()
			w.redis.mu.Unlock()
		case 12:
			w.db.setBack(time.Duration(r.Int64N(int64(20 * time.Second))))
			w.db.mu.Lock()
			w.db.linger = r.Float64() / 3
			w.db.mu.Unlock()
		default:
			w.restart(p, life)
			life++
		}
		if r.IntN(3) == 0 {
			w.mend()
		}
	}
}

// mend ends all trouble with the network.
func (w *world) mend() {
	for _, p := range w.places {
		p.toDB.set(mood{})
		p.toRedis.set(mood{})
	}
	w.redis.mu.Lock()
	w.redis.drop = 0
	w.redis.mu.Unlock()
	w.db.mu.Lock()
	w.db.linger = 0
	w.db.mu.Unlock()
}

// recovered holds that every instance decides again about everything, and that
// a login works.
func (w *world) recovered() {
	for _, p := range w.places {
		i := p.instance.Load()
		for user := range idworker.ID(people) {
			w.login(i, user+1)
			l := w.judge.newest[user+1]
			if l == nil {
				w.judge.blame("%s lets nobody log in, long after all trouble is over", i.name)
				return
			}
			before := w.judge.unsure
			w.verify(i, l)
			if w.judge.unsure != before {
				w.judge.blame("%s cannot tell, long after all trouble is over", i.name)
			}
		}
	}
}
