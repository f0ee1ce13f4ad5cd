package simulation

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

func pause(ctx context.Context, r *rand.Rand, most time.Duration) bool {
	select {
	case <-time.After(time.Duration(1 + r.Int64N(int64(most)))):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// patience is how long a client waits for an answer.
const clientPatience = 10 * time.Second

func (w *world) some(r *rand.Rand) *instance { return w.places[r.IntN(len(w.places))].instance.Load() }

// client logs people in and out and asks who they are, here and there. Now and
// then it rests, and logins go idle.
func (w *world) client(ctx context.Context, r *rand.Rand) {
	user := idworker.ID(1 + r.IntN(w.people))
	w.login(w.some(r), user, w.device(r))
	for pause(ctx, r, w.pace) {
		if r.IntN(3) == 0 {
			user = idworker.ID(1 + r.IntN(w.people))
		}
		i := w.some(r)
		if r.IntN(100) < w.ends {
			for try := 0; !w.act(i, r, user) && try < 5 && pause(ctx, r, 8*second); try++ { // a client that gets no answer tries again
				i = w.some(r)
			}
			continue
		}
		if r.IntN(40) == 0 && !pause(ctx, r, 45*second) {
			return
		}
		if r.IntN(3) == 0 {
			w.verifyRemote(w.pick(r, user), r.IntN(4) == 0)
		}
		if l := w.pick(r, user); !w.verify(i, l, r.IntN(4) == 0) && r.IntN(2) == 0 || w.sessions > 1 && r.IntN(6) == 0 {
			w.login(w.some(r), user, w.device(r))
		}
	}
}

// act begins or ends a login of that user, and reports whether it was
// acknowledged.
func (w *world) act(i *instance, r *rand.Rand, user idworker.ID) (done bool) {
	var about []*login
	if l := w.pick(r, user); l != nil {
		about = append(about, l)
	}
	most := 20
	if w.sessions > 1 {
		most = 26
	}
	switch n := r.IntN(most); {
	case n >= 20:
		about = w.judge.of(user)
		done = w.own(i, r, w.pick(r, user))
	case n < 7:
		done = w.login(i, user, w.device(r))
	case n < 13:
		done = len(about) > 0 && w.logout(i, about[0])
	case n < 16:
		done = w.revoke(i, user)
	case n < 18:
		done = w.account(i, user, false)
	case n < 19:
		if done = w.account(i, user, true); done || r.IntN(2) == 0 {
			w.all.Go(func() { w.enable(user) })
		}
	default:
		done = r.IntN(2) == 0 && w.endAll(i)
	}
	if done && r.IntN(2) == 0 {
		w.lookAgain(r, about)
	}
	return done
}

// lookAgain asks everywhere about those logins, a little more than the bound from
// now, in a way that is no use of them.
func (w *world) lookAgain(r *rand.Rand, about []*login) {
	wait := w.bound + time.Duration(1+r.Int64N(int64(2*second)))
	w.all.Go(func() {
		<-time.After(wait)
		for _, l := range about {
			for _, p := range w.places {
				w.verify(p.instance.Load(), l, true)
			}
			w.verifyRemote(l, true)
		}
	})
}

// pick is a login of that user: the newest, as a rule, and sometimes an old one.
func (w *world) pick(r *rand.Rand, user idworker.ID) *login {
	w.judge.mu.Lock()
	defer w.judge.mu.Unlock()
	if n := len(w.judge.logins); n > 0 && r.IntN(4) == 0 {
		return w.judge.logins[n-1-r.IntN(min(n, 5))]
	}
	if w.sessions > 1 {
		return w.judge.recent(user, r.IntN(w.sessions+1))
	}
	return w.judge.newest[user]
}

func (w *world) login(i *instance, user idworker.ID, on *session.Device) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 10*clientPatience)
	defer cancel()
	before := w.judge.of(user)
	opened, err := i.service.Open(ctx, audit.Actor{}, user, 1, on, session.Place{})
	if err != nil {
		return false
	}
	// IDs grow in the order of logins in a slot, so whatever has a smaller one there is
	// over. The instance may not have ended it itself.
	l := w.judge.began(user, opened.Token)
	w.judge.acknowledged("", "a login", slices.DeleteFunc(older(before, l.id), func(old *login) bool {
		return old.slot != l.slot && !slices.Contains(opened.Replaced, old.id)
	}))
	return true
}

