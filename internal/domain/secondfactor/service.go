package secondfactor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

var (
	// ErrOff means that no user can enrol here, for no key is configured.
	ErrOff = errors.New("no second factor can be enrolled: FLAKEPASS_SECOND_FACTOR_KEY is not set")
	// ErrEnrolled means that the user has a second factor already.
	ErrEnrolled = errors.New("there is a second factor already")
	// ErrNotEnrolled means that the user has none, or none to confirm.
	ErrNotEnrolled = errors.New("there is no second factor")
	// ErrRequired means that the password is right, and that no code came with it.
	ErrRequired = errors.New("a code of the second factor is needed")
	// ErrUnchecked goes with another error of a user who has a second factor. It
	// means that no code was checked yet, so that the attempt must not be forgiven.
	ErrUnchecked = errors.New("the second factor was not checked")
	// ErrInvalid means that a code is wrong, too old, or was used before.
	ErrInvalid = errors.New("the code of the second factor is not valid")
)

// A Service enrols second factors and checks their codes. Set the fields once,
// before use; only Checked may be nil.
type Service struct {
	Store  Store
	Codes  CodeStore
	Keys   Keys // none: no user can enrol, and codes of those who have cannot be checked
	IDs    audit.IDs
	Now    func() time.Time // by which codes count (OWASP ASVS 5.0, 6.5.8)
	Issuer string           // what an app shows beside the account

	// Checked is called with the outcome of each code: code, recovery, required or invalid.
	Checked func(outcome string)

	once sync.Once
	own  Keys // of tickets, without other keys
}

// An Enrolment is shown once.
type Enrolment struct {
	Secret Secret
	URI    URI
}

// Begin makes a secret for a user. It counts after [Service.Confirm] has accepted a code
// of it. An earlier secret that was not confirmed is removed.
// It fails with [ErrOff] or [ErrEnrolled].
func (s *Service) Begin(ctx context.Context, by audit.Actor, user *account.User) (Enrolment, error) {
	if s.Keys.None() {
		return Enrolment{}, fmt.Errorf("secondfactor: begin: %w", ErrOff)
	}
	secret := newSecret()
	uri, err := secret.uri(s.Issuer, user.Username)
	if err != nil {
		return Enrolment{}, err
	}
	ok, err := s.Store.Begin(ctx, byUser(by, user), user.ID, s.Keys.seal(forSecret, user.ID, secret.bytes()))
	if err == nil && !ok {
		err = ErrEnrolled
	}
	if err != nil {
		return Enrolment{}, fmt.Errorf("secondfactor: begin: %w", err)
	}
	return Enrolment{secret, uri}, nil
}

// Confirm activates the secret to which code belongs, and returns the recovery codes, of
// which only hashes are kept. It fails with [ErrRequired],
// [ErrInvalid], [ErrNotEnrolled] or [ErrEnrolled].
func (s *Service) Confirm(ctx context.Context, by audit.Actor, user *account.User, code Code) ([]RecoveryCode, error) {
	for tried := []byte(nil); ; {
		f, err := s.Store.Factor(ctx, user.ID)
		switch {
		case err != nil:
			return nil, fmt.Errorf("secondfactor: confirm: %w", err)
		case !f.At.IsZero():
			return nil, fmt.Errorf("secondfactor: confirm: %w", ErrEnrolled)
		case f.Sealed == nil:
			return nil, fmt.Errorf("secondfactor: confirm: %w", ErrNotEnrolled)
		case !code.Given():
			return nil, s.count("required", ErrRequired)
		case tried != nil && bytes.Equal(tried, f.Sealed):
			return nil, s.count("invalid", ErrInvalid)
		}
		codes, err := s.confirm(ctx, by, user, &f, code)
		if err != nil || codes != nil {
			return codes, err
		}
		tried = f.Sealed // another by now; if it is the same secret under another key, the code is good
	}
}

// confirm activates the factor f. It returns no codes if the store has another one.
func (s *Service) confirm(ctx context.Context, by audit.Actor, user *account.User, f *Factor, code Code) ([]RecoveryCode, error) {
	step, err := s.stepOf(user.ID, f, code)
	if err != nil {
		return nil, err
	}
	e, err := s.event(ctx, by, audit.NeedsLogin, audit.SecondFactorEnrolled, user, nil)
	if err != nil {
		return nil, err
	}
	codes, kept := newRecovery(user.ID)
	at := s.Now().UTC().Truncate(time.Millisecond) // as it is stored
	ok, err := s.Store.Confirm(ctx, user.ID, f.Sealed, Factor{Sealed: f.Sealed, At: at, Step: step, Recovery: kept}, e)
	if err != nil {
		return nil, fmt.Errorf("secondfactor: confirm: %w", err)
	}
	if !ok {
		return nil, nil
	}
	return codes, s.count("code", nil)
}

