//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/proof/campaign/judge"
)

type credentials struct {
	Username string  `json:"username"`
	Password string  `json:"password"`
	Device   *device `json:"device,omitempty"`
}

// secrets are the password, and the other.
func (p *person) secrets() (password, other string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.password, p.other
}

// swap makes the other the password, if the one that was tried still is.
func (p *person) swap(tried string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.password == tried {
		p.password, p.other = p.other, p.password
	}
}

// live does one thing after the other until ctx ends. Who is steady ends no
// session, so that the policy and the operator do.
func (p *person) live(ctx context.Context, w *world, r *rand.Rand, steady bool) {
	for ctx.Err() == nil {
		if all := p.all(); len(all) > 0 && r.IntN(12) == 0 {
			p.waitForTheEnd(ctx, w, r, all[r.IntN(len(all))])
		}
		w.calm.RLock()
		p.step(ctx, w, r, steady)
		w.calm.RUnlock()
		pause(ctx, time.Duration(20+r.IntN(150))*time.Millisecond)
	}
}

func (p *person) step(ctx context.Context, w *world, r *rand.Rand, steady bool) {
	all, missing := p.all(), p.missing()
	if len(all) == 0 || len(missing) > 0 && r.IntN(15) == 0 {
		if p.login(ctx, w, w.any(r), missing[r.IntN(len(missing))]) == nil {
			pause(ctx, 200*time.Millisecond)
		}
		return
	}
	s := all[r.IntN(len(all))]
	switch n := r.IntN(100); {
	case n < 45:
		p.use(ctx, w, r, s, false)
	case n < 60:
		p.use(ctx, w, r, s, true)
	case n < 70:
		w.remotes[r.IntN(len(w.remotes))].verify(ctx, w, s, r.IntN(3) == 0)
	case n < 90 || steady:
		all := p.known()
		p.use(ctx, w, r, all[r.IntN(len(all))], r.IntN(2) == 0)
	case n < 95:
		p.lookAfter(ctx, w, r, s)
	case n < 97:
		p.logout(ctx, w, r, s)
	case n < 99:
		p.login(ctx, w, w.any(r), s.device)
	default:
		p.changePassword(ctx, w, w.any(r), s)
	}
}

// waitForTheEnd leaves the phone alone until just before the idle end that was
// told, and asks then: that counts, whatever happened meanwhile.
func (p *person) waitForTheEnd(ctx context.Context, w *world, r *rand.Rand, s *session) {
	left := time.Until(s.tellsUntil()) - time.Duration(50+r.IntN(350))*time.Millisecond
	if left <= 0 || left > 10*time.Second {
		return
	}
	pause(ctx, left)
	w.calm.RLock()
	defer w.calm.RUnlock()
	for range 3 {
		w.askAbout(ctx, w.any(r), s, true)
	}
}

func (p *person) use(ctx context.Context, w *world, r *rand.Rand, s *session, passive bool) {
	if w.askAbout(ctx, w.any(r), s, passive) == judge.No {
		p.drop(s)
	}
}

// askAbout asks an instance whether a token is good, in one of two ways.
func (w *world) askAbout(ctx context.Context, i *instance, s *session, passive bool) judge.Answer {
	path := "/v1/me"
	if uint64(w.now()/time.Millisecond)%3 == 0 {
		path = "/v1/verify"
	}
	return w.asked(w.ask(ctx, i, request{method: "GET", path: path, token: s.token, passive: passive}), s)
}

// asked writes down what an instance said of a token.
func (w *world) asked(r reply, s *session) judge.Answer {
	e := r.Event
	e.Op, e.User, e.Session = judge.Ask, s.user, s.id
	e.What += fmt.Sprint(" of ", s.id)
	if e.Answer == judge.No && r.status != 401 {
		e.Answer = judge.Undecided // it says nothing of the token
	}
	if e.Answer == judge.Yes {
		var me struct{ Session times }
		if left, err := strconv.Atoi(r.header.Get(flakepass.IdleExpiresInHeader)); err == nil {
			e.Left, e.IdleLeft = true, time.Duration(left)*time.Second
			s.lives(w.began.Add(e.Begin + e.IdleLeft))
		}
		if json.Unmarshal(r.body, &me) == nil && !me.Session.IdleExpiresAt.IsZero() {
			me.Session.note(w, &e, s)
		}
	}
	w.add(e)
	return e.Answer
}

