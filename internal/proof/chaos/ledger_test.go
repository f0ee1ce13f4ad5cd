//go:build unix

package chaos

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A token is what the ledger knows of one login. All times are when this
// process sent or received something, by its one clock.
type token struct {
	id   idworker.ID
	hash session.Hash
	text string

	opened time.Time // when its login was acknowledged
	ending time.Time // when its end was first asked for; zero if never
	dead   time.Time // when its end was first acknowledged; zero if it was not

	known map[*instance]bool // by those that have accepted it
}

// A ledger holds every answer to what was acknowledged before.
type ledger struct {
	bound  time.Duration
	pardon string // what may stay undecided although nothing is broken: the end of attempt.who; empty: nothing

	mu         sync.Mutex
	alive      []*token // acknowledged, and whose end was not asked for
	over       []*token // their end was asked for
	calm       time.Time
	counts     counts
	violations []string
	restless   []string // what was not decided in calm; violations, unless this machine stood still
}

// begin is called before a request that would end t, a logout or a login.
func (l *ledger) begin(t *token) {
	if t == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.ending.IsZero() {
		t.ending = time.Now()
		l.alive = slices.DeleteFunc(l.alive, func(o *token) bool { return o == t })
		l.over = append(l.over, t)
	}
}

// opened judges the answer to a login, which ends the token before if it
// succeeds, and returns the new one, if there is one.
func (l *ledger) opened(before *token, text string, a attempt) (*token, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.note(a, 200) {
		return nil, false
	}
	parsed, err := flakepass.ParseToken(text)
	if err != nil {
		l.violation("%s: a login without a token: %v", a.who, err)
		return nil, false
	}
	l.ended(before, a)
	t := &token{id: idworker.ID(parsed.ID()), hash: session.HashOf(parsed), text: text, opened: a.received, known: map[*instance]bool{}}
	l.alive = append(l.alive, t)
	return t, true
}

// closed judges the answer to a logout.
func (l *ledger) closed(t *token, a attempt) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.note(a, 204, 202) {
		return false
	}
	l.ended(t, a)
	return true
}

func (l *ledger) ended(t *token, a attempt) {
	if t != nil && t.dead.IsZero() {
		t.dead = a.received
	}
}

// pick is a token to ask about: often a living one, often one whose end is
// recent, and sometimes one that is long over.
func (l *ledger) pick(r *rand.Rand) *token {
	l.mu.Lock()
	defer l.mu.Unlock()
	const recent = 12
	alive, over := len(l.alive), len(l.over)
	switch n := r.IntN(10); {
	case alive > 0 && (n < 6 || over == 0):
		return l.alive[r.IntN(alive)]
	case over > 0 && n < 9:
		return l.over[over-1-r.IntN(min(recent, over))]
	case over > 0:
		return l.over[r.IntN(over)]
	default:
		return nil
	}
}

// familiar is a token that an instance has accepted before and may still
// remember, often one whose end is recent: what it may be wrong about. An
// instance that is cut off answers for these at once, and for no other.
func (l *ledger) familiar(r *rand.Rand, i *instance) *token {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := l.alive
	if r.IntN(3) > 0 {
		from = l.over[max(0, len(l.over)-24):]
	}
	var known []*token
	for _, t := range from {
		if t.known[i] {
			known = append(known, t)
		}
	}
	if len(known) == 0 {
		return nil
	}
	return known[r.IntN(len(known))]
}

// all is every token, and which of them lived when it was asked.
func (l *ledger) all() (list []*token) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append(append(list, l.alive...), l.over...)
}

// stir starts a new row of the report: something is going to break.
func (l *ledger) stir() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calm, l.counts = time.Time{}, counts{}
}

// settle says that from now on every answer has to be a decision.
func (l *ledger) settle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calm, l.restless = time.Now(), nil
}

// undecided reports whether something was not decided since settle was called.
func (l *ledger) undecided() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.restless) > 0
}

func (l *ledger) sums() counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts
}

// said is a violation that contains what is wanted, or nothing.
func (l *ledger) said(want string) string {
	if want != "" {
		for _, v := range l.broken() {
			if strings.Contains(v, want) {
				return v
			}
		}
	}
	return ""
}

func (l *ledger) broken() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Concat(l.violations, l.restless)
}