// Check accepts a code of the user's second factor. The code is then used up, even if
// the act that it was for fails. It fails with [ErrRequired], [ErrInvalid] or
// [ErrNotEnrolled], and with [ErrSealed] if the secret cannot be read; a recovery
// code is taken all the same.
func (s *Service) Check(ctx context.Context, by audit.Actor, user *account.User, code Code) error {
	return s.check(ctx, by, user, code, nil)
}

// CheckTicket is Check for a client that has sent a ticket in place of the password. It
// also fails with [ErrTicket] if a code was accepted, or the recovery codes were renewed,
// since the ticket was given: a ticket works once. If two codes come with one ticket at
// the same moment, both may be accepted. A ticket of a holder who had shown the code needs none.
func (s *Service) CheckTicket(ctx context.Context, by audit.Actor, user *account.User, h Holder, code Code) error {
	if h.Last != 0 {
		return s.unused(ctx, h)
	}
	return s.check(ctx, by, user, code, &h.Uses)
}

func (s *Service) check(ctx context.Context, by audit.Actor, user *account.User, code Code, since *Uses) error {
	if !code.Given() {
		return s.count("required", ErrRequired)
	}
	for tried := []byte(nil); ; {
		f, err := s.Store.Factor(ctx, user.ID)
		switch {
		case err != nil:
			return fmt.Errorf("secondfactor: check: %w", err)
		case f.At.IsZero():
			return fmt.Errorf("secondfactor: check: %w", ErrNotEnrolled)
		case since != nil && *since != f.uses():
			return fmt.Errorf("secondfactor: check: %w", ErrTicket)
		case tried != nil && bytes.Equal(tried, f.Sealed):
			return s.count("invalid", ErrInvalid) // it was used at the same time
		}
		if left, ok := code.without(user.ID, f.Recovery); ok {
			again, err := s.recover(ctx, by, user, f.Recovery, left)
			if again {
				continue // another code was used at the same time, and this one may be left
			}
			return err
		}
		step, err := s.stepOf(user.ID, &f, code)
		if err != nil {
			return err
		}
		ok, err := s.Codes.UseStep(ctx, user.ID, f.Sealed, step)
		if err != nil {
			return fmt.Errorf("secondfactor: check: %w", err)
		}
		if ok {
			return s.count("code", nil)
		}
		tried = f.Sealed // if it is under another key by now, the code was not looked at
	}
}

// recover uses up a recovery code. again means that the row has changed.
func (s *Service) recover(ctx context.Context, by audit.Actor, user *account.User, had, left []byte) (again bool, err error) {
	e, err := s.event(ctx, by, audit.NeedsNothing, audit.RecoveryCodeUsed, user, map[string]int{"left": len(left) / 32})
	if err != nil {
		return false, err
	}
	ok, err := s.Codes.UseRecovery(ctx, user.ID, had, left, e)
	if err != nil {
		return false, fmt.Errorf("secondfactor: recovery code: %w", err)
	}
	if !ok {
		return true, nil
	}
	return false, s.count("recovery", nil)
}

// stepOf is the time step whose code this is, or [ErrInvalid].
func (s *Service) stepOf(user idworker.ID, f *Factor, code Code) (int64, error) {
	if code.kind != ofApp {
		return 0, s.count("invalid", ErrInvalid)
	}
	secret, err := s.Keys.open(forSecret, user, f.Sealed)
	if err != nil {
		return 0, err
	}
	step, ok := code.step(secretOf(secret), s.Now().Unix()/stepSeconds, f.Step)
	if !ok {
		return 0, s.count("invalid", ErrInvalid)
	}
	return step, nil
}

// Remove forgets the factor of a user whose password, in the version that user
// has, and whose code were checked. It fails with [account.ErrStale] if either
// changed meanwhile.
func (s *Service) Remove(ctx context.Context, by audit.Actor, user *account.User) error {
	e, err := s.event(ctx, by, audit.NeedsLogin, audit.SecondFactorRemoved, user, nil)
	if err != nil {
		return err
	}
	ok, err := s.Store.Remove(ctx, user.ID, user.PasswordVersion, e)
	if err == nil && !ok {
		err = account.ErrStale
	}
	if err != nil {
		return fmt.Errorf("secondfactor: remove: %w", err)
	}
	return nil
}

// event is one about a user's own factor, by that user, who needs that for it.
func (s *Service) event(ctx context.Context, by audit.Actor, need audit.Need, action audit.Action, user *account.User, after any) (audit.Event, error) {
	return audit.New(ctx, s.IDs, byUser(by, user), need, action, audit.Target{Kind: "user", ID: user.ID, Name: user.Username}, "", nil, after)
}

// byUser is by as that user, who need not be logged in yet: without key and address of an issuer
// that brings the code.
func byUser(by audit.Actor, user *account.User) audit.Actor {
	by.ID, by.Name, by.Key, by.Address = user.ID, user.Username, 0, ""
	return by
}

// count reports an outcome, and returns err.
func (s *Service) count(outcome string, err error) error {
	if s.Checked != nil {
		s.Checked(outcome)
	}
	return err
}
