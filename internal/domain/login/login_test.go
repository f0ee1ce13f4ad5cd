package login_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/activity"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/accounttest"
)

const (
	oldPassword = "correct horse battery staple"
	newPassword = "another long passphrase here"
)

func TestLoginOpensForTheRightPassword(t *testing.T) {
	w := newWorld(t)
	opened, err := w.login.Login(t.Context(), w.client(), login.Credentials{Username: "Alice", Password: account.NewPassword(oldPassword), Code: secondfactor.Code{}})
	if err != nil || session.UserOf(opened.Identity) != w.user.ID {
		t.Fatalf("Login = %v, %v; want alice's", opened, err)
	}
	if got, want := w.sessions.version, w.user.PasswordVersion; got != want {
		t.Errorf("opened with version %d of the password, want %d: the one that was checked", got, want)
	}
}

func TestLoginRefusesTheWrongPasswordWithoutOpening(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"alice", "nobody"} {
		if _, err := w.login.Login(t.Context(), w.client(), login.Credentials{Username: name, Password: account.NewPassword("not the right passphrase"), Code: secondfactor.Code{}}); !errors.Is(err, account.ErrWrong) {
			t.Errorf("Login(%q) = %v, want ErrWrong", name, err)
		}
	}
	if w.sessions.opened != 0 {
		t.Errorf("%d sessions opened, want none", w.sessions.opened)
	}
}

// The log names the account, also when the password was right and the account was
// refused afterwards.
func TestRefusedLoginSaysWhoseNameItWas(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		name, password string
		open           error
		known          bool
	}{
		{"alice", "not the right passphrase", nil, true},
		{"alice", oldPassword, account.ErrDisabled, true},
		{"alice", oldPassword, account.ErrStale, true},
		{"nobody", oldPassword, nil, false},
	} {
		w.sessions.err = c.open
		_, err := w.login.Login(t.Context(), w.client(), login.Credentials{Username: c.name, Password: account.NewPassword(c.password), Code: secondfactor.Code{}})
		refused, known := errors.AsType[*account.RefusedError](err)
		if err == nil || known != c.known || known && refused.UserID != w.user.ID {
			t.Errorf("%s, %v: %v, known: %v", c.name, c.open, err, known)
		}
	}
}

func TestLoginDoesNotCallAnOutageAWrongPassword(t *testing.T) {
	w := newWorld(t)
	w.sessions.err = errors.New("the database is away")
	if _, err := w.login.Login(t.Context(), w.client(), login.Credentials{Username: "alice", Password: account.NewPassword(oldPassword), Code: secondfactor.Code{}}); err == nil || errors.Is(err, account.ErrWrong) {
		t.Errorf("Login = %v, want the outage", err)
	}
}

func TestChangePasswordEndsTheLoginAndSaysSo(t *testing.T) {
	w := newWorld(t)
	w.users.ended = []session.Session{{ID: 8, UserID: w.user.ID, Slot: 1, Ended: session.PasswordChanged}, {ID: 7, UserID: w.user.ID, Ended: session.PasswordChanged}}
	if err := w.change(oldPassword, newPassword); err != nil {
		t.Fatal(err)
	}
	if len(w.published) != 2 || w.published[0].ID != 8 || w.published[1].ID != 7 {
		t.Errorf("published %v, want all sessions that ended", w.published)
	}
	if _, err := w.login.Login(t.Context(), w.client(), login.Credentials{Username: "alice", Password: account.NewPassword(newPassword), Code: secondfactor.Code{}}); err != nil {
		t.Errorf("the new password does not open: %v", err)
	}
}

func TestChangePasswordWithoutALoginPublishesNothing(t *testing.T) {
	w := newWorld(t)
	if err := w.change(oldPassword, newPassword); err != nil || len(w.published) != 0 {
		t.Errorf("ChangePassword = %v and %v was published, want no error and nothing", err, w.published)
	}
}

