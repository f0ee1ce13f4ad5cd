package sessiontest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A Memory is a Store and a Writer in memory: the truth for tests of what stands
// in front of it. It forgets nothing. The zero Memory is empty and ready.
type Memory struct {
	mu       sync.Mutex
	users    map[idworker.ID]*user
	sessions map[idworker.ID]session.Session
}

type user struct {
	name    string
	current idworker.ID
	highest idworker.ID
}

var (
	_ session.Rows   = (*Memory)(nil)
	_ session.Writer = (*Memory)(nil)
)

// errStale is what Begin fails with if the password is another by now.
var errStale = errors.New("sessiontest: no such user with that password")

// AddUser adds a user, as [Stack] wants it.
func (m *Memory) AddUser(*testing.T) (idworker.ID, string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.users == nil {
		m.users, m.sessions = map[idworker.ID]*user{}, map[idworker.ID]session.Session{}
	}
	id := idworker.ID(len(m.users) + 1)
	name := fmt.Sprintf("user%d", id)
	m.users[id] = &user{name: name}
	return id, name
}

// Get implements [session.Store].
func (m *Memory) Get(ctx context.Context, id idworker.ID, _ session.Hash) (session.Session, error) {
	asOf := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return session.Session{}, err
	}
	s, ok := m.sessions[id]
	if !ok {
		return session.Session{}, session.ErrNotFound
	}
	s.AsOf = asOf
	return s, nil
}

// Touch implements [session.Store].
func (m *Memory) Touch(_ context.Context, id idworker.ID, seen time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s, ok := m.sessions[id]; ok && s.Alive() && seen.After(s.Seen) {
		s.Seen = seen.Truncate(time.Millisecond).UTC()
		m.sessions[id] = s
	}
	return nil
}

// TouchAll touches many sessions, as a tier that writes behind wants it.
func (m *Memory) TouchAll(ctx context.Context, seen map[idworker.ID]time.Time, _ time.Duration) (map[idworker.ID]time.Time, error) {
	rows := make(map[idworker.ID]time.Time, len(seen))
	for id, at := range seen {
		s, err := m.Settle(ctx, id, at)
		if err == nil && s.Alive() {
			rows[id] = s.Seen
		} else {
			rows[id] = time.Time{}
		}
	}
	return rows, nil
}

// Settle implements [session.Rows]. No policy ends anything here.
func (m *Memory) Settle(ctx context.Context, id idworker.ID, used time.Time) (session.Session, error) {
	if err := m.Touch(ctx, id, used); err != nil {
		return session.Session{}, err
	}
	return m.Get(ctx, id, session.Hash{})
}

// Publish does nothing: the end was committed here.
func (m *Memory) Publish(context.Context, ...session.Session) error { return nil }

// Begin implements [session.Writer].
func (m *Memory) Begin(_ context.Context, o session.Opening) (session.Begun, error) {
	asOf := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	u, ok := m.users[o.UserID]
	if !ok || o.PasswordVersion != 1 {
		return session.Begun{}, errStale
	}
	if o.ID <= u.highest {
		return session.Begun{}, &session.IDError{Above: u.highest}
	}
	var begun session.Begun
	if u.current != 0 {
		begun.Replaced = []session.Session{m.end(u, asOf, session.Replaced)}
	}
	begun.Session = session.Session{
		ID: o.ID, UserID: o.UserID, Username: u.name, Role: "user", Hash: o.Hash, Device: o.Device, Auth: o.Place.Issued.How(),
		Seen: o.Seen.Truncate(time.Millisecond).UTC(), AsOf: asOf,
	}
	u.current, u.highest = o.ID, o.ID
	m.sessions[o.ID] = begun.Session
	return begun, nil
}

// End implements [session.Writer].
func (m *Memory) End(_ context.Context, e session.Ending) (session.Session, error) {
	asOf := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.sessions[e.ID]
	if !ok || !s.Hash.Equal(&e.Hash) {
		return session.Session{}, session.ErrNotFound
	}
	if !s.Alive() {
		s.Before = true
		return s, nil
	}
	return m.end(m.users[s.UserID], asOf, e.Reason), nil
}

// EndUser implements [session.Writer]. A user has one session at a time here.
func (m *Memory) EndUser(_ context.Context, e session.Ending, keep idworker.ID) ([]session.Session, error) {
	asOf := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	u, ok := m.users[e.UserID]
	switch {
	case !ok || u.current == 0:
		return nil, session.ErrNotFound
	case u.current == keep:
		return nil, nil
	}
	return []session.Session{m.end(u, asOf, e.Reason)}, nil
}

func (m *Memory) end(u *user, asOf time.Time, why session.Reason) session.Session {
	s := m.sessions[u.current]
	s.AsOf, s.Ended = asOf, why
	m.sessions[s.ID] = s
	u.current = 0
	return s
}
