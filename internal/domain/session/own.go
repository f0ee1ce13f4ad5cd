package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// The reasons, in the record, of ends by the holder that were not the logout of the login
// that asks. They are codes.
const (
	AnotherDevice = "another_device"
	OtherDevices  = "other_devices"
	Everywhere    = "everywhere"
)

// A Login is a session that lives, and what the policy of now makes of it.
type Login struct {
	Session
	IssuedAt, ExpiresAt, IdleExpiresAt time.Time
	// IdleBy and ExpiresBy name the override that says so; the zero Scope is the policy itself.
	IdleBy, ExpiresBy policy.Scope
}

// LoginOf is what that policy makes of s, or false if a request could no longer use it.
func LoginOf(s Session, rule *policy.Policy, now time.Time) (Login, bool) {
	issued := layout.Time(s.ID)
	lives := s.ID != 0 && s.Alive() && !OverBefore(s, rule, now).Before
	e := s.Expiry(rule)
	idle, absolute := rule.By(s.Device.ClassName(), s.Role)
	if s.Act != 0 {
		idle = policy.Scope{}
		if e.Absolute == ActLife { // by the policy, and by no override
			absolute = policy.Scope{}
		}
	}
	return Login{s, issued, e.ExpiresAt(issued), e.IdleExpiresAt(issued, s.Seen), idle, absolute}, lives
}

// Living are the logins of a user that live, of those that the rows hold, in the same order.
func (s *Service) Living(held []Session) ([]Login, error) {
	now, err := s.clock()
	if err != nil {
		return nil, err
	}
	logins, rule := make([]Login, 0, len(held)), s.Policy.Current()
	for _, one := range held {
		if l, lives := LoginOf(one, rule, now); lives {
			logins = append(logins, l)
		}
	}
	return logins, nil
}

// EndOwn ends the login with that ID, of the user who acts, and returns it, as [Service.Close]
// does. It fails with [ErrNotFound] if it is none of this user, whoever else may have it.
//
// The end of another login needs a proof (OWASP ASVS 5.0, 7.5.2): who has stolen a token
// must not lock the holder out of the other devices. The end of the login that acts is a
// logout. The end of an impersonation needs no proof.
func (s *Service) EndOwn(ctx context.Context, by audit.Actor, id idworker.ID) (Session, error) {
	r := &Record{By: by, Need: audit.NeedsLogin}
	if id != by.Session {
		r.Need, r.Reason = audit.NeedsOwnProof, AnotherDevice
	}
	ended, err := s.endOwn(ctx, Ending{ID: id, Reason: LoggedOut, Record: r}, func(e Ending) ([]Session, error) {
		// A login never changes its user: what is read here is still so in the transaction.
		held, err := s.Rows.Get(ctx, id, Hash{})
		if err != nil {
			return nil, err
		}
		if held.UserID != by.ID {
			return nil, ErrNotFound
		}
		if held.Act != 0 {
			r.Need = audit.NeedsLogin // to end what support does locks nobody out
		}
		one, err := s.Writer.End(ctx, e)
		return []Session{one}, err
	})
	if len(ended) == 0 {
		return Session{}, err
	}
	return ended[0], err
}

// EndOthers ends all logins of the user who acts but the one that acts. It needs a proof, as
// [Service.EndOwn] of another login does. It returns those that it ended.
func (s *Service) EndOthers(ctx context.Context, by audit.Actor) ([]Session, error) {
	r := &Record{By: by, Need: audit.NeedsOwnProof, Reason: OtherDevices}
	return s.endOwn(ctx, Ending{UserID: by.ID, Reason: LoggedOut, Record: r}, func(e Ending) ([]Session, error) {
		return s.Writer.EndUser(ctx, e, by.Session)
	})
}

// EndEverywhere ends all logins of the user who acts, and returns those that it ended.
//
// It needs no proof: who has lost a phone, and may not have the second factor at hand, must
// not be hindered. Who has stolen a token ends that login with the others, and gains nothing.
func (s *Service) EndEverywhere(ctx context.Context, by audit.Actor) ([]Session, error) {
	r := &Record{By: by, Need: audit.NeedsLogin, Reason: Everywhere}
	return s.endOwn(ctx, Ending{UserID: by.ID, Reason: LoggedOut, Record: r}, func(e Ending) ([]Session, error) {
		return s.Writer.EndUser(ctx, e, 0)
	})
}

// Over is why a login is over whose user was not found: the user was deleted, and the login ended with
// the account. Its row decides. If the login lives there, the server that was asked for the user lacks
// that user, and the error is no [*flakepass.Refusal].
func (s *Service) Over(ctx context.Context, id idworker.ID) error {
	got, err := s.Rows.Get(ctx, id, Hash{})
	switch {
	case errors.Is(err, ErrNotFound):
		return RefusalOf(Revoked)
	case err != nil:
		return fmt.Errorf("session: over: %w", err)
	case got.Alive():
		return errLives
	}
	return RefusalOf(got.Ended)
}

var errLives = errors.New("session: the login lives, and its user was not found")

// endOwn does what ends logins of the user who acts, and publishes the ends. It is always on
// record: the transaction that writes the event is the one that checks the right.
func (s *Service) endOwn(ctx context.Context, e Ending, ends func(Ending) ([]Session, error)) ([]Session, error) {
	if err := s.complete(ctx, e.Record); err != nil {
		return nil, fmt.Errorf("session: end of own logins: %w", err)
	}
	ended, err := ends(e)
	// If nothing was written, no transaction has checked the right. An actor without the right must
	// get an error, and not the answer that all is done. If there is no such login, the actor needs
	// no proof to be told so.
	need := e.Record.Need
	if errors.Is(err, ErrNotFound) {
		need = audit.NeedsLogin
	}
	if errors.Is(err, ErrNotFound) || err == nil && (len(ended) == 0 || ended[0].Before) {
		err = cmp.Or(s.Rights.Authorize(ctx, e.Record.By, need), err)
	}
	if err != nil {
		return nil, fmt.Errorf("session: end of own logins: %w", err)
	}
	err = s.Store.Publish(ctx, ended...)
	for i := range ended {
		ended[i] = OverBefore(ended[i], e.Record.Policy, e.Record.Now)
	}
	if err != nil {
		return ended, fmt.Errorf("session: end of own logins: %w", err)
	}
	return ended, nil
}
