package lineartest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/lincheck"
)

// A cohort is people who log in and out on several instances, each a process,
// while others ask these about their tokens. All of them are in this process, and
// the answers that they receive are recorded on its clock.
type cohort struct {
	t        testing.TB
	d        *e2e.Deployment
	servers  []*server
	people   []*person
	sessions int // of a person at once, at most, whatever the policy becomes
	rec      *lincheck.Recorder
	http     *http.Client
	stop     chan struct{}
	lost     atomic.Int64 // answers that decided nothing
}

// A server is an instance of a cohort and its name in the record.
type server struct {
	*e2e.Process
	name string
}

// A person has one login at a time, or several, and remembers the tokens of the last few.
type person struct {
	name     string
	password string // of the one goroutine that logs in

	mu      sync.Mutex
	tickets []ticket // the newest last
}

// A ticket is a token and the ID of its login, as the answer gave it.
type ticket struct {
	token string
	id    int64
}

// lifetime is how long the logins of a cohort last at most. The sweep runs each
// second, on every instance. The row allows no longer idle timeout, and one that is
// much shorter would have every question answered by the database: what is
// nearly idle is looked at there.
const lifetime = 8 * time.Second

// gather starts so many instances of the program at path, and registers people, who have
// so many sessions at once. vars, if not nil, is further variables of an instance.
func gather(t testing.TB, d *e2e.Deployment, path string, instances, people, sessions int, vars func(instance int) []string) *cohort {
	t.Helper()
	next := &http.Transport{MaxIdleConnsPerHost: 100}
	t.Cleanup(next.CloseIdleConnections)
	c := &cohort{t: t, d: d, sessions: sessions, http: &http.Client{Transport: next, Timeout: 8 * time.Second}, stop: make(chan struct{})}
	e2e.Must(t, d.With(), "", "migrate", "up")
	e2e.Execute(t, d.SQL(t), "UPDATE settings SET version = version + 1, touch_interval_ms = 100, absolute_lifetime_ms = ?, "+
		"idle_timeout_ms = ?, sweep_schedule = '@every 1s', max_sessions = ?, reduced_to = ?, slots = ? WHERE scope = 'global'",
		lifetime.Milliseconds(), lifetime.Milliseconds(), sessions, sessions, sessions-1)
	for i := range instances {
		more := []string{"FLAKEPASS_LOG_LEVEL", "warn"}
		if vars != nil {
			more = append(more, vars(i)...)
		}
		c.servers = append(c.servers, &server{e2e.StartProgram(t, path, t.TempDir(), d.With(more...)), string(rune('a' + i))})
	}
	first := e2e.NewClient(t, c.servers[instances-1].Public)
	for i := range people {
		p := &person{name: fmt.Sprintf("user%02d", i), password: e2e.NewPassword()}
		first.Want(first.Register(p.name, p.password), 201, "")
		c.people = append(c.people, p)
	}
	c.rec = lincheck.NewRecorder()
	if sessions > 1 {
		c.limited(sessions, 0, func() bool { return true })
	}
	return c
}

// An answer is what matters of a response.
type answer struct {
	status    int
	Code      string
	Token     string
	Username  string
	SessionID string    `json:"session_id"`
	ExpiresAt time.Time `json:"expires_at"`
	Session   struct{ ID string }
}

// ask sends one request. The status is 0 if there is no answer.
func (c *cohort) ask(at *server, method, path, body, token string) (a answer) {
	req, err := http.NewRequestWithContext(c.t.Context(), method, "http://"+at.Public+path, bytes.NewReader([]byte(body)))
	if err != nil {
		c.t.Error(err)
		return a
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return a
	}
	defer resp.Body.Close()
	var whole answer
	if err := json.NewDecoder(resp.Body).Decode(&whole); err != nil && resp.StatusCode != http.StatusNoContent {
		return a // cut off
	}
	whole.status = resp.StatusCode
	return whole
}

func (c *cohort) undecided(p *lincheck.Pending) {
	p.Lost()
	c.lost.Add(1)
}

func (c *cohort) login(at *server, p *person, on string) (t ticket, ok bool) {
	op := c.rec.AskFor(lincheck.Op{User: p.name, Kind: lincheck.Login, At: at.name, Device: on})
	a := c.ask(at, "POST", "/v1/login", credentials(p, on), "")
	switch {
	case a.status == 200:
		id, err := strconv.ParseInt(a.SessionID, 10, 64)
		if err != nil {
			c.t.Errorf("session_id %q: %v", a.SessionID, err)
		}
		op.Opened(id, a.ExpiresAt)
		t = ticket{a.Token, id}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.tickets = append(p.tickets, t)
		return t, true
	case a.status == 401 || a.status == 403:
		op.Refuse(a.Code)
	case a.status == 503 && a.Code == "busy":
		op.Drop()
	default:
		c.undecided(op)
	}
	return t, false
}

// verify also holds the answer to the token: it names its user and its login.
func (c *cohort) verify(at *server, p *person, t ticket) (status int) {
	op := c.rec.Ask(p.name, lincheck.Verify, t.id, at.name)
	a := c.ask(at, "GET", "/v1/me", "", t.token)
	switch a.status {
	case 200:
		op.Done()
		if a.Username != p.name || a.Session.ID != strconv.FormatInt(t.id, 10) {
			c.t.Errorf("login %d of %s is answered as %s of %s", t.id, p.name, a.Session.ID, a.Username)
		}
	case 401:
		op.Refuse(a.Code)
	default:
		c.undecided(op)
	}
	return a.status
}

func (c *cohort) logout(at *server, p *person, t ticket) (status int) {
	op := c.rec.Ask(p.name, lincheck.Logout, t.id, at.name)
	a := c.ask(at, "POST", "/v1/logout", "", t.token)
	switch a.status {
	case 202, 204:
		op.Done()
	case 401:
		op.Refuse(a.Code)
	default:
		c.undecided(op)
	}
	return a.status
}

// newPassword changes the password; ok is false if it is unknown which one holds.
func (c *cohort) newPassword(at *server, p *person, t ticket) (ok bool) {
	next := e2e.NewPassword()
	op := c.rec.Ask(p.name, lincheck.End, 0, at.name)
	a := c.ask(at, "PUT", "/v1/me/password", e2e.Object("current_password", p.password, "new_password", next), t.token)
	switch {
	case a.status == 204:
		op.Ended("token_revoked")
		p.password = next
	case a.status == 401, a.status == 503 && a.Code == "busy":
		op.Drop() // refused before anything was done: nothing has changed
	case a.status == 403:
		c.t.Errorf("%s: its own password is wrong", p.name)
	default:
		c.undecided(op)
		return false
	}
	return true
}

// sound is what the rows have to be like afterwards, by themselves.
func (c *cohort) sound() {
	c.t.Helper()
	for _, table := range []string{"users", "user_slots"} {
		if n := e2e.Count(c.t, c.d.SQL(c.t), "SELECT COUNT(*) FROM "+table+" WHERE token_id <= token_floor"); n != 0 {
			c.t.Errorf("%d logins in %s that live are at or below the floor of their slot", n, table)
		}
	}
}