func TestChangePasswordChangesNothingWhenRefused(t *testing.T) {
	w := newWorld(t)
	if err := w.change("not the right passphrase", newPassword); !errors.Is(err, account.ErrWrong) {
		t.Errorf("with a wrong current password: %v, want ErrWrong", err)
	}
	if _, wrong := errors.AsType[*invalid.Error](w.change(oldPassword, "short")); !wrong {
		t.Error("a short new password was not refused as invalid")
	}
	w.users.err = account.ErrStale
	if err := w.change(oldPassword, newPassword); !errors.Is(err, account.ErrUndecided) || errors.Is(err, account.ErrWrong) {
		t.Errorf("of an account that changes all the time: %v, want undecided", err)
	}
	if w.users.changed != 0 || len(w.published) != 0 {
		t.Errorf("%d changes and %v published, want none", w.users.changed, w.published)
	}
}

// TestChangePasswordIsDoneWhenWordIsUnderWay: the log says so.
func TestChangePasswordIsDoneWhenWordIsUnderWay(t *testing.T) {
	w := newWorld(t)
	w.users.ended = []session.Session{{ID: 8, UserID: w.user.ID, Slot: 1, Ended: session.PasswordChanged}, {ID: 7, UserID: w.user.ID, Ended: session.PasswordChanged}}
	w.hearErr = session.ErrUnpublished
	if err := w.change(oldPassword, newPassword); err != nil || !strings.Contains(w.log.String(), session.ErrUnpublished.Error()) {
		t.Errorf("ChangePassword = %v, want none, and the log has %s", err, &w.log)
	}
}

// A world is a login service with one user, over fakes.
type world struct {
	t         *testing.T
	login     *login.Service
	user      account.User
	users     *users
	sessions  *sessions
	limits    *limits
	published []session.Session
	hearErr   error
	log       bytes.Buffer
	refusals  []audit.Incident
}

func (w *world) Note(s audit.Incident) bool { w.refusals = append(w.refusals, s); return true }

// client is alice, who is logged in, at some address.
func (w *world) client() *login.Client {
	return &login.Client{
		By:      audit.Actor{ID: w.user.ID, Session: 70, Name: w.user.Username, Via: audit.ViaConsole, RequestID: "r"},
		Address: netip.MustParseAddr("192.0.2.7"),
	}
}

// as is a client who is logged in as another user.
func as(c *login.Client, id idworker.ID) *login.Client { c.By.ID = id; return c }

// limits count what is tried, given back and forgiven.
type limits struct {
	err                     error
	tried, returned, proved int
	notice                  ratelimit.Notice
	forgotten               []string
	provedAs                string
}

func (l *limits) Login(context.Context, ratelimit.Attempt) (ratelimit.Taken, error) {
	l.tried++
	return ratelimit.Taken{}, l.err
}

func (l *limits) LoggedIn(_ context.Context, t ratelimit.Taken, _ idworker.ID) ratelimit.Notice {
	l.proved++
	l.provedAs = t.Attempt.Account
	return l.notice
}
func (l *limits) Return(context.Context, ratelimit.Taken)                  { l.returned++ }
func (*limits) NewDevice(ratelimit.Attempt) (c ratelimit.DeviceCredential) { return c }
func (l *limits) Register(ctx context.Context, _ netip.Addr) (ratelimit.Taken, error) {
	return l.Login(ctx, ratelimit.Attempt{})
}
func (l *limits) Reset(ctx context.Context, _ netip.Addr) (ratelimit.Taken, error) {
	return l.Login(ctx, ratelimit.Attempt{})
}
func (l *limits) WasReset(_ context.Context, a ratelimit.Attempt) {
	l.forgotten = append(l.forgotten, a.Account)
}
func (*limits) RefuseExport(wait time.Duration) error {
	return (&ratelimit.Limiter{}).RefuseExport(wait)
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, users: &users{Users: &accounttest.Users{}}, sessions: &sessions{}, limits: &limits{}}
	accounts := &account.Service{Users: w.users.Users, Hasher: accounttest.NewHasher(t), IDs: &counter{}, Now: time.Now}
	var err error
	if w.user, err = accounttest.Register(t.Context(), accounts, w.users.Users, "alice", account.NewPassword(oldPassword), account.RoleUser); err != nil {
		t.Fatal(err)
	}
	w.login = &login.Service{
		Accounts: accounts, Names: accounts, Newcomers: accounts, Sessions: w.sessions, Users: w.users, Known: w.users, Methods: []string{"sms", "oidc:apple"}, Proofs: w.users, Store: w,
		Attempts: w.limits, Sources: w.limits, Incidents: w, Counts: &activity.Counter{}, IDs: &counter{last: 500}, Now: time.Now,
		Log: slog.New(slog.NewTextHandler(&w.log, nil)),
	}
	return w
}

