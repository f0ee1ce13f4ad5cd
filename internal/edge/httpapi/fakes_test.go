package httpapi_test

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api"
	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/activity"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
)

// A world answers every question with what a test has set, and notes what it
// was asked. The API asks from several goroutines for one request, so notes are
// taken under a lock. A test reads them when its request is answered.
type world struct {
	noting sync.Mutex

	register, login, change, verify, end, used, follow error

	plain    bool  // no user has a second factor
	unread   error // what the rows of the users say
	returned int   // attempts that were given back
	revokers []audit.Actor
	devices  []*session.Device // of logins

	limit     error // of every attempt
	tries     []ratelimit.Attempt
	known     []ratelimit.Attempt // those that were right
	identity  *flakepass.Identity // of who verifies; nil: who
	asked     []idworker.ID       // IDs of the tokens that were verified
	passive   []idworker.ID       // those that were verified without a use
	revoked   []idworker.ID
	target    error  // what Verify says of any token but the caller's
	role      string // of who asks; empty for a user
	sweep     error  // of what is asked of the sweep
	passes    []sweep.Report
	requested []audit.Actor

	before  bool          // what is closed had ended before
	mine    []idworker.ID // logins of who asks, beside that of the token
	ended   []idworker.ID // those that who asks has ended by their IDs; 0: all
	panics  any           // if set, every verb panics with it
	reasons []string      // why it is not ready
}

// note adds what was asked to one of the lists of w.
func note[T any](w *world, list *[]T, what T) {
	w.noting.Lock()
	defer w.noting.Unlock()
	*list = append(*list, what)
}

func (w *world) verb(err error) error {
	if w.panics != nil {
		panic(w.panics)
	}
	return err
}

func (w *world) Verify(ctx context.Context, t flakepass.Token) (flakepass.Identity, error) {
	note(w, &w.asked, session.IDOf(t))
	if flakepass.IsPassive(ctx) {
		note(w, &w.passive, session.IDOf(t))
	}
	if t.ID() != who.SessionID {
		return other, w.verb(w.target)
	}
	if w.identity != nil {
		return *w.identity, w.verb(w.verify)
	}
	as := who
	as.Role = cmp.Or(w.role, who.Role)
	return as, w.verb(w.verify)
}

func (w *world) Request(_ context.Context, by audit.Actor) (sweep.Report, error) {
	note(w, &w.requested, by)
	return sweep.Report{ID: 9, Instance: "here", RequestedBy: "zoë", Started: at, Outcome: sweep.Running}, w.verb(w.sweep)
}

func (w *world) Passes(_ context.Context, before idworker.ID, limit int) ([]sweep.Report, error) {
	var page []sweep.Report
	for _, p := range w.passes {
		if (before == 0 || p.ID < before) && len(page) < limit {
			page = append(page, p)
		}
	}
	return page, w.verb(w.sweep)
}

// accountsWorld has the users of a world, their accounts and their logins: each answers
// what the world says. Everybody is zoë, who has a second factor unless plain, and
// each code is right.
type accountsWorld struct{ *world }

func (p accountsWorld) user() account.User {
	u := account.User{ID: session.UserOf(who), Username: who.Username, Role: account.RoleUser}
	if !p.plain {
		u.SecondFactorAt = at
	}
	return u
}

func (p accountsWorld) New(_ context.Context, _ account.Asker, _ string, _ account.Password, role account.Role) (account.User, error) {
	return account.User{ID: 7, Username: "alice", Role: role}, p.verb(p.register)
}

func (p accountsWorld) NewIssued(context.Context, string, string) (account.User, error) {
	return account.User{ID: 7, Username: "user-7", Role: account.RoleUser}, p.verb(p.register)
}

func (p accountsWorld) ByUsername(context.Context, string) (account.User, error) {
	return p.user(), p.unread
}

func (p accountsWorld) ByExternalID(context.Context, string) (account.User, error) {
	return p.user(), p.unread
}

func (p accountsWorld) ByRequest(context.Context, idworker.ID, *session.Request) (idworker.ID, time.Time, error) {
	return 0, time.Time{}, nil
}

func (p accountsWorld) CreateBy(ctx context.Context, _ idworker.ID, _ *session.Request, u account.User, events ...audit.Event) error {
	return p.Create(ctx, u, events...)
}

func (p accountsWorld) Authenticate(context.Context, account.Asker, account.Found, account.Password) (account.User, error) {
	return p.user(), p.verb(p.login)
}

// Find finds everybody, and counts the attempt under the name that was typed.
func (p accountsWorld) Find(_ context.Context, typed string) (account.Found, error) {
	name, err := account.NormalizeLogin(typed)
	return account.Found{Name: name}, err
}

