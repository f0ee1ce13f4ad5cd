package console_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/activity"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/sweep"
)

const cookieName = "__Host-flakepass"

// people are ada and her accounts, who may have another role.
type people struct{ *world }

// people are the use cases of a world.
func (w *world) people() *login.Service {
	p := people{w}
	return &login.Service{
		Accounts: p, Names: p, Newcomers: p, Users: p, Proofs: p, Sessions: p, Devices: p, Held: p, Codes: p, Factors: p, Store: p,
		Attempts: &limiter{left: 1 << 30}, Incidents: &incidents{}, Counts: &activity.Counter{}, IDs: p, Now: w.time,
	}
}

func (p people) user() account.User {
	u := account.User{ID: 7, Username: "ada", Role: p.role}
	if !p.own.none {
		u.SecondFactorAt = p.time()
	}
	return u
}

func (p people) NewIssued(context.Context, string, string) (account.User, error) {
	return account.User{}, account.ErrExists // the console has no issuers
}

func (p people) ByID(context.Context, idworker.ID) (account.User, error) { return p.user(), nil }

// Authenticate knows the passphrase, and no code.
func (p people) Authenticate(_ context.Context, _ account.Asker, _ account.Found, password account.Password) (account.User, error) {
	u := p.user()
	switch u.SecondFactorAt = (time.Time{}); {
	case p.loginErr != nil:
		return account.User{}, p.loginErr
	case !right(password):
		return account.User{}, account.ErrWrong
	}
	return u, nil
}

// Find finds everybody, and counts the attempt under the name that was typed.
func (p people) Find(_ context.Context, typed string) (account.Found, error) {
	name, err := account.NormalizeLogin(typed)
	return account.Found{Name: name}, err
}

func (p people) VerifyPassword(_ context.Context, _ account.Asker, _ account.User, password account.Password) error {
	if p.proofErr == nil && !right(password) {
		return account.ErrWrong
	}
	return p.proofErr
}

func (p people) NewHash(context.Context, account.Asker, string, account.Password) (hash account.PHC, err error) {
	return hash, p.own.err
}

func (p people) NewHashBeside(context.Context, account.Asker, string, account.Password) (hash account.PHC, err error) {
	return hash, p.own.err
}

func (p people) ResetPassword(context.Context, idworker.ID, int64, account.PHC, audit.Event) ([]session.Session, error) {
	return nil, nil
}

func (p people) Prove(_ context.Context, _ int64, e audit.Event) error {
	p.unproven, p.events = false, append(p.events, e)
	return nil
}

func (p people) Publish(context.Context, ...session.Session) error { return nil }
func (p people) Next(context.Context) (idworker.ID, error)         { return 1, nil }

func (p people) Open(_ context.Context, _ audit.Actor, _ idworker.ID, _ int64, on *session.Device, _ session.Place) (session.Opened, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.devices = append(p.devices, on)
	p.lastID++
	t := flakepass.NewToken(flakepass.ID(p.lastID))
	if p.living == nil {
		p.living = map[idworker.ID]flakepass.Token{}
	}
	p.living[p.lastID] = t
	return session.Opened{Token: t, Identity: flakepass.Identity{UserID: 7, Username: "ada", Role: string(p.role), SessionID: flakepass.ID(p.lastID)}}, nil
}

func (p people) Close(_ context.Context, _ audit.Actor, t flakepass.Token) (session.Session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.living, session.IDOf(t))
	return session.Session{ID: session.IDOf(t)}, nil
}

func (people) Revoke(context.Context, audit.Actor, flakepass.Token) (session.Session, error) {
	return session.Session{}, nil
}

func (people) Over(context.Context, idworker.ID) error { return flakepass.ErrRevoked }

// right asks a password whether it holds the name of this world's passphrase,
// and does not show more.
func right(p account.Password) bool {
	bad, ok := errors.AsType[*invalid.Error](account.CheckPassword(passphrase, p))
	return ok && slices.ContainsFunc(bad.Fields, func(f invalid.Field) bool { return f.Code == account.CodeContainsUsername })
}

// proof is what a sensitive verb asks first.
func (w *world) proof() error {
	if w.unproven {
		return audit.ErrUnproven
	}
	return nil
}

func (w *world) Verify(_ context.Context, t flakepass.Token) (flakepass.Identity, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.verifyErr != nil {
		return flakepass.Identity{}, w.verifyErr
	}
	if kept, ok := w.living[session.IDOf(t)]; !ok || kept.Reveal() != t.Reveal() {
		return flakepass.Identity{}, flakepass.ErrInvalid
	}
	return flakepass.Identity{UserID: 7, Username: "ada", Role: string(w.role), SessionID: t.ID()}, nil
}