func (w *world) change(current, next string) error {
	return w.login.ChangePassword(w.t.Context(), w.client(), account.NewPassword(current), account.NewPassword(next), secondfactor.Code{})
}

func (w *world) Publish(_ context.Context, ended ...session.Session) error {
	w.published = append(w.published, ended...)
	return w.hearErr
}

type counter struct{ last idworker.ID }

func (c *counter) Next(context.Context) (idworker.ID, error) { c.last++; return c.last, nil }

type users struct {
	*accounttest.Users
	ended   []session.Session
	err     error
	events  []audit.Event
	changed int
	proved  int64 // the version of the password of the last proof
	stale   int   // as many writes find that the account has just changed
	// request, if set, is the one that has opened a login of the user requestOf with that factor.
	request   *session.Request
	requestOf account.User
}

func (u *users) ByRequest(_ context.Context, _ idworker.ID, r *session.Request) (idworker.ID, time.Time, error) {
	switch {
	case u.request == nil || u.request.Name != r.Name:
		return 0, time.Time{}, nil
	case u.request.Body != r.Body:
		return 0, time.Time{}, session.ErrRequestReused
	}
	return u.requestOf.ID, u.requestOf.SecondFactorAt, nil
}

func (u *users) CreateBy(ctx context.Context, _ idworker.ID, _ *session.Request, user account.User, events ...audit.Event) error {
	return u.Create(ctx, user, events...)
}

func (u *users) Create(ctx context.Context, user account.User, events ...audit.Event) error {
	if u.err != nil {
		return u.err
	}
	u.events = append(u.events, events...)
	return u.Users.Create(ctx, user)
}

func (u *users) CreateFirstAdmin(ctx context.Context, user account.User, events ...audit.Event) error {
	return u.Create(ctx, user, events...)
}

func (u *users) ResetPassword(_ context.Context, id idworker.ID, version int64, hash account.PHC, e audit.Event) ([]session.Session, error) {
	if err := u.moved(id); err != nil {
		return nil, err
	}
	u.events = append(u.events, e)
	u.changed++
	u.Change(id, func(user *account.User) { user.PasswordHash, user.PasswordVersion = hash, version+1 })
	return u.ended, nil
}

func (u *users) Prove(_ context.Context, version int64, e audit.Event) error {
	err := u.moved(e.By.ID)
	if err == nil {
		u.proved, u.events = version, append(u.events, e)
	}
	return err
}

// moved is the error of a write to that user.
func (u *users) moved(id idworker.ID) error {
	if u.stale > 0 {
		u.stale--
		u.Change(id, func(user *account.User) { user.PasswordVersion++ })
		return account.ErrStale
	}
	return u.err
}

type sessions struct {
	in session.Place
	// before, if set, is done before a session begins; what it returns is the error.
	before func() error
	login.Sessions
	opened  int
	version int64
	err     error
	over    error // of a login whose user is not found
}

func (s *sessions) Over(context.Context, idworker.ID) error {
	return cmp.Or[error](s.over, flakepass.ErrRevoked)
}

func (s *sessions) Open(_ context.Context, _ audit.Actor, user idworker.ID, version int64, _ *session.Device, in session.Place) (session.Opened, error) {
	s.in = in
	if s.before != nil {
		if err := s.before(); err != nil {
			return session.Opened{}, err
		}
	}
	if s.err != nil {
		return session.Opened{}, s.err
	}
	s.opened++
	s.version = version
	return session.Opened{Identity: flakepass.Identity{UserID: flakepass.ID(user)}}, nil
}
