package secondfactor_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
)

// A memory is a store of one user. What a database must do beside is held in
// package sqlstore.
type memory struct {
	mu      sync.Mutex
	kept    secondfactor.Factor
	version int64
	events  []audit.Action
	used    audit.Actor // of the last recovery code
}

func (m *memory) Factor(context.Context, idworker.ID) (secondfactor.Factor, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kept, nil
}

func (m *memory) Begin(_ context.Context, _ audit.Actor, _ idworker.ID, sealed []byte) (bool, error) {
	return m.set(func() bool { return m.kept.At.IsZero() }, func() { m.kept = secondfactor.Factor{Sealed: sealed} })
}

func (m *memory) Confirm(_ context.Context, _ idworker.ID, sealed []byte, f secondfactor.Factor, e audit.Event) (bool, error) {
	return m.set(func() bool { return m.kept.At.IsZero() && bytes.Equal(sealed, m.kept.Sealed) },
		func() { m.kept, m.events = f, append(m.events, e.Action) })
}

func (m *memory) UseStep(_ context.Context, _ idworker.ID, _ []byte, step int64) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ok := step > m.kept.Step
	if ok {
		m.kept.Step = step
	}
	return ok, nil
}

func (m *memory) UseRecovery(_ context.Context, _ idworker.ID, had, left []byte, e audit.Event) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ok := bytes.Equal(had, m.kept.Recovery)
	if ok {
		m.kept.Recovery, m.events, m.used = left, append(m.events, e.Action), e.By
	}
	return ok, nil
}

func (m *memory) RenewRecovery(_ context.Context, _ idworker.ID, version int64, next []byte, e audit.Event) (bool, error) {
	return m.set(func() bool { return m.version == version && !m.kept.At.IsZero() },
		func() { m.kept.Recovery, m.events = next, append(m.events, e.Action) })
}

func (m *memory) Remove(_ context.Context, _ idworker.ID, version int64, e audit.Event) (bool, error) {
	return m.set(func() bool { return m.version == version },
		func() { m.kept, m.events = secondfactor.Factor{}, append(m.events, e.Action) })
}

// set does change if still says so, both under the lock.
func (m *memory) set(still func() bool, change func()) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ok := still()
	if ok {
		change()
	}
	return ok, nil
}

type numbers struct{}

func (numbers) Next(context.Context) (idworker.ID, error) { return 1, nil }

// A world is a service with one user and a clock.
type world struct {
	*secondfactor.Service
	t       *testing.T
	kept    *memory
	user    account.User
	now     time.Time
	counted map[string]int
}

// by is who acts, as a request knows it before the user is known.
var by = audit.Actor{Via: audit.ViaAPI, RequestID: "r1"}

func newWorld(t *testing.T) *world {
	w := &world{
		t: t, kept: &memory{}, now: time.Date(2026, 11, 21, 9, 0, 10, 0, time.UTC), counted: map[string]int{},
		user: account.User{ID: 7, Username: "alice"},
	}
	w.Service = &secondfactor.Service{
		Store: w.kept, Codes: w.kept, Keys: keys(t, 'a'), IDs: numbers{}, Now: func() time.Time { return w.now }, Issuer: "flakepass",
		Checked: func(outcome string) { w.counted[outcome]++ },
	}
	return w
}

func keys(t *testing.T, all ...byte) secondfactor.Keys {
	t.Helper()
	var raw [][]byte
	for _, b := range all {
		raw = append(raw, bytes.Repeat([]byte{b}, secondfactor.KeyLength))
	}
	k, err := secondfactor.NewKeys(raw...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// enrolled is a world whose user has a factor, its secret and its recovery codes.
func enrolled(t *testing.T) (*world, string, []secondfactor.RecoveryCode) {
	t.Helper()
	w := newWorld(t)
	e, err := w.Begin(t.Context(), by, &w.user)
	if err != nil {
		t.Fatal(err)
	}
	codes, err := w.Confirm(t.Context(), by, &w.user, w.code(e.Secret.Reveal(), 0))
	if err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(90 * time.Second)
	return w, e.Secret.Reveal(), codes
}

// code is what an app shows whose clock is that many steps off.
func (w *world) code(secret string, steps int) secondfactor.Code {
	w.t.Helper()
	text, err := totp.GenerateCode(secret, w.now.Add(time.Duration(steps)*30*time.Second))
	if err != nil {
		w.t.Fatal(err)
	}
	return secondfactor.NewCode(text)
}

func (w *world) ticket(h secondfactor.Holder) string {
	w.t.Helper()
	ticket, err := w.Ticket(w.t.Context(), h)
	if err != nil {
		w.t.Fatal(err)
	}
	return ticket.Reveal()
}

func (w *world) check(c secondfactor.Code) error { return w.Check(w.t.Context(), by, &w.user, c) }
