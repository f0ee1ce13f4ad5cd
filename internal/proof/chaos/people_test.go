//go:build unix

package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// ask sends one request to an instance.
func (i *instance) ask(ctx context.Context, method, path, bearer string, body any) (attempt, []byte) {
	var reader io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			panic(err)
		}
		reader = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, i.base+path, reader)
	if err != nil {
		panic(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	return i.send(req, method+" "+path)
}

// send sends a request, which what describes, and reads the answer.
func (i *instance) send(req *http.Request, what string) (attempt, []byte) {
	a := attempt{who: i.name + ", " + what}
	away := i.away.Load()
	a.sent = time.Now()
	resp, err := i.http.Do(req)
	var text []byte
	if err == nil {
		text, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
	}
	a.received = time.Now()
	a.away = away%2 == 1 || i.away.Load() != away
	if a.err = err; err != nil {
		return a, nil
	}
	a.status, a.retryAfter = resp.StatusCode, resp.Header.Get("Retry-After")
	var problem struct{ Code string }
	_ = json.Unmarshal(text, &problem) // a success has none
	a.code = problem.Code
	return a, text
}

type credentials struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

type device struct {
	Class string `json:"class"`
	Name  string `json:"name"`
}

// A person logs in and out on one device, one request at a time. Two share an account,
// and none ends a login of the other.
type person struct {
	credentials
	device  device
	rand    *rand.Rand
	current *token // of the last login that was acknowledged
}

// A crowd is the people of a world, and those who ask about their tokens.
type crowd struct {
	*ledger
	w       *world
	people  []*person
	running sync.WaitGroup
	healed  atomic.Pointer[time.Time] // since when nothing is broken; nil while something is
}

// uncertain is how long a login whose outcome is not known may still take
// effect: no change takes the server longer than 3 s.
const uncertain = 5 * time.Second

// gather allows two logins a user, one of them on a tablet, which has times of its own, registers people and lets them live until leave is called. Some of
// them stay logged in while something is broken.
func gather(t testing.TB, w *world, seed uint64, people int, pardon string) (_ *crowd, leave func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	c := &crowd{w: w, ledger: &ledger{bound: w.bound, pardon: pardon}}
	now := time.Now()
	c.healed.Store(&now)
	const terms = `{"overrides":[{"device_class":"tablet","idle_timeout_seconds":1800,"absolute_lifetime_seconds":3600,"max_sessions":1}],` +
		`"bases":[{"idle_base":0,"absolute_base":0},{"device_class":"tablet","idle_base":0,"absolute_base":0}]}`
	w.exec(t, "UPDATE settings SET max_sessions = 2, slots = 1, reduced_to = 2, terms = '"+terms+"', version = version + 1 WHERE scope = 'global'")
	for n := range people {
		on := []string{"phone", "tablet"}[n%2]
		name := fmt.Sprintf("person%d", n/2)
		p := &person{credentials: credentials{name, fmt.Sprintf("a lantern above the harbour %d", n/2)}, device: device{on, "mine"}, rand: newRand(seed, name+on)}
		if n%2 == 0 {
			register(t, w.any(p.rand), p.credentials)
		}
		c.people = append(c.people, p)
	}
	for n, p := range c.people {
		c.running.Go(func() { c.live(ctx, p, n%4 == 0) })
	}
	for _, i := range w.instances {
		for n := range 4 {
			r := newRand(seed, fmt.Sprint(i.name, " asked by ", n))
			c.running.Go(func() { c.wonder(ctx, i, r, n < 2) })
		}
	}
	leave = func() { stop(); c.running.Wait() }
	t.Cleanup(leave) // if the next line gives up
	testenv.Eventually(t, patience, func() bool { return c.sums().accepted > 30*people }, "all users are known everywhere")
	return c, leave
}

// live logs in, stays for a while, logs out or logs in again, and so on. Who
// does not know what became of a login waits until it is over, for it could
// still replace the next.
func (c *crowd) live(ctx context.Context, p *person, steady bool) {
	for ctx.Err() == nil {
		if !c.login(ctx, p) {
			lost := time.Now()
			c.wait(ctx, func() bool {
				healed := c.healed.Load()
				return healed != nil && time.Since(*healed) > uncertain && time.Since(lost) > uncertain
			})
			continue
		}
		pause(ctx, 200*time.Millisecond+time.Duration(p.rand.Int64N(int64(3*time.Second))))
		if steady {
			c.wait(ctx, func() bool { return c.healed.Load() != nil })
		}
		if p.rand.IntN(3) > 0 {
			c.logout(ctx, p)
		}
	}
}

func (c *crowd) login(ctx context.Context, p *person) bool {
	c.begin(p.current)
	a, text := c.w.any(p.rand).ask(ctx, "POST", "/v1/login", "", struct {
		credentials
		Device device `json:"device"`
	}{p.credentials, p.device})
	if ctx.Err() != nil {
		return false // cut off by the end of the test
	}
	var opened struct{ Token string }
	_ = json.Unmarshal(text, &opened)
	next, ok := c.opened(p.current, opened.Token, a)
	if ok {
		p.current = next
	}
	return ok
}

// logout asks until it is acknowledged: a logout may be asked for twice.
func (c *crowd) logout(ctx context.Context, p *person) {
	c.begin(p.current)
	for ctx.Err() == nil {
		a, _ := c.w.any(p.rand).ask(ctx, "POST", "/v1/logout", p.current.text, nil)
		if ctx.Err() != nil || c.closed(p.current, a) {
			return
		}
		pause(ctx, 200*time.Millisecond)
	}
}

// wonder asks one instance about tokens, again and again: about any, or only
// about those that it knows.
func (c *crowd) wonder(ctx context.Context, i *instance, r *rand.Rand, familiar bool) {
	for ctx.Err() == nil {
		t := c.pick(r)
		if familiar {
			t = c.familiar(r, i)
		}
		if t != nil {
			c.verify(ctx, i, t)
		}
		pause(ctx, time.Duration(10+r.Int64N(40))*time.Millisecond)
	}
}

func (c *crowd) verify(ctx context.Context, i *instance, t *token) attempt {
	a, _ := i.ask(ctx, "GET", "/v1/verify", t.text, nil)
	if ctx.Err() == nil {
		c.verified(i, t, a)
	}
	return a
}

func (c *crowd) wait(ctx context.Context, until func() bool) {
	for ctx.Err() == nil && !until() {
		pause(ctx, 50*time.Millisecond)
	}
}

// pause lets a person do nothing for a while, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
