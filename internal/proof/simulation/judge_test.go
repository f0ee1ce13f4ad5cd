package simulation

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A judge knows every answer that a client received, and when, and what the database
// holds, and says what should not have happened.
type judge struct {
	plan
	db *database

	mu      sync.Mutex
	logins  []*login
	newest  map[idworker.ID]*login // of each user
	wrong   []string
	accepts int
	refused int
	unsure  int
	idle    int           // refusals by the policy
	beside  int           // accepts while another login of the user lived
	worst   time.Duration // how long after its end a login was believed
}

// A login is what clients know of one.
type login struct {
	*life
	token flakepass.Token
	over  time.Time // when the first client received that it is
	// acked is when each instance first acknowledged a logout of it.
	acked map[string]time.Time
	said  time.Time // when the first client received that the policy has ended it
	// dead is when each instance first refused it.
	dead map[string]time.Time
	// idleEnd is until when it will not be idle, by the database's clock, as an answer
	// at idleEndAt said; used is when a use began that was acknowledged.
	idleEnd, idleEndAt, used time.Time
	accepts                  []accept
	story                    []event
}

// An event is an answer about a login, or the acknowledgement that it is over.
type event struct {
	at     time.Time
	what   string
	answer answer
}

// slack is what two clocks may differ by within a bound.
const slack = 50 * time.Millisecond

func newJudge(p plan, db *database) *judge {
	return &judge{plan: p, db: db, newest: map[idworker.ID]*login{}}
}

func (j *judge) blame(format string, args ...any) {
	j.wrong = append(j.wrong, fmt.Sprintf(format, args...))
}

// blameFor is blame, with the story of a login. The caller holds the database's
// mu.
func (j *judge) blameFor(l *login, format string, args ...any) {
	j.blame("%s\n%s", fmt.Sprintf(format, args...), l.explain(j.db))
}

func (j *judge) verdict() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.db.cleared) > 0 {
		j.blame("NoFalseEnd: a sweep has cleared the rows of %v, which lived", j.db.cleared)
	}
	j.db.mu.Lock()
	defer j.db.mu.Unlock()
	if j.withinLimit(); len(j.wrong) == 0 {
		return nil
	}
	return fmt.Errorf("%d times wrong, first: %s", len(j.wrong), j.wrong[0])
}

// began notes a login whose token a client has.
func (j *judge) began(user idworker.ID, t flakepass.Token) *login {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.db.mu.Lock()
	l := &login{life: j.db.logins[session.IDOf(t)], token: t, acked: map[string]time.Time{}, dead: map[string]time.Time{}}
	j.db.mu.Unlock()
	j.logins = append(j.logins, l)
	if n := j.newest[user]; n == nil || n.id < l.id {
		j.newest[user] = l
	}
	return l
}

// recent is one of the last logins of that user, or nil. The caller holds mu.
func (j *judge) recent(user idworker.ID, back int) (l *login) {
	for i := len(j.logins) - 1; i >= 0 && back >= 0; i-- {
		if j.logins[i].user == user {
			l = j.logins[i]
			back--
		}
	}
	return l
}

// of is the logins of a user that are known now, or of all users if it is 0.
func (j *judge) of(user idworker.ID) (those []*login) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, l := range j.logins {
		if user == 0 || l.user == user {
			those = append(those, l)
		}
	}
	return those
}

// acknowledged notes that a client received that those have ended. Then their rows say so.
func (j *judge) acknowledged(by, what string, logins []*login) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.db.mu.Lock()
	defer j.db.mu.Unlock()
	now := time.Now()
	for _, l := range logins {
		l.story = append(l.story, event{at: now, what: what + " was acknowledged by " + by})
		if l.died.IsZero() {
			j.blameFor(l, "Truth: %s was acknowledged by %s, and the row of %v has not ended", what, by, l.id)
		}
		if _, again := l.acked[by]; !again {
			l.acked[by] = now
		}
		if l.over.IsZero() && (by == "" || !l.forgotten) {
			l.over = now
		}
	}
}

// An answer is what came of the question who holds a token.
type answer struct {
	by      string
	asked   time.Time
	version int64 // of the policy that the instance knew before
	passive bool
	who     flakepass.Identity
	err     error
}

func (j *judge) answered(l *login, a answer) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.db.mu.Lock()
	defer j.db.mu.Unlock()
	now := time.Now()
	lives := j.db.lives(l.life)
	l.story = append(l.story, event{at: now, answer: a})
	_, refused := errors.AsType[*flakepass.Refusal](a.err)
	switch {
	case a.err == nil:
		j.accepts++
		j.accepted(l, &a, now)
	case refused:
		j.refused++
		j.refusal(l, &a, now, lives)
	default:
		j.unsure++
	}
	if lives && !l.said.IsZero() {
		j.blameFor(l, "NoReturn: %v lives, of which a client received %v ago that the policy has ended it", l.id, now.Sub(l.said))
	}
}

