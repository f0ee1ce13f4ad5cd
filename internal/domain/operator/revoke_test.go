package operator_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// logins have one session, are a store of it, and the book that ends it.
type logins struct {
	s      session.Session
	event  audit.Event
	ended  int
	heard  session.Session
	untold bool
}

func (l *logins) EndRecorded(_ context.Context, e session.Ending, event func(session.Session) (audit.Event, error)) (session.Session, error) {
	if e.ID != l.s.ID || !l.s.Hash.Equal(&e.Hash) {
		return session.Session{}, session.ErrNotFound
	}
	l.ended++
	l.s.Ended = e.Reason
	var err error
	l.event, err = event(l.s)
	return l.s, err
}

func (l *logins) Get(context.Context, idworker.ID) (session.Session, error) {
	return session.Session{}, session.ErrNotFound
}

func (l *logins) Settle(context.Context, idworker.ID, time.Time) (session.Session, error) {
	return session.Session{}, session.ErrNotFound
}

func (l *logins) Touch(context.Context, idworker.ID, time.Time) error { return nil }

func (l *logins) Hear(_ context.Context, ended session.Session) error {
	l.heard = ended
	if l.untold {
		return session.ErrUntold
	}
	return nil
}

func newRevocations() (*logins, *operator.Revocations, flakepass.Token) {
	token := flakepass.NewToken(flakepass.ID(idworker.Default().Smallest(now.Add(-time.Hour)) + 1))
	l := &logins{s: session.Session{ID: session.IDOf(token), UserID: 42, Username: "ada", Hash: session.HashOf(token), Seen: now}}
	service := &session.Service{Store: l, Rows: l, Policy: policy.Fixed(policy.Default()), Now: func() time.Time { return now }}
	return l, &operator.Revocations{Sessions: service, Book: l, IDs: &policyStore{}}, token
}

// TestRevocationIsAnEndAndItsRecord: the login is over as revoked, every
// instance is told, and the record says who did it.
func TestRevocationIsAnEndAndItsRecord(t *testing.T) {
	for _, untold := range []bool{false, true} {
		l, r, token := newRevocations()
		l.untold = untold
		billing := audit.Actor{ID: 7, Name: "billing", Via: audit.ViaAPI, RequestID: "r1"}
		ended, err := r.Revoke(t.Context(), billing, token)
		if errors.Is(err, session.ErrUntold) != untold || err != nil && !untold {
			t.Fatalf("Revoke: %v", err)
		}
		if ended.ID != session.IDOf(token) || ended.Ended != session.Revoked || l.heard.ID != session.IDOf(token) || l.heard.Ended != session.Revoked {
			t.Errorf("ended %+v, told %+v", ended, l.heard)
		}
		if e := l.event; e.ID == 0 || e.Action != audit.LoginEnded || e.By.ID != 7 || e.By.RequestID != "r1" ||
			e.Target.Kind != "login" || e.Target.ID != session.IDOf(token) || e.Reason == "" {
			t.Errorf("recorded %+v", e)
		}
	}
}

// TestRevocationOfWhatIsNobodysSucceeds: it is no way to find out.
func TestRevocationOfWhatIsNobodysSucceeds(t *testing.T) {
	l, r, token := newRevocations()
	for _, other := range []flakepass.Token{flakepass.NewToken(token.ID()), flakepass.NewToken(token.ID() + 1)} {
		if ended, err := r.Revoke(t.Context(), audit.Actor{}, other); err != nil || ended.ID != 0 {
			t.Errorf("Revoke: %+v, %v", ended, err)
		}
	}
	if l.ended != 0 || l.heard.ID != 0 {
		t.Errorf("a guess ended %d, told %+v", l.ended, l.heard)
	}
}

// TestRevocationWithoutARecordIsNone: an event that cannot be numbered ends
// nothing, and the caller is not told that it did.
func TestRevocationWithoutARecordIsNone(t *testing.T) {
	l, r, token := newRevocations()
	r.IDs = none{}
	if _, err := r.Revoke(t.Context(), audit.Actor{}, token); !errors.Is(err, errNone) || l.ended != 0 {
		t.Errorf("Revoke: %v, ended %d", err, l.ended)
	}
}

var errNone = errors.New("no number")

type none struct{}

func (none) Next(context.Context) (idworker.ID, error) { return 0, errNone }