func (p accountsWorld) VerifyPassword(context.Context, account.Asker, account.User, account.Password) error {
	return p.verb(p.change)
}

func (p accountsWorld) NewHash(context.Context, account.Asker, string, account.Password) (hash account.PHC, err error) {
	return hash, nil
}

func (p accountsWorld) NewHashBeside(context.Context, account.Asker, string, account.Password) (hash account.PHC, err error) {
	return hash, nil
}

func (p accountsWorld) ByID(context.Context, idworker.ID) (account.User, error) {
	return p.user(), p.unread
}

func (p accountsWorld) Create(context.Context, account.User, ...audit.Event) error { return nil }

// CreateFirstAdmin is not called: the first admin is made in the console.
func (p accountsWorld) CreateFirstAdmin(context.Context, account.User, ...audit.Event) error {
	return nil
}

func (p accountsWorld) ResetPassword(context.Context, idworker.ID, int64, account.PHC, audit.Event) ([]session.Session, error) {
	return nil, nil
}

func (p accountsWorld) Prove(context.Context, int64, audit.Event) error { return nil }

func (p accountsWorld) Check(context.Context, audit.Actor, *account.User, secondfactor.Code) error {
	return nil
}

func (p accountsWorld) Open(_ context.Context, _ audit.Actor, _ idworker.ID, _ int64, on *session.Device, _ session.Place) (session.Opened, error) {
	note(p.world, &p.devices, on)
	return session.Opened{Token: flakepass.NewToken(who.SessionID), Identity: who}, nil
}

func (p accountsWorld) Close(_ context.Context, _ audit.Actor, t flakepass.Token) (session.Session, error) {
	return session.Session{ID: session.IDOf(t), UserID: 7, Ended: session.LoggedOut, Before: p.before}, p.verb(p.end)
}

func (accountsWorld) Over(context.Context, idworker.ID) error { return flakepass.ErrRevoked }

func (p accountsWorld) Revoke(_ context.Context, by audit.Actor, t flakepass.Token) (session.Session, error) {
	note(p.world, &p.revoked, session.IDOf(t))
	note(p.world, &p.revokers, by)
	return session.Session{ID: session.IDOf(t), UserID: 8, Ended: session.Revoked, Before: p.before}, p.verb(p.end)
}

func (p accountsWorld) WithLogins(_ context.Context, id idworker.ID) (account.User, []session.Session, error) {
	held := []session.Session{{ID: idworker.ID(who.SessionID), UserID: id, Seen: at, Device: session.DeviceOf("phone", "Zoë’s phone")}}
	for _, other := range p.mine {
		held = append(held, session.Session{ID: other, UserID: id, Seen: at})
	}
	return p.user(), held, p.unread
}

func (p accountsWorld) Living(held []session.Session) (logins []session.Login, err error) {
	for _, s := range held {
		logins = append(logins, session.Login{Session: s, IssuedAt: at, ExpiresAt: at.Add(time.Hour), IdleExpiresAt: at.Add(time.Minute)})
	}
	return logins, nil
}

func (p accountsWorld) EndOwn(_ context.Context, by audit.Actor, id idworker.ID) (session.Session, error) {
	if id != by.Session && !slices.Contains(p.mine, id) {
		return session.Session{}, session.ErrNotFound
	}
	note(p.world, &p.ended, id)
	return session.Session{ID: id, UserID: by.ID, Ended: session.LoggedOut, Before: p.before}, p.verb(p.end)
}

func (p accountsWorld) EndOthers(context.Context, audit.Actor) (ended []session.Session, err error) {
	for _, id := range p.mine {
		ended = append(ended, session.Session{ID: id, UserID: 7, Ended: session.LoggedOut})
	}
	return ended, p.verb(p.end)
}

func (p accountsWorld) EndEverywhere(ctx context.Context, by audit.Actor) ([]session.Session, error) {
	note(p.world, &p.ended, 0)
	return p.EndOthers(ctx, by)
}

func (p accountsWorld) Note(audit.Incident) bool                  { return true }
func (p accountsWorld) Next(context.Context) (idworker.ID, error) { return 1, nil }

// codes checks nothing but what accountsWorld says.
type codes struct {
	login.Codes // whose other methods are not called
	accountsWorld
}

func (c codes) Check(ctx context.Context, by audit.Actor, u *account.User, code secondfactor.Code) error {
	return c.accountsWorld.Check(ctx, by, u, code)
}

// Redeem knows no ticket.
func (codes) Redeem(string) (secondfactor.Holder, error) {
	return secondfactor.Holder{}, secondfactor.ErrTicket
}

// alone is the Store of a world without other instances.
type alone struct{ session.Store }

func (alone) Publish(context.Context, ...session.Session) error { return nil }

