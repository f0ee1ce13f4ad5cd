//go:build unix

package chaos

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// The counts are a row of the report.
type counts struct {
	requests   int
	accepted   int
	refused    int
	undecided  int           // 503 with Retry-After
	unanswered int           // by an instance that was killed or paused
	stale      time.Duration // the longest after its acknowledged end that a token was accepted
	trouble    time.Time     // when the last request was sent that ought to have been decided, and was not
}

// An attempt is one request and its answer.
type attempt struct {
	who            string // which instance, and what was asked of it
	sent, received time.Time
	status         int // 0: none
	code           string
	retryAfter     string
	err            error
	away           bool // the instance was not expected to answer
}

func (l *ledger) violation(format string, args ...any) {
	if len(l.violations) < 50 {
		l.violations = append(l.violations, fmt.Sprintf(format, args...))
	}
}

// note counts an answer to any request, and reports whether there was a
// decision. What is neither a decision nor a proper "not now" is a violation.
func (l *ledger) note(a attempt, decisions ...int) bool {
	l.counts.requests++
	switch {
	case a.status == 0 && a.away:
		l.counts.unanswered++
		return false
	case a.status == 0:
		l.violation("%s: no answer after %v, from an instance that runs: %v", a.who, a.received.Sub(a.sent), a.err)
	case a.status == 503:
		l.counts.undecided++
		if s, err := strconv.Atoi(a.retryAfter); err != nil || s < 1 {
			l.violation("%s: 503 with Retry-After %q", a.who, a.retryAfter)
		}
	case slices.Contains(decisions, a.status):
		return true
	default:
		l.violation("%s: status %d, code %q, want one of %d, or 503", a.who, a.status, a.code, decisions)
	}
	if !a.away && (l.pardon == "" || !strings.HasSuffix(a.who, l.pardon)) {
		l.trouble(a)
	}
	return false
}

// trouble notes a request that was not decided: no violation while something is
// broken.
func (l *ledger) trouble(a attempt) {
	if a.sent.After(l.counts.trouble) {
		l.counts.trouble = a.sent
	}
	if !l.calm.IsZero() && !a.sent.Before(l.calm) && len(l.restless) < 50 {
		l.restless = append(l.restless, fmt.Sprintf("%s: status %d, code %q, %v into calm (sent to received: %v)",
			a.who, a.status, a.code, a.sent.Sub(l.calm), a.received.Sub(a.sent)))
	}
}

// verified judges what an instance answered to the question whether a token is
// good.
func (l *ledger) verified(i *instance, t *token, a attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.note(a, 200, 401) {
		return
	}
	switch a.status {
	case 200:
		l.counts.accepted++
		t.known[i] = true
		if t.dead.IsZero() || !a.sent.After(t.dead) {
			return
		}
		stale := a.sent.Sub(t.dead)
		l.counts.stale = max(l.counts.stale, stale)
		if stale > l.bound {
			l.violation("%s: session %v accepted %v after its end was acknowledged; the bound is %v", a.who, t.id, stale, l.bound)
		}
	case 401:
		l.counts.refused++
		// Written before an end is asked for, so none had by the time of the answer.
		if t.ending.IsZero() {
			l.violation("%s: session %v is alive, and refused: %s", a.who, t.id, a.code)
		}
	}
}

// rows holds the tokens that were on the users' rows, read between those two
// moments, to what was acknowledged before and not touched meanwhile.
func (l *ledger) rows(held map[idworker.ID]session.Hash, before time.Time) (alive, dead int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range append(slices.Clone(l.alive), l.over...) {
		hash, is := held[t.id]
		switch {
		case t.opened.After(before):
		case t.ending.IsZero():
			alive++
			if !is || hash != t.hash {
				l.violation("the row of session %v, whose login was acknowledged, does not have it", t.id)
			}
		case !t.dead.IsZero() && t.dead.Before(before):
			dead++
			if is {
				l.violation("the row of session %v, whose end was acknowledged, still has it", t.id)
			}
		}
	}
	return alive, dead
}
