package lineartest

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/lincheck"
)

// sessionsOf is how many logins each person has at once, at most, in the history of that
// seed: one in half of them.
func sessionsOf(seed uint64) int {
	r := rand.New(rand.NewPCG(seed, 998))
	if r.IntN(2) == 0 {
		return 1
	}
	return 2 + r.IntN(3)
}

// limited notes for all what ask does to the limits, on all devices and on phones, as far as
// it is answered.
func (c *cohort) limited(sessions, phones int, ask func() (done bool)) {
	ops := make([]*lincheck.Pending, len(c.people))
	for i, p := range c.people {
		ops[i] = c.rec.AskFor(lincheck.Op{User: p.name, Kind: lincheck.Limit, Sessions: sessions, Named: phones})
	}
	done := ask()
	for _, op := range ops {
		if done {
			op.Done()
		} else {
			c.undecided(op)
		}
	}
}

// changeLimit lowers or raises how many logins each person may have, on all devices or on
// phones. The program changes no policy whose times are as short as those here.
func (c *cohort) changeLimit(rng *rand.Rand) {
	sessions, phones, terms := 1+rng.IntN(c.sessions), 0, "{}"
	if rng.IntN(2) == 0 {
		phones = 1 + rng.IntN(sessions)
		terms = fmt.Sprintf(`{"overrides":[{"device_class":"phone","max_sessions":%d}]}`, phones)
	}
	c.limited(sessions, phones, func() bool {
		_, err := c.d.SQL(c.t).ExecContext(c.t.Context(), "UPDATE settings SET version = version + 1, max_sessions = ?, terms = ?, reduced_to = GREATEST(reduced_to, ? + 1), "+
			"updated_at = ROUND(UNIX_TIMESTAMP(NOW(3)) * 1000) WHERE scope = 'global'", sessions, terms, sessions)
		return err == nil
	})
}

// device is on what a person logs in: one without a name may be any.
func (c *cohort) device(rng *rand.Rand) string {
	if c.sessions == 1 {
		return ""
	}
	return []string{"", "", "a", "b"}[rng.IntN(4)]
}

// credentials are the body of a login.
func credentials(p *person, on string) string {
	body := e2e.Object("username", p.name, "password", p.password)
	if on == "" {
		return body
	}
	return fmt.Sprintf(`%s,"device":%s}`, body[:len(body)-1], e2e.Object("class", "phone", "name", on))
}

// endMore ends, by the login of a ticket, all others of its person, or all.
func (c *cohort) endMore(at *server, p *person, t ticket, all bool) {
	kind, path, body := lincheck.EndOthers, "/v1/me/sessions/logout-others", ""
	if all {
		kind, path, body = lincheck.End, "/v1/logout", `{"everywhere":true}`
	}
	op := c.rec.Ask(p.name, kind, t.id, at.name)
	switch a := c.ask(at, "POST", path, body, t.token); a.status {
	case 200, 202, 204:
		op.Ended("token_logged_out")
	case 401:
		op.Drop() // nothing has ended
	default:
		c.undecided(op)
	}
}

// endAnother ends one of the last logins of a person by another one.
func (c *cohort) endAnother(at *server, rng *rand.Rand, p *person, by ticket) {
	p.mu.Lock()
	t := p.tickets[max(0, len(p.tickets)-1-rng.IntN(4))]
	p.mu.Unlock()
	op := c.rec.Ask(p.name, lincheck.Logout, t.id, "")
	switch a := c.ask(at, "DELETE", "/v1/me/sessions/"+strconv.FormatInt(t.id, 10), "", by.token); a.status {
	case 202, 204:
		op.Done()
	case 401, 404:
		op.Drop() // nothing has ended
	default:
		c.undecided(op)
	}
}
