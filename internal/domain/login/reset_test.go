package login_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// started is one reset, in memory.
type started struct {
	token     account.ResetToken
	user      account.User
	ended     []session.Session
	event     audit.Event
	used      account.PHC
	find      error
	use       error
	published []session.Session
	deaf      error
}

func (s *started) ByReset(_ context.Context, hash account.ResetHash, _ time.Time) (account.User, account.Issuer, error) {
	if s.find == nil && hash != s.token.Hash() {
		return account.User{}, account.Issuer{}, account.ErrReset
	}
	return s.user, account.Issuer{ID: 7, Name: "root"}, s.find
}

func (s *started) UseReset(_ context.Context, _ account.Reset, _ int64, hash account.PHC, _ time.Time, e audit.Event) ([]session.Session, error) {
	if s.use != nil {
		return nil, s.use
	}
	s.used, s.event = hash, e
	return s.ended, nil
}

func (s *started) Publish(_ context.Context, ended ...session.Session) error {
	s.published = append(s.published, ended...)
	return s.deaf
}

// hashes counts what is hashed.
type hashes struct {
	login.Accounts
	n int
}

func (h *hashes) NewHash(ctx context.Context, by account.Asker, name string, p account.Password) (account.PHC, error) {
	h.n++
	return h.Accounts.NewHash(ctx, by, name, p)
}

func newReset(t *testing.T) (*world, *started, *hashes) {
	t.Helper()
	w := newWorld(t)
	s := &started{token: account.NewResetToken(), user: w.user, ended: []session.Session{{ID: 9, UserID: w.user.ID}}}
	h := &hashes{Accounts: w.login.Accounts}
	w.login.Accounts, w.login.Links, w.login.Store = h, s, s
	return w, s, h
}

// use is alice, who uses a token that she was given.
func (w *world) use(token account.ResetToken, p string) error {
	return w.login.SetByLink(w.t.Context(), &login.Client{By: audit.Actor{Via: audit.ViaAPI, RequestID: "r"}}, token.Reveal(), account.NewPassword(p))
}

// The end of the login is published before the answer, so that the earlier token is
// dead by then.
func TestResetSetsThePasswordAndTellsOfTheEnd(t *testing.T) {
	r, s, _ := newReset(t)
	err := r.use(s.token, newPassword)
	if err != nil || s.event.Target.ID != s.user.ID || s.event.By.RequestID != "r" || s.used.IsZero() || len(s.published) != 1 || s.published[0].ID != 9 {
		t.Errorf("%+v, %v, published %v", s.event, err, s.published)
	}
	if got, want := string(s.event.New), `{"issued_by":"7"}`; got != want || s.event.By.ID != s.user.ID {
		t.Errorf("the use is recorded with %s by %+v, want %s", got, s.event.By, want)
	}
	s.ended, s.published = nil, nil // who had no login
	if err := r.use(s.token, newPassword); err != nil || len(s.published) != 0 {
		t.Errorf("%v, published %v", err, s.published)
	}
	s.ended, s.deaf = []session.Session{{ID: 9}}, session.ErrUnpublished
	if err := r.use(s.token, newPassword); err != nil || !strings.Contains(r.log.String(), session.ErrUnpublished.Error()) {
		t.Errorf("unpublished: %v, the log has %s", err, &r.log)
	}
}

// Who has no token learns nothing of the account, and costs no hash.
func TestTokenIsLookedAtFirst(t *testing.T) {
	r, s, h := newReset(t)
	for _, p := range []string{"x", "alice alice alice alice", newPassword} {
		if err := r.use(account.NewResetToken(), p); !errors.Is(err, account.ErrReset) {
			t.Errorf("%q: %v, want ErrReset", p, err)
		}
	}
	s.user.DisabledAt = time.Now()
	if err := r.use(s.token, newPassword); !errors.Is(err, account.ErrDisabled) {
		t.Errorf("disabled: %v", err)
	} else if known, ok := errors.AsType[*account.RefusedError](err); !ok || known.UserID != s.user.ID {
		t.Errorf("disabled: %+v, which names no user", known)
	}
	if h.n != 0 || len(s.published) != 0 {
		t.Errorf("%d hashes, published %v", h.n, s.published)
	}
}

func TestResetKeepsWhatItCannotDecide(t *testing.T) {
	r, s, _ := newReset(t)
	err := r.use(s.token, "short")
	if _, ok := errors.AsType[*invalid.Error](err); !ok || !s.used.IsZero() {
		t.Errorf("a short password: %v", err)
	}
	for _, away := range []error{context.DeadlineExceeded, account.ErrReset, account.ErrDisabled} {
		s.use = away
		if err := r.use(s.token, newPassword); !errors.Is(err, away) {
			t.Errorf("%v, want %v", err, away)
		}
	}
	s.find = context.DeadlineExceeded
	if err := r.use(s.token, newPassword); !errors.Is(err, s.find) || errors.Is(err, account.ErrReset) {
		t.Errorf("database away: %v", err)
	}
	if len(s.published) != 0 {
		t.Errorf("published %v", s.published)
	}
}
