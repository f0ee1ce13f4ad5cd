// Package judge reads the history of what clients asked a deployment and what
// they were answered, and says where the answers break the promise of
// docs/guarantees.md. It knows no server: a history is all that it sees.
//
// All instants are durations since the start of the campaign, by the monotonic
// clock of the one process that recorded the history. There is no tolerance:
// where the order of two things cannot be known from their instants, each order
// is allowed, and an answer is wrong only if it is wrong in all of them.
package judge

import (
	"fmt"
	"time"
)

// An Op is what was asked for.
type Op uint8

// The operations.
const (
	Ask       Op = iota // is this token good? Session; a use of it unless Passive
	Login               // a session of User begins on Device, and ends those for which it leaves no room
	EndOne              // Session ends
	EndUser             // all sessions of User end, but Session if that is set
	MayEnd              // all sessions of User end if this changes anything, as when one is enabled who may be so already
	EndAll              // all sessions end
	SetPolicy           // Policy comes into force
	List                // which sessions live? Listed; of one user if User is set
	Count               // how many sessions live? Counted
	Audit               // a mark: nothing was broken for twice the bound before Begin, or asked for but by the audit until End
	Note                // a mark: What was broken from Begin to End
)

// An Answer is what came back.
type Answer uint8

// The answers.
const (
	None      Answer = iota // nothing: it may have happened, or may happen later
	Undecided               // 503 or another 5xx: the same
	Yes                     // accepted; or, of a change, acknowledged
	No                      // refused; or, of a change, certainly not done
)

func (a Answer) String() string { return [...]string{"no answer", "undecided", "yes", "no"}[a] }

// A Policy says how long sessions last, and how many a user has at most.
type Policy struct {
	Times
	By  map[string]Times // what differs by the class of the device
	Max int              // 0: one
}

// Times are when a session ends.
type Times struct{ Idle, Absolute time.Duration }

func (p Policy) most() int { return max(p.Max, 1) }

// of is for the sessions that begin with that login.
func (p Policy) of(login *Event) Times {
	if t, ok := p.By[login.Class]; ok {
		return t
	}
	return p.Times
}

// An Event is one request and its answer.
type Event struct {
	Begin, End time.Duration // just before it was sent, and just after its answer came or was given up
	Where      string        // who answered
	What       string        // for people
	Op         Op
	Answer     Answer
	Code       string // of a refusal
	Wait       bool   // a 503 came with Retry-After; true for every other answer
	Status     int    // of HTTP; 0 where the answer had none

	User    string
	Session uint64 // an ID; 0 where none is known
	Device  string // of a login; empty: it may be any
	Class   string // of that device
	Passive bool

	// The times that an accept has given, by the wall clock since the start; see
	// [Rules.Ahead]. Where HasTimes is false it gave none.
	HasTimes              bool
	Issued, Seen, IdleEnd time.Duration
	// Left is set where only the whole seconds to the idle end were given: the idle
	// end was then no earlier than Begin + IdleLeft, by either clock.
	Left     bool
	IdleLeft time.Duration

	Policy Policy
	Listed map[uint64]bool
	// Rows is set where Listed is what the rows have. A row may have a session that
	// the policy has ended, so it does not say that one lives.
	Rows    bool
	Counted int
}

func (e *Event) String() string {
	text := fmt.Sprintf("%10.3f %10.3f  %-14s %-46s %s", e.Begin.Seconds(), e.End.Seconds(), e.Where, e.What, e.Answer)
	if e.Code != "" {
		text += " " + e.Code
	}
	switch {
	case e.HasTimes:
		text += fmt.Sprintf(", answered: seen %.3f, idle end %.3f", e.Seen.Seconds(), e.IdleEnd.Seconds())
	case e.Left:
		text += fmt.Sprintf(", answered: idle end in %v", e.IdleLeft)
	case e.Op == SetPolicy:
		text += fmt.Sprintf(", idle %v, absolute %v, %d a user, %v", e.Policy.Idle, e.Policy.Absolute, e.Policy.most(), e.Policy.By)
	case e.Op == Count:
		text += fmt.Sprintf(", %d live", e.Counted)
	case e.Op == List:
		text += fmt.Sprintf(", %d listed", len(e.Listed))
	}
	return text
}

// Rules are what the judge measures by.
type Rules struct {
	Bound time.Duration
	// Ahead is by how much the clock on the wall was ahead of the monotonic one: the
	// least and the most that was seen, both 0 at the start. The servers of a
	// campaign run on the machine of the one who records.
	Ahead [2]time.Duration
	// Entry is the life of a cache entry. For that long an end that no answer has
	// acknowledged may be known in one place and not in another.
	Entry time.Duration
}

// NewRules are those of a deployment with that bound.
func NewRules(bound time.Duration) Rules {
	return Rules{Bound: bound, Entry: max(time.Minute, 4*bound)}
}

// earliest is the first instant at which a clock on the wall may have shown wall.
func (r Rules) earliest(wall time.Duration) time.Duration { return wall - r.Ahead[1] }

// latest is the last such instant. Servers give milliseconds, rounded down.
func (r Rules) latest(wall time.Duration) time.Duration {
	return wall + time.Millisecond - r.Ahead[0]
}