// enter logs in, and returns the cookie.
func (w *world) enter() *http.Cookie {
	w.t.Helper()
	page := w.do(postForm("/console/login", url.Values{"username": {"ada"}, "password": {passphrase}}))
	wantStatus(w.t, page, 303)
	return cookieOf(page, cookieName)
}

// cookieOf is the cookie of that name that an answer sets, or nil.
func cookieOf(page *httptest.ResponseRecorder, name string) *http.Cookie {
	for _, c := range page.Result().Cookies() {
		if c.Name == name {
			return c
		}
	}
	return nil
}

func postForm(path string, form url.Values) *http.Request {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return r
}

// see opens a page as the holder of the cookie.
func (w *world) see(c *http.Cookie, target string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.AddCookie(c)
	return w.do(r)
}

func (w *world) sendForm(c *http.Cookie, path string, pairs ...string) *httptest.ResponseRecorder {
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	r := postForm(path, form)
	r.AddCookie(c)
	return w.do(r)
}

// policies are the real verbs over a store in memory, with logins that began
// an hour apart and were never used.
type policies struct {
	*operator.Policies
	inForce policy.Policy
	history []policy.Policy
	logins  []policy.Facts
	events  []audit.Event
	last    idworker.ID
	err     error
	refused error // of a preview
	proof   func() error

	mu sync.Mutex // guards what SetPolicy and Next change: the console also counts in the background
}

func newPolicies(now func() time.Time) *policies {
	s := &policies{inForce: policy.Default()}
	s.history = []policy.Policy{s.inForce}
	for i := range 100 {
		at := now().Add(-time.Duration(i) * time.Hour)
		s.logins = append(s.logins, policy.Facts{Issued: at, Seen: at})
	}
	s.Policies = &operator.Policies{Store: s, IDs: s, Now: now, Schedule: func(spec string) error { _, err := sweep.ParseSchedule(spec); return err }}
	return s
}

func (s *policies) LoadPolicy(context.Context) (policy.Policy, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inForce, s.err
}

func (s *policies) SetPolicy(_ context.Context, version int64, next policy.Policy, e audit.Event) (policy.Policy, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if version != s.inForce.Version {
		return policy.Policy{}, policy.ErrVersion
	}
	if s.proof != nil && s.proof() != nil {
		return policy.Policy{}, s.proof()
	}
	s.inForce = next
	s.history, s.events = append(s.history, next), append(s.events, e)
	return next, nil
}

func (s *policies) PolicyHistory(_ context.Context, before int64, limit int) (found []policy.Policy, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.history) - 1; i >= 0 && len(found) < limit; i-- {
		if before == 0 || s.history[i].Version < before {
			found = append(found, s.history[i])
		}
	}
	return found, s.err
}

func (s *policies) Effect(_ context.Context, inForce, next policy.Policy, now time.Time) (e policy.Effect, err error) {
	after := inForce.Succeed(next, now)
	for _, l := range s.logins {
		if _, over := inForce.Left(l, now); over {
			continue
		}
		e.Live.Count++
		if left, over := after.Left(l, now); over {
			e.Ends.Count++
		} else if left <= time.Hour {
			e.Soon.Count++
		}
	}
	if inForce.Lowers(&next) {
		e.Lowers, e.Beyond, e.BeyondUsers = true, policy.Estimate{Count: 3}, policy.Estimate{Count: 2}
		e.Ends.Count += e.Beyond.Count
	}
	return e, s.refused
}

func (s *policies) CountLogins(ctx context.Context, inForce policy.Policy, now time.Time) (policy.Estimate, error) {
	e, err := s.Effect(ctx, inForce, inForce, now)
	return e.Live, err
}

func (s *policies) Sample(context.Context, policy.Policy, time.Time) (policy.Sample, error) {
	return policy.Sample{Logins: s.logins, Weight: 1}, s.err
}

func (s *policies) Next(context.Context) (idworker.ID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	return s.last, nil
}

// record lists events as the database does.
type record struct {
	events []audit.Event // newest first
	asked  []audit.Filter
	err    error

	failAfter int // so many pages
}

func (r *record) List(_ context.Context, f audit.Filter) (found []audit.Event, err error) {
	r.asked = append(r.asked, f)
	if r.failAfter > 0 && len(r.asked) > r.failAfter {
		return nil, errors.New("disk on fire")
	}
	for _, e := range r.events {
		if (f.Before == 0 || e.ID < f.Before) && (f.Action == "" || e.Action == f.Action) && (f.Actor == 0 || e.By.ID == f.Actor) && len(found) < f.Limit {
			found = append(found, e)
		}
	}
	return found, r.err
}

type counted struct {
	counts []activity.Count
	err    error
}

func (c *counted) Since(context.Context, time.Time) ([]activity.Count, error) { return c.counts, c.err }
