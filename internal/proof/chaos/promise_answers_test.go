//go:build unix

package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// An answer is what an asker said about a login: when it ends at the latest, and
// when it ends if it is used no more.
type answer struct {
	attempt
	expires, idleExpires time.Time
	remote               bool // a Remote's: it has no Retry-After
}

// String is the answer as the message of a violation has it.
func (a answer) String() string { return fmt.Sprintf("%s: %d %s", a.who, a.status, a.code) }

// An asker says who holds a token: an instance, or a service with a Remote. To ask
// passively is no use of the login.
type asker interface {
	called() string
	me(ctx context.Context, l userLogin, passive bool) answer
}

func (i *instance) called() string { return i.name }

func (i *instance) me(ctx context.Context, l userLogin, passive bool) answer {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, i.base+"/v1/me", nil)
	if err != nil {
		panic(err)
	}
	req.Header.Set("Authorization", "Bearer "+l.token)
	if passive {
		req.Header.Set(flakepass.PassiveHeader, "1")
	}
	a, text := i.send(req, "GET /v1/me")
	var body struct {
		Session struct {
			ExpiresAt     time.Time `json:"expires_at"`
			IdleExpiresAt time.Time `json:"idle_expires_at"`
		}
	}
	_ = json.Unmarshal(text, &body) // a refusal has none
	return answer{attempt: a, expires: body.Session.ExpiresAt, idleExpires: body.Session.IdleExpiresAt}
}

func (r *remote) called() string { return "a service with a Remote" }

func (r *remote) me(ctx context.Context, l userLogin, passive bool) answer {
	token, err := flakepass.ParseToken(l.token)
	if err != nil {
		panic(err)
	}
	if passive {
		ctx = flakepass.NewPassiveContext(ctx)
	}
	a := answer{attempt: attempt{who: r.called(), sent: time.Now()}, remote: true}
	who, err := r.Verify(ctx, token)
	a.received = time.Now()
	if refusal, ok := errors.AsType[*flakepass.Refusal](err); ok {
		a.status, a.code = http.StatusUnauthorized, refusal.Code()
	} else if a.err = err; err != nil {
		a.status = http.StatusServiceUnavailable
	} else {
		a.status, a.expires, a.idleExpires = http.StatusOK, who.ExpiresAt, who.IdleExpiresAt
	}
	return a
}

// The answers are all that were given about some logins.
type answers struct {
	mu   sync.Mutex
	of   map[userLogin][]answer
	stop func()
}

// observe asks each of them about each of the logins, again and again until stop is
// called. It uses no login.
func observe(t *testing.T, logins []userLogin, who ...asker) *answers {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	said, running := &answers{of: map[userLogin][]answer{}}, sync.WaitGroup{}
	for _, l := range logins {
		for _, asked := range who {
			running.Go(func() {
				for ctx.Err() == nil {
					said.note(ctx, l, asked.me(ctx, l, true))
					pause(ctx, 50*time.Millisecond)
				}
			})
		}
	}
	said.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		said.proper(t)
	})
	t.Cleanup(said.stop)
	return said
}

func (s *answers) note(ctx context.Context, l userLogin, a answer) {
	if ctx.Err() != nil {
		return // cut off by stop
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[l] = append(s.of[l], a)
}

// about is what was said about a login so far, in the order of the answers.
func (s *answers) about(l userLogin) []answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]answer(nil), s.of[l]...)
}

// proper fails the test if an instance has given an answer that is neither a
// decision nor a word of when to come back.
func (s *answers) proper(t *testing.T) {
	t.Helper()
	for l := range s.of {
		s.count(t, l, func(a answer) (bool, string) {
			when, err := strconv.Atoi(a.retryAfter)
			later := a.status == http.StatusServiceUnavailable && (a.remote || err == nil && when > 0)
			return a.status != http.StatusOK && a.status != http.StatusUnauthorized && !later && !a.away, fmt.Sprintf("no proper answer (%v)", a.err)
		})
	}
}

// notAccepted fails the test for each who has accepted the login and was asked
// later than the bound after that moment.
func (s *answers) notAccepted(t *testing.T, l userLogin, what string, since time.Time, bound time.Duration) {
	t.Helper()
	s.count(t, l, func(a answer) (bool, string) {
		late := a.sent.Sub(since)
		return a.status == http.StatusOK && late > bound,
			fmt.Sprintf("%s was acknowledged; %v later, with a bound of %v", what, late.Round(time.Millisecond), bound)
	})
}

// notRefused fails the test for each who has said before that moment that the login
// is over.
func (s *answers) notRefused(t *testing.T, l userLogin, what string, before time.Time) {
	t.Helper()
	s.count(t, l, func(a answer) (bool, string) {
		return a.status == http.StatusUnauthorized && a.received.Before(before),
			fmt.Sprintf("%s; %v before that", what, before.Sub(a.received).Round(time.Millisecond))
	})
}

// count fails the test for each who gave an answer that is bad, and shows the last.
func (s *answers) count(t *testing.T, l userLogin, bad func(answer) (is bool, why string)) {
	t.Helper()
	times, last := map[string]int{}, map[string]string{}
	for _, a := range s.about(l) {
		if is, why := bad(a); is {
			times[a.who]++
			last[a.who] = fmt.Sprintf("%s: %v", why, a)
		}
	}
	for who, n := range times {
		t.Errorf("%s (and %d times before)", last[who], n-1)
	}
}

// agree fails the test if not all of them say about a login what its row says, or if
// the list of logins of an instance does not. After a 503 it asks again.
func (w *world) agree(t *testing.T, admin string, l userLogin, who ...asker) {
	t.Helper()
	for _, asked := range who {
		w.says(t, l, asked.called(), func() (answered, lives bool) {
			a := asked.me(t.Context(), l, true)
			return a.status == http.StatusOK || a.status == http.StatusUnauthorized, a.status == http.StatusOK
		})
	}
	for _, i := range w.instances {
		w.says(t, l, "the list of "+i.name, func() (answered, lives bool) {
			a, _ := i.ask(t.Context(), "GET", "/v1/admin/sessions/"+l.id.String(), admin, nil)
			return a.status == http.StatusOK || a.status == http.StatusNotFound, a.status == http.StatusOK
		})
	}
}

// says holds an answer to the row, which is the same before and after it.
func (w *world) says(t *testing.T, l userLogin, who string, ask func() (answered, lives bool)) {
	t.Helper()
	testenv.Eventually(t, patience, func() bool {
		t.Helper()
		before := w.lives(t, l)
		answered, lives := ask()
		if !answered || w.lives(t, l) != before {
			return false
		}
		if lives != before {
			t.Errorf("%s: that %s lives is %v by the row and the policy, and %v by the answer", who, l.name, before, lives)
		}
		return true
	}, who+" decides about "+l.name)
}
