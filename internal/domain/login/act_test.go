package login_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/activity"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// TestOwnActsAreOnRecordWithoutAPlace: by the request and the login, and without
// where people are; only what is refused has an address.
func TestOwnActsAreOnRecordWithoutAPlace(t *testing.T) {
	w := newWorld(t)
	if err := w.login.Reauthenticate(t.Context(), w.client(), account.NewPassword(oldPassword), secondfactor.Code{}); err != nil {
		t.Fatal(err)
	}
	if err := w.change(oldPassword, newPassword); err != nil {
		t.Fatal(err)
	}
	if _, err := w.login.CreateFirst(t.Context(), &login.Client{By: audit.Actor{Via: audit.ViaConsole, RequestID: "r"}}, "grace", account.NewPassword(newPassword)); err != nil {
		t.Fatal(err)
	}
	want := []audit.Action{audit.Reauthenticated, audit.PasswordChanged, audit.UserCreated}
	if len(w.users.events) != len(want) {
		t.Fatalf("on record: %+v", w.users.events)
	}
	for i, e := range w.users.events {
		if e.Action != want[i] || e.By.Address != "" || e.By.RequestID != "r" || e.By.Via != audit.ViaConsole || e.By.ID == 0 || e.By.Name == "" {
			t.Errorf("on record: %+v", e)
		}
	}
	_ = w.change("not the right passphrase", newPassword)
	if len(w.refusals) != 1 || w.refusals[0].By.Address != "192.0.2.7" || w.refusals[0].Target.ID != w.user.ID || w.refusals[0].Reason != "current_password_invalid" {
		t.Errorf("refused: %+v", w.refusals)
	}
}

// TestWhatALimitRefusesIsCalledByItsName, with whose attempt it was, whichever act
// it is of.
func TestWhatALimitRefusesIsCalledByItsName(t *testing.T) {
	w, _ := newGuarded(t)
	w.limits.err = &ratelimit.LimitedError{Limit: "login-place", Retry: time.Second}
	c := w.client()
	p := account.NewPassword(oldPassword)
	for name, act := range map[string]func() error{
		"password":       func() error { return w.change(oldPassword, newPassword) },
		"reauthenticate": func() error { return w.login.Reauthenticate(t.Context(), c, p, good) },
		"enrol":          func() error { _, err := w.login.BeginFactor(t.Context(), c, p); return err },
		"confirm":        func() error { _, err := w.login.ConfirmFactor(t.Context(), c, good); return err },
		"renew":          func() error { _, err := w.login.RenewRecovery(t.Context(), c, p, good); return err },
		"remove":         func() error { return w.login.RemoveFactor(t.Context(), c, p, good) },
	} {
		w.refusals = nil
		w.log.Reset()
		if _, limited := errors.AsType[*ratelimit.LimitedError](act()); !limited {
			t.Errorf("%s: not refused", name)
		}
		if len(w.refusals) != 1 || w.refusals[0].Action != audit.LoginThrottled || w.refusals[0].Reason != "rate_limited: login-place" || w.refusals[0].Target.ID != w.user.ID ||
			!strings.Contains(w.log.String(), "event=login.throttled") {
			t.Errorf("%s: on record %+v, in the log %s", name, w.refusals, &w.log)
		}
	}
}