// times are what an answer says of a session.
type times struct {
	IssuedAt      time.Time `json:"issued_at"`
	LastSeenAt    time.Time `json:"last_seen_at"`
	IdleExpiresAt time.Time `json:"idle_expires_at"`
}

func (t times) note(w *world, e *judge.Event, s *session) {
	e.HasTimes, e.Issued, e.Seen, e.IdleEnd = true, w.wall(t.IssuedAt), w.wall(t.LastSeenAt), w.wall(t.IdleExpiresAt)
	s.lives(t.IdleExpiresAt)
}

// login begins a session on one of the devices. It is nil if there was none, or if it
// is unknown.
func (p *person) login(ctx context.Context, w *world, i *instance, d int) *session {
	password, _ := p.secrets()
	q := request{method: "POST", path: "/v1/login", body: credentials{p.name, password, &devices[d]}}
	if d%2 == 1 { // another back end has sent a code
		q = request{method: "POST", path: "/v1/issue", key: w.issuer, body: map[string]any{"username": p.name, "method": "sms", "device": &devices[d]}}
	}
	r := w.ask(ctx, i, q)
	e := r.Event
	e.Op, e.User, e.Device, e.Class, e.What = judge.Login, p.name, devices[d].label(), devices[d].Class, fmt.Sprintf("login of %s, %s", p.name, devices[d].Class)
	var s *session
	var opened struct {
		Token string
		times
	}
	switch {
	case e.Answer == judge.Yes && json.Unmarshal(r.body, &opened) == nil:
		token, err := flakepass.ParseToken(opened.Token)
		if err != nil {
			break
		}
		s = &session{id: uint64(token.ID()), token: token, user: p.name, device: d}
		e.Session = s.id
		e.What += fmt.Sprint(": ", s.id)
		// The answer has no issued_at. A token carries the time of its login.
		opened.IssuedAt = token.ID().Time()
		opened.LastSeenAt, s.issued = opened.IssuedAt, opened.IssuedAt
		opened.note(w, &e, s)
	case r.Code == "credentials_invalid":
		p.swap(password)
	}
	if s == nil && e.Answer == judge.Yes {
		e.Answer = judge.Undecided // it is unknown which session has begun
	}
	w.add(e)
	if s != nil {
		p.put(d, s)
	}
	return s
}

// logout asks until it is acknowledged, on any instance, and sometimes once more.
func (p *person) logout(ctx context.Context, w *world, r *rand.Rand, s *session) {
	about := judge.Event{Op: judge.EndOne, User: p.name, Session: s.id, What: fmt.Sprint("logout of ", s.id)}
	for range 4 {
		if w.does(ctx, w.any(r), request{method: "POST", path: "/v1/logout", token: s.token}, about) == judge.Yes {
			break
		}
		pause(ctx, 100*time.Millisecond)
	}
	p.drop(s)
}

// logoutAt asks one instance once.
func (w *world) logoutAt(ctx context.Context, i *instance, p *person, s *session) {
	about := judge.Event{Op: judge.EndOne, User: p.name, Session: s.id, What: fmt.Sprint("logout of ", s.id)}
	w.does(ctx, i, request{method: "POST", path: "/v1/logout", token: s.token}, about)
	p.drop(s)
}

func (p *person) changePassword(ctx context.Context, w *world, i *instance, s *session) {
	current, next := p.secrets()
	all := p.all()
	r := p.mine(ctx, w, i, s, request{method: "PUT", path: "/v1/me/password", body: map[string]string{"current_password": current, "new_password": next}},
		judge.Event{Op: judge.EndUser, What: "change of the password of " + p.name})
	if r.Answer == judge.Yes {
		p.swap(current)
		p.drop(all...)
	}
}