func (j *judge) accepted(l *login, a *answer, now time.Time) {
	if !l.over.IsZero() && a.asked.After(l.over) {
		age := a.asked.Sub(l.over)
		j.worst = max(j.worst, age)
		if age > j.bound {
			j.blameFor(l, "End: %s believes %v asked %v after its end was acknowledged", a.by, l.id, age)
		}
	}
	l.accepts = append(l.accepts, accept{a.asked, now})
	if heldBy(j.db.users[l.user-1]) > 1 {
		j.beside++
	}
	j.returns(l, a)
	if at, ok := l.acked[a.by]; ok && a.asked.After(at) && (!l.forgotten || !j.redis) {
		j.blameFor(l, "End: %s believes %v, whose end it has acknowledged itself", a.by, l.id)
	}
	if at, ok := l.dead[a.by]; ok && a.asked.After(at) {
		j.blameFor(l, "NoReturn: %s believes %v, which it has refused before", a.by, l.id)
	}
	if !l.said.IsZero() && a.asked.Sub(l.said) > j.bound {
		j.blameFor(l, "NoReturn: %s believes %v asked %v after a client received that the policy has ended it", a.by, l.id, a.asked.Sub(l.said))
	}
	if at := a.asked.Add(-j.bound - slack); at.After(l.seen[0].at) {
		if why, certain := j.db.overThen(l.life, at); why != "" && certain {
			j.blameFor(l, "PolicyEnd: %s believes %v asked more than the bound after it was %s", a.by, l.id, why)
		}
	}
	if !l.died.IsZero() && a.asked.Sub(l.died) > j.life(session.Life(j.bound)) {
		j.blameFor(l, "OneStory: %s believes %v asked %v after its row has ended", a.by, l.id, a.asked.Sub(l.died))
	}
	if !j.knows(l, a) {
		return // it may not have read a shorter one
	}
	if j.db.shorter.After(l.idleEndAt) {
		l.idleEnd, l.used = time.Time{}, time.Time{}
	}
	if l.idleEndAt = now; a.who.IdleExpiresAt.After(l.idleEnd) {
		l.idleEnd = a.who.IdleExpiresAt
	}
	if !a.passive && a.asked.After(l.used) {
		l.used = a.asked
	}
}

// knows reports whether an answer goes by the policy in force. A Remote does not
// say by which it goes, except by the times that it gives.
func (j *judge) knows(l *login, a *answer) bool {
	if a.by != remoteName {
		return a.version == j.db.policy.Version
	}
	e, who := j.db.policy.For(l.of.Class, l.of.Role), &a.who
	if a.asked.Sub(j.db.policies[len(j.db.policies)-1].at) < j.bound {
		return false // one of before may have had the same times
	}
	return who.ExpiresAt.Equal(e.ExpiresAt(who.IssuedAt)) && who.IdleExpiresAt.Equal(e.IdleExpiresAt(who.IssuedAt, who.LastSeenAt))
}

func (j *judge) refusal(l *login, a *answer, now time.Time, lives bool) {
	if lives {
		j.blameFor(l, "NoFalseEnd: %v of a login that lives, by %s: %v", a.err, a.by, l.id)
	}
	// That a login is over which no row knows any more cannot be noted: see the
	// package's documentation.
	if _, ok := l.dead[a.by]; !ok && !errors.Is(a.err, flakepass.ErrInvalid) {
		l.dead[a.by] = now
	}
	idle := errors.Is(a.err, flakepass.ErrIdle)
	if !idle && !errors.Is(a.err, flakepass.ErrExpired) {
		return
	}
	j.idle++
	if l.said.IsZero() {
		l.said = now
	}
	if !l.idleEndAt.After(j.db.shorter) || j.setBack {
		return
	}
	if left := l.idleEnd.Sub(j.db.now()); left > slack {
		j.blameFor(l, "UseCounts: %v of %v by %s, %v before the end that was answered", a.err, l.id, a.by, left)
	}
	if idle && now.Before(l.used.Add(j.bound)) {
		j.blameFor(l, "UseCounts: %v of %v by %s, %v after a use that was acknowledged", a.err, l.id, a.by, now.Sub(l.used))
	}
}

// relied holds each accept to what it says that it relies on.
func (j *judge) relied(w session.Accept, now time.Time) {
	read, polled := session.Age(now, w.AsOf), session.Age(now, w.Horizon)
	switch {
	case read >= session.Life(j.bound)+j.bound:
	case w.Horizon.IsZero() && read > j.bound+3*time.Second:
	case !w.Horizon.IsZero() && polled > j.bound+3*time.Second:
	default:
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.blame("End: an accept of %v relies on a read of %v ago and a horizon of %v", w.ID, read, w.Horizon)
}

// calm holds an answer that was given when nothing was broken for two bounds to
// the row.
func (j *judge) calm(l *login, ask func() answer) {
	// An instance knows the database's clock to some milliseconds only, so a login that
	// the policy ends at this instant may be believed or not.
	lives := func() bool {
		j.db.mu.Lock()
		defer j.db.mu.Unlock()
		return j.db.livedAt(l.life, j.db.now().Add(-slack))
	}
	lived := lives()
	a := ask()
	j.answered(l, a)
	j.mu.Lock()
	defer j.mu.Unlock()
	_, refused := errors.AsType[*flakepass.Refusal](a.err)
	spreads := l.late && l.over.IsZero() // not acknowledged, and committed late
	switch {
	case a.err != nil && !refused:
		j.blame("OneStory: %s does not decide about %v, long after all trouble is over: %v", a.by, l.id, a.err)
	case a.err == nil && !lived && !spreads:
		j.blameFor(l, "OneStory: %s believes %v, long after all trouble is over; its row has ended", a.by, l.id)
	}
}