// older is those of the logins with a smaller ID.
func older(logins []*login, id idworker.ID) (those []*login) {
	for _, l := range logins {
		if l.id < id {
			those = append(those, l)
		}
	}
	return those
}

func (w *world) logout(i *instance, l *login) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 10*clientPatience)
	defer cancel()
	err := i.logout(ctx, l.token)
	if err != nil && !errors.Is(err, session.ErrUnpublished) {
		return false
	}
	w.judge.acknowledged(i.name, "a logout", []*login{l})
	return true
}

// pass gives an end to the tiers, as the verbs of operators do.
func (i *instance) pass(ctx context.Context, ended []session.Session) {
	_ = i.service.Store.Publish(ctx, slices.DeleteFunc(ended, func(one session.Session) bool { return one.ID == 0 })...)
}

func (w *world) revoke(i *instance, user idworker.ID) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 10*clientPatience)
	defer cancel()
	before := w.judge.of(user)
	ended, err := i.db.EndUser(ctx, session.Ending{UserID: user, Reason: session.Revoked}, 0)
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		return false
	}
	if err == nil {
		i.pass(ctx, ended)
	}
	w.judge.acknowledged("", "a logout by an operator", older(before, 1<<62))
	return true
}

func (w *world) account(i *instance, user idworker.ID, disable bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 10*clientPatience)
	defer cancel()
	before := w.judge.of(user)
	ended, err := i.db.Account(ctx, user, disable)
	if err != nil {
		return false
	}
	i.pass(ctx, ended)
	w.judge.acknowledged("", "a change of the account", before)
	return true
}

func (w *world) enable(user idworker.ID) {
	<-time.After(5 * second)
	for w.ctx.Err() == nil && w.places[0].instance.Load().db.Enable(context.Background(), user) != nil {
		<-time.After(second)
	}
}

func (w *world) endAll(i *instance) bool {
	ctx, cancel := context.WithTimeout(context.Background(), clientPatience)
	defer cancel()
	all := w.judge.of(0)
	if i.db.EndAll(ctx) != nil {
		return false
	}
	w.judge.acknowledged("", "an end of all logins", all) // no instance has acknowledged it by itself
	return true
}

// verify reports whether a login was accepted.
func (w *world) verify(i *instance, l *login, passive bool) bool {
	if l == nil {
		return false
	}
	a := w.ask(i, l, passive)
	w.judge.answered(l, a)
	return a.err == nil
}

func (w *world) verifyRemote(l *login, passive bool) {
	if l != nil && w.remote != nil {
		w.judge.answered(l, w.askRemote(l, passive))
	}
}

func (w *world) ask(i *instance, l *login, passive bool) answer {
	ctx, cancel := context.WithTimeout(context.Background(), clientPatience)
	defer cancel()
	if passive {
		ctx = flakepass.NewPassiveContext(ctx)
	}
	a := answer{by: i.name, asked: time.Now(), version: i.rule.Current().Version, passive: passive}
	a.who, a.err = i.verify(ctx, l.token)
	return a
}

// operator changes the policy: to a shorter one, a longer one, or one of before.
func (w *world) operator(ctx context.Context, r *rand.Rand) {
	past := []policy.Policy{w.policy}
	for pause(ctx, r, w.changes) {
		i := w.some(r)
		call, cancel := context.WithTimeout(context.Background(), clientPatience)
		now, err := i.db.LoadPolicy(call)
		next := past[r.IntN(len(past))]
		if r.IntN(3) > 0 {
			idle, absolute, touch := w.times(r)
			switch r.IntN(3) {
			case 0:
				next.Idle = idle
			case 1:
				next.Absolute = absolute
			default:
				next.Idle, next.Absolute = idle, absolute
			}
			next.Touch = min(touch, next.Idle/2)
			if w.sessions > 1 && r.IntN(2) == 0 {
				next.MaxSessions = 1 + r.IntN(w.sessions)
			}
			if w.scopes && r.IntN(2) == 0 {
				next.Overrides = w.overrides(r)
			}
		}
		if err == nil && i.db.SetPolicy(call, now.Version, next) == nil {
			past = append(past, next)
			_ = i.rule.Refresh(call)
			w.lookAgain(r, w.recent(3))
		}
		cancel()
	}
}