// TestUndecidedRegistrationIsGivenBack: a new account or a link for which the fault is
// here costs its address nothing; what was decided does.
func TestUndecidedRegistrationIsGivenBack(t *testing.T) {
	outage := errors.New("the database is away")
	for _, c := range []struct {
		err  error
		back int
	}{{outage, 1}, {context.DeadlineExceeded, 1}, {account.ErrExists, 0}, {nil, 0}} {
		w := newWorld(t)
		w.users.err = c.err
		if _, err := w.login.Register(t.Context(), w.client(), "bob.by.himself", account.NewPassword(newPassword)); !errors.Is(err, c.err) || w.limits.returned != c.back {
			t.Errorf("Register after %v: %v, %d given back, want %d", c.err, err, w.limits.returned, c.back)
		}
	}
	for _, c := range []struct {
		find, use error
		back      int
	}{{outage, nil, 1}, {nil, outage, 1}, {account.ErrReset, nil, 0}, {nil, account.ErrReset, 0}, {nil, account.ErrDisabled, 0}, {nil, nil, 0}} {
		w, s, _ := newReset(t)
		s.find, s.use = c.find, c.use
		if err := w.use(s.token, newPassword); w.limits.returned != c.back {
			t.Errorf("a link after %v and %v: %v, %d given back, want %d", c.find, c.use, err, w.limits.returned, c.back)
		}
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	w := newWorld(t)
	w.users.err = outage
	if _, err := w.login.Register(gone, w.client(), "bob.by.himself", account.NewPassword(newPassword)); err == nil || w.limits.returned != 0 && !errors.Is(err, context.Canceled) {
		t.Errorf("of who has left: %v, %d given back", err, w.limits.returned)
	}
}

// ends are logins that end as a test has set.
type ends struct {
	login.Sessions
	ended session.Session
	err   error
}

func (e ends) Close(context.Context, audit.Actor, flakepass.Token) (session.Session, error) {
	return e.ended, e.err
}
func (e ends) Revoke(context.Context, audit.Actor, flakepass.Token) (session.Session, error) {
	return e.ended, e.err
}

// counted keeps what was counted.
type counted struct{ counts []activity.Count }

func (c *counted) Add(_ context.Context, _ string, counts []activity.Count) error {
	c.counts = append(c.counts, counts...)
	return nil
}
func (*counted) Prune(context.Context, time.Time) error { return nil }

// TestAnEndIsCountedOnce, whether the holder or a service has ended the
// login, and a session that was over, or is unknown, is not counted.
func TestAnEndIsCountedOnce(t *testing.T) {
	living := session.Session{ID: 9, UserID: 7, Ended: session.LoggedOut}
	over, support := living, living
	over.Before, support.Act = true, 5
	for name, c := range map[string]struct {
		ends
		count int64
		line  string
	}{
		"ended":       {ends{ended: living}, 1, "event="},
		"of an admin": {ends{ended: support}, 0, "event=impersonation.ended"},
		"under way":   {ends{ended: living, err: session.ErrUnpublished}, 1, "event="},
		"over":        {ends{ended: over}, 0, "that was over"},
		"unknown":     {ends{}, 0, ""},
		"not decided": {ends{ended: living, err: errors.New("away")}, 0, ""},
	} {
		for what, end := range map[string]func(*login.Service, *login.Client, flakepass.Token) error{
			"logout": func(s *login.Service, by *login.Client, tok flakepass.Token) error {
				return s.Logout(t.Context(), by, tok)
			},
			"revocation": func(s *login.Service, by *login.Client, tok flakepass.Token) error {
				return s.Revoke(t.Context(), by, tok)
			},
		} {
			w, kept := newWorld(t), &counted{}
			w.login.Sessions = c.ends
			w.login.Counts = &activity.Counter{Store: kept, Instance: "1", Now: time.Now, Log: w.login.Log}
			if err := end(w.login, w.client(), flakepass.NewToken(flakepass.ID(9))); !errors.Is(err, c.err) {
				t.Errorf("%s, %s: %v", what, name, err)
			}
			if err := w.login.Counts.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			n := int64(0)
			if i := slices.IndexFunc(kept.counts, func(k activity.Count) bool { return k.Kind == activity.Logout }); i >= 0 {
				n = kept.counts[i].N
			}
			line := c.line
			if what == "revocation" && strings.HasPrefix(line, "event=") { // the service's own line
				line = "revoked"
			}
			if n != c.count || !strings.Contains(w.log.String(), line) || (line == "") != (w.log.Len() == 0) {
				t.Errorf("%s, %s: counted %d times, want %d; the log has %s", what, name, n, c.count, &w.log)
			}
		}
	}
}