// own are the use cases of a world.
func (w *world) own() *login.Service {
	p, g := accountsWorld{w}, limiterWorld{w}
	return &login.Service{
		Accounts: p, Names: p, Newcomers: p, Users: p, Known: p, Methods: []string{"sms"}, Proofs: p, Sessions: p, Store: alone{}, Devices: p, Held: p, Codes: codes{accountsWorld: p},
		Attempts: g, Sources: g, Counts: &activity.Counter{}, IDs: p, Now: time.Now,
	}
}

// A limiterWorld is the rate limiter of a world.
type limiterWorld struct{ *world }

func (limiterWorld) NewDevice(a ratelimit.Attempt) ratelimit.DeviceCredential {
	return (&ratelimit.Limiter{Key: []byte("secret")}).NewDevice(a)
}

func (w limiterWorld) Login(ctx context.Context, a ratelimit.Attempt) (ratelimit.Taken, error) {
	if a.Whose != nil {
		a.Account, a.User, _ = a.Whose(ctx)
	}
	note(w.world, &w.tries, a)
	return ratelimit.Taken{Attempt: a}, w.limit
}

func (w limiterWorld) Return(context.Context, ratelimit.Taken) {
	w.noting.Lock()
	defer w.noting.Unlock()
	w.returned++
}

func (w limiterWorld) Introspect(context.Context, idworker.ID, int) error { return w.limit }

func (w limiterWorld) LoggedIn(_ context.Context, t ratelimit.Taken, _ idworker.ID) ratelimit.Notice {
	note(w.world, &w.known, t.Attempt)
	return ratelimit.Notice{}
}

func (w limiterWorld) Register(context.Context, netip.Addr) (ratelimit.Taken, error) {
	return ratelimit.Taken{}, w.limit
}

func (w limiterWorld) Reset(context.Context, netip.Addr) (ratelimit.Taken, error) {
	return ratelimit.Taken{}, w.limit
}

func (w limiterWorld) WasReset(_ context.Context, a ratelimit.Attempt) { note(w.world, &w.known, a) }
func (w limiterWorld) RefuseExport(time.Duration) error                { return w.limit }

func (w *world) Examine(ctx context.Context, t flakepass.Token) (flakepass.Identity, session.Accept, error) {
	who, err := w.Verify(ctx, t)
	if err == nil {
		err = w.verb(w.verify)
	}
	now := time.Now()
	return who, session.Accept{ID: session.IDOf(t), At: now, AsOf: now}, err
}

func (w *world) Used(context.Context, session.Use) (bool, error) { return true, w.verb(w.used) }
func (w *world) Current() *policy.Policy                         { p := policy.Default(); return &p }
func (w *world) Horizon() time.Time                              { return time.Now() }
func (w *world) Clock() time.Time                                { return time.Now() }

func (w *world) Follow(ctx context.Context, _ idworker.ID, _ string, tell func(session.Bulletin) error) error {
	if err := w.verb(w.follow); err != nil {
		return err
	}
	if err := tell(session.Bulletin{Start: &session.Start{Every: time.Second, Mark: "x-1"}}); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

var at = time.Date(2026, 11, 21, 9, 12, 33, 123456789, time.UTC)

var who = flakepass.Identity{
	UserID: 7, Username: "zoë", Role: "user", SessionID: 412873650192384001, DeviceClass: "phone", AuthMethod: session.PasswordMethod, AuthTime: at,
	IssuedAt: at, LastSeenAt: at, ExpiresAt: at.Add(time.Hour), IdleExpiresAt: at.Add(time.Minute),
}

// other is who holds any token but that of who.
var other = flakepass.Identity{
	UserID: 8, Username: "alice", Role: "user", SessionID: 412873650192384002, DeviceClass: "other", AuthMethod: session.PasswordMethod, AuthTime: at,
	IssuedAt: at, LastSeenAt: at, ExpiresAt: at.Add(time.Hour), IdleExpiresAt: at.Add(time.Minute),
}

// handler is the API in front of w, as internal/server/run makes it.
func handler(t testing.TB, w *world, edit func(*httpapi.Options)) http.Handler {
	t.Helper()
	o := httpapi.Options{
		Own: w.own(), Sessions: w, Quota: limiterWorld{w}, Sweeps: w, Recognition: w, InForce: w, News: w,
		Ready:            func(context.Context) []string { return w.reasons },
		RegistrationOpen: true, Bound: 5 * time.Second, Spec: api.Spec(), Log: slog.New(slog.DiscardHandler),
	}
	if edit != nil {
		edit(&o)
	}
	o.Own.Log, o.Own.Incidents = o.Log, o.Incidents
	if o.Incidents == nil {
		o.Own.Incidents = accountsWorld{w}
	}
	h, err := httpapi.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// direct sends requests to a handler without a network.
type direct struct{ http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Result(), nil
}
