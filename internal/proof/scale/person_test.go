package scale

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

const (
	day    = 24 * time.Hour
	minute = time.Minute
)

// A crowd is n people whose rows follow from their numbers. Of every ten
// numbers, those that end in 0 to 5 have a living login, those in 6 one that is
// over by the default policy, and those in 7 to 9 have logged out.
// Those with a living login have more of it in that many further slots, with the next IDs.
type crowd struct {
	n       int
	further int
	now     time.Time
	// tokens are those of sampled people; all others have a hash that no token
	// has.
	tokens map[int]flakepass.Token
}

// sampled is of how many living logins the tokens are known.
const sampled = 10_000

// A person is a row of users. What is 0 is NULL there, or the floor 0.
type person struct {
	number                                 int
	id, token, seen, floor, floorAt, ended int64
	hash, endedHash                        session.Hash
	why                                    session.Reason
	created                                int64
}

var layout = idworker.Default()

func (p *person) name() string { return fmt.Sprintf("person.%08d", p.number) }

// newCrowd makes the tokens of those whose number is a multiple of ten, evenly.
func newCrowd(n, further int) *crowd {
	c := &crowd{n: n, further: further, now: time.Now().Truncate(time.Millisecond), tokens: make(map[int]flakepass.Token, sampled)}
	for i := 0; i < n; i += n / sampled / 10 * 10 {
		c.tokens[i] = flakepass.NewToken(flakepass.ID(c.at(i).token))
	}
	return c
}

// at is the person of that number. People came in the order of their numbers;
// their logins lie across that order, as they do in life.
func (c *crowd) at(i int) person {
	p := person{number: i, id: c.spread(i, 400*day, 35*day), created: c.now.Add(-400 * day).UnixMilli()}
	across := int(uint64(i) * 7_368_787 % uint64(c.n))
	switch last := i % 10; {
	case last <= 5:
		p.token = c.spread(across, 13*day, 2*minute)
		p.seen = c.between(p.token, i)
		if last%2 == 1 { // a login before, which this one replaced
			p.ended, p.why = c.spread(across, 90*day, 61*day), session.Replaced
		}
	case last == 6 && i%20 < 10:
		p.token = c.spread(across, 59*day, 31*day) // expired, and in use until then
		p.seen = c.now.Add(-10 * day).UnixMilli()
	case last == 6:
		p.token = c.spread(across, 29*day, 16*day) // idle
		p.seen = layout.UnixMilli(idworker.ID(p.token)) + day.Milliseconds()
	default:
		p.ended, p.why = c.spread(across, 60*day, day), session.LoggedOut
	}
	if p.ended != 0 {
		p.floor, p.floorAt = p.ended, layout.UnixMilli(idworker.ID(p.ended))+1000
		p.endedHash = hashOf(p.ended)
	}
	p.hash = hashOf(p.token)
	if t, ok := c.tokens[i]; ok {
		p.hash = session.HashOf(t)
	}
	return p
}

// spread is the i-th of n IDs that lie evenly between two ages. Each has a
// millisecond of its own.
func (c *crowd) spread(i int, from, to time.Duration) int64 {
	step := (from - to) / time.Duration(c.n)
	// The worker's number keeps logins of different ages apart: no ID comes twice.
	return int64(layout.Smallest(c.now.Add(-from+time.Duration(i)*step))) | int64(from/day)<<12
}

// between is some time from the issue of a login until a minute ago.
func (c *crowd) between(token int64, i int) int64 {
	issued := layout.UnixMilli(idworker.ID(token))
	return issued + (c.now.UnixMilli()-minute.Milliseconds()-issued)*int64(i%97)/97
}

// hashOf stands for the hash of a token that does not exist.
func hashOf(id int64) session.Hash {
	h := session.Hash{1}
	for i := 1; i < len(h); i += 8 {
		binary.LittleEndian.PutUint64(h[i:], uint64(id)*0x9e3779b97f4a7c15+uint64(i)*0xbf58476d1ce4e5b9)
	}
	return h
}
