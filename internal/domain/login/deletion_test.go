package login_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// leaving has as many exports on record as are allowed, the first of them full.
type leaving struct {
	login.Leaving
	full idworker.ID
}

func (l *leaving) RecordExport(context.Context, audit.Event, time.Time, int) (idworker.ID, error) {
	return l.full, nil
}

// TestExportBeyondItsLimitIsLoggedAndCounted, as what other limits refuse.
func TestExportBeyondItsLimitIsLoggedAndCounted(t *testing.T) {
	w := newWorld(t)
	first := time.Now().Add(-time.Minute)
	w.login.Leaving = &leaving{full: idworker.Default().Smallest(first)}
	var counted []string
	w.login.Sources = &ratelimit.Limiter{Refused: func(name string) { counted = append(counted, name) }}
	_, err := w.login.Export(t.Context(), w.client())
	refused, limited := errors.AsType[*ratelimit.LimitedError](err)
	if !limited || refused.Limit != "export" || refused.Retry < 50*time.Minute || refused.Retry > time.Hour {
		t.Fatalf("refused with %v", err)
	}
	if !slices.Equal(counted, []string{"export"}) {
		t.Errorf("counted: %v", counted)
	}
	for _, part := range []string{`msg="own data not exported"`, `reason="rate_limited: export"`, "user_id=" + w.user.ID.String(), "from=192.0.2.7", "request_id=r"} {
		if !strings.Contains(w.log.String(), part) {
			t.Errorf("the log lacks %s: %s", part, &w.log)
		}
	}
}

// gone are the rows of somebody who was deleted.
type gone struct{}

func (gone) AskDeletion(context.Context, idworker.ID, audit.Event) ([]session.Session, error) {
	return nil, account.ErrNotFound
}

func (gone) RecordExport(context.Context, audit.Event, time.Time, int) (idworker.ID, error) {
	return 0, account.ErrNotFound
}

func (gone) WithLogins(context.Context, idworker.ID) (u account.User, held []session.Session, err error) {
	return u, nil, account.ErrNotFound
}

// TestTheLoginOfADeletedUserIsOver, whatever it is for: the account was deleted on another instance, which this one does not
// know yet. Whether that is so the row of the login says: a server that was replaced lacks a user who was made on the next one.
func TestTheLoginOfADeletedUserIsOver(t *testing.T) {
	w := newWorld(t)
	w.login.Leaving, w.login.Held, w.login.Grace = gone{}, gone{}, time.Hour
	c, p, code := as(w.client(), 404), account.NewPassword(oldPassword), secondfactor.NewCode("123456")
	for name, act := range map[string]func() error{
		"change of password": func() error { return w.login.ChangePassword(t.Context(), c, p, account.NewPassword(newPassword), code) },
		"confirmation":       func() error { return w.login.Reauthenticate(t.Context(), c, p, code) },
		"enrolment":          func() error { _, err := w.login.BeginFactor(t.Context(), c, p); return err },
		"first code":         func() error { _, err := w.login.ConfirmFactor(t.Context(), c, code); return err },
		"new codes":          func() error { _, err := w.login.RenewRecovery(t.Context(), c, p, code); return err },
		"removal":            func() error { return w.login.RemoveFactor(t.Context(), c, p, code) },
		"factor":             func() error { _, err := w.login.HasFactor(t.Context(), c); return err },
		"logins":             func() error { _, err := w.login.Logins(t.Context(), c); return err },
		"export":             func() error { _, err := w.login.Export(t.Context(), c); return err },
		"deletion":           func() error { _, err := w.login.AskDeletion(t.Context(), c); return err },
	} {
		w.sessions.over = errors.New("the login lives")
		_, refuses := errors.AsType[*flakepass.Refusal](act())
		if refuses {
			t.Errorf("%s: the server that has no such user lacks the login too, and refuses it", name)
		}
		w.sessions.over = nil
		err := act()
		refused, known := errors.AsType[*session.RefusedError](err)
		if !known || refused.ID != 70 || refused.UserID != 404 || refused.Username != "alice" || !errors.Is(err, flakepass.ErrRevoked) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
