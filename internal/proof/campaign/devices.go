//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/proof/campaign/judge"
)

// A session is one login of a person, as the person knows it.
type session struct {
	id     uint64
	token  flakepass.Token
	user   string
	device int // of the person
	issued time.Time

	mu      sync.Mutex
	idleEnd time.Time // the latest of any answer
}

func (s *session) lives(end time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if end.After(s.idleEnd) {
		s.idleEnd = end
	}
}

func (s *session) tellsUntil() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.idleEnd
}

// A device is what an app says of itself. One without a name takes the place of none.
type device struct {
	Class string `json:"class"`
	Name  string `json:"name,omitempty"`
}

// devices are those that people have: the first one, two, and so on.
var devices = []device{{"phone", "mine"}, {"tablet", "mine"}, {"web", "at work"}, {"other", ""}}

// label is the device as the judge tells it from others.
func (d device) label() string {
	if d.Name == "" {
		return ""
	}
	return d.Class + " " + d.Name
}

// A person has an account and one to four devices.
type person struct {
	name, id string

	mu       sync.Mutex
	password string
	other    string     // another password, which a change may have set
	held     []*session // for each device; nil: not logged in there
	before   []*session // the last that were held
}

// now is a session that the person has, or nil: of the first device that has one.
func (p *person) now() *session {
	if all := p.all(); len(all) > 0 {
		return all[0]
	}
	return nil
}

// all are the sessions of now.
func (p *person) all() []*session {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.held), func(s *session) bool { return s == nil })
}

// missing are the devices that are not logged in.
func (p *person) missing() (some []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for d, s := range p.held {
		if s == nil {
			some = append(some, d)
		}
	}
	return some
}

// put makes s the session of a device; nil: it has none.
func (p *person) put(d int, s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held[d] != nil {
		if p.before = append(p.before, p.held[d]); len(p.before) > 6 {
			p.before = p.before[1:]
		}
	}
	p.held[d] = s
}

// drop forgets these sessions: they are over.
func (p *person) drop(some ...*session) {
	for _, s := range some {
		p.mu.Lock()
		holds := p.held[s.device] == s
		p.mu.Unlock()
		if holds {
			p.put(s.device, nil)
		}
	}
}

// known are the sessions that the person still has the tokens of.
func (p *person) known() []*session {
	p.mu.Lock()
	before := slices.Clone(p.before)
	p.mu.Unlock()
	return append(before, p.all()...)
}

// mine sends a request of a person about the own sessions. A 401 says something of the
// token that asks.
func (p *person) mine(ctx context.Context, w *world, i *instance, s *session, q request, about judge.Event) reply {
	q.token = s.token
	r := w.ask(ctx, i, q)
	e := r.Event
	e.Op, e.User, e.Session, e.What = about.Op, p.name, about.Session, about.What
	if e.Op == judge.List && r.status == 200 {
		e.Listed = map[uint64]bool{}
		var page struct{ Sessions []struct{ ID string } }
		if json.Unmarshal(r.body, &page) != nil {
			e.Answer = judge.Undecided
		}
		for _, row := range page.Sessions {
			if id, err := strconv.ParseUint(row.ID, 10, 64); err == nil {
				e.Listed[id] = true
			}
		}
	}
	w.add(e)
	if r.status == 401 {
		w.asked(r, s)
		p.drop(s)
	}
	return r
}

// lookAfter has a person look at the own sessions, or end some.
func (p *person) lookAfter(ctx context.Context, w *world, r *rand.Rand, s *session) {
	i, all := w.any(r), p.all()
	switch r.IntN(6) {
	case 0:
		p.leave(ctx, w, i, s, true)
	case 1:
		p.leave(ctx, w, i, s, false)
	case 2:
		if other := all[r.IntN(len(all))]; other != s {
			about := judge.Event{Op: judge.EndOne, Session: other.id, What: fmt.Sprintf("end by %d of %d", s.id, other.id)}
			if p.mine(ctx, w, i, s, request{method: "DELETE", path: fmt.Sprint("/v1/me/sessions/", other.id)}, about).Answer == judge.Yes {
				p.drop(other)
			}
		}
	default:
		p.mine(ctx, w, i, s, request{method: "GET", path: "/v1/me/sessions", passive: true}, judge.Event{Op: judge.List, What: "GET /v1/me/sessions of " + p.name})
	}
}

// leave ends all sessions of a person, or all but s. The latter needs a proof of the last
// ten minutes; without it nothing ends.
func (p *person) leave(ctx context.Context, w *world, i *instance, s *session, everywhere bool) {
	all := p.all()
	q := request{method: "POST", path: "/v1/logout", body: map[string]bool{"everywhere": true}}
	about := judge.Event{Op: judge.EndUser, What: "logout everywhere of " + p.name}
	if !everywhere {
		q.path, q.body = "/v1/me/sessions/logout-others", nil
		about.Session, about.What = s.id, fmt.Sprintf("logout of all of %s but %d", p.name, s.id)
		all = slices.DeleteFunc(all, func(o *session) bool { return o == s })
	}
	r := p.mine(ctx, w, i, s, q, about)
	if r.Answer == judge.Yes {
		p.drop(all...)
	}
	if password, _ := p.secrets(); r.Code == "reauthentication_required" {
		w.ask(ctx, i, request{method: "POST", path: "/v1/me/reauthenticate", token: s.token, body: map[string]string{"password": password}})
	}
}