// recent is the newest logins.
func (w *world) recent(n int) []*login {
	all := w.judge.of(0)
	return all[max(len(all)-n, 0):]
}

// sweeper clears what is over by the policy that an instance knows.
func (w *world) sweeper(ctx context.Context, r *rand.Rand) {
	for pause(ctx, r, w.sweeps) {
		i := w.some(r)
		call, cancel := context.WithTimeout(context.Background(), clientPatience)
		cleared, err := i.db.Sweep(call, *i.rule.Current(), time.Duration(r.Int64N(int64(second))))
		if err == nil {
			_ = i.db.Reduce(call)
		}
		cancel()
		if err != nil || len(cleared) == 0 {
			continue
		}
		var those []*login
		for _, l := range w.judge.of(0) {
			for _, id := range cleared {
				if l.id == id {
					those = append(those, l)
				}
			}
		}
		w.judge.acknowledged("", "a sweep", those)
	}
}

// faults makes and mends trouble, until the work is over.
func (w *world) faults(ctx context.Context, r *rand.Rand) {
	defer w.mend()
	for life := 1; pause(ctx, r, w.trouble); {
		p := w.places[r.IntN(len(w.places))]
		switch r.IntN(21) {
		case 0:
			p.toDB.set(mood{cut: 1})
		case 1:
			p.toDB.set(mood{lose: 0.3})
		case 2:
			p.toDB.set(mood{slow: 3 * time.Second})
		case 3:
			p.toRedis.set(mood{cut: 1})
		case 4:
			p.toRedis.set(mood{lose: 0.5, slow: 8 * time.Second})
		case 5:
			for _, p := range w.places {
				p.toRedis.set(mood{cut: 1})
			}
		case 6:
			for _, p := range w.places {
				p.toDB.set(mood{cut: 1})
			}
		case 7:
			w.redis.flush()
		case 8:
			w.redis.save()
		case 9:
			w.redis.failOver()
		case 10:
			w.redis.mu.Lock()
			w.redis.drop = r.Float64()
			w.redis.mu.Unlock()
		case 11:
			if w.setBack {
				w.db.setBack(time.Duration(r.Int64N(int64(20 * time.Second))))
			} else {
				w.db.slew((r.Float64() - 0.5) / 1000)
			}
		case 19:
			p.toDB.set(mood{poll: 1})
		case 20:
			p.toDB.set(mood{poll: 0.9, slow: 3 * second})
		case 12, 13, 14, 15:
			w.db.set(dbMood{late: r.Float64() / 3, hang: r.Float64() / 3, lose: r.Float64() / 4, deaf: r.Float64()})
		default:
			w.restart(p, life, r.IntN(2) == 0)
			life++
		}
		if w.network != nil && r.IntN(3) == 0 {
			w.network.trouble(r.IntN(3) == 0, time.Duration(r.Int64N(int64(3*second))))
		}
		if r.IntN(3) == 0 {
			w.mend()
		}
	}
}

// mend ends all trouble.
func (w *world) mend() {
	for _, p := range w.places {
		p.toDB.set(mood{})
		p.toRedis.set(mood{})
	}
	w.redis.mu.Lock()
	w.redis.drop = 0
	w.redis.mu.Unlock()
	w.db.set(dbMood{})
	if w.network != nil {
		w.network.trouble(false, 0)
	}
}

// oneStory holds that every instance says of the last logins what the row says.
func (w *world) oneStory() {
	for _, l := range w.recent(6) {
		for _, p := range w.places {
			w.judge.calm(l, func() answer { return w.ask(p.instance.Load(), l, true) })
		}
		if w.remote != nil {
			w.judge.calm(l, func() answer { return w.askRemote(l, true) })
		}
	}
}

// recovered holds that a login works everywhere.
func (w *world) recovered() {
	for _, p := range w.places {
		i := p.instance.Load()
		for _, u := range w.db.users {
			w.db.mu.Lock()
			disabled := u.disabled
			w.db.mu.Unlock()
			if disabled {
				continue
			}
			if !w.login(i, u.id, nil) {
				w.judge.blame("OneStory: %s lets no user log in, long after all trouble is over", i.name)
				return
			}
			l := w.judge.newest[u.id]
			w.judge.calm(l, func() answer { return w.ask(i, l, false) })
		}
	}
}
