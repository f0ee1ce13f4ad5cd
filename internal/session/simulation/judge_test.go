package simulation

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/flakepass/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/session"
)

// A judge knows what every client was told, and when, and says what should not
// have happened.
type judge struct {
	mu      sync.Mutex
	logins  []*login
	intents []*intent
	newest  map[idworker.ID]*login // of each user
	wrong   []string
	accepts int
	refused int
	unsure  int
	worst   time.Duration // how long after its end a login was believed
}

// A login is what is known of one.
type login struct {
	user  idworker.ID
	token flakepass.Token
	// killed is when somebody first began to end it, which may or may not have
	// succeeded; over is when somebody was told that it is, and by whom.
	killed time.Time
	over   time.Time
	by     string
	// dead is when each instance first refused it.
	dead map[string]time.Time
}

func newJudge() *judge { return &judge{newest: map[idworker.ID]*login{}} }

func (j *judge) blame(format string, args ...any) {
	j.wrong = append(j.wrong, fmt.Sprintf(format, args...))
}

func (j *judge) verdict() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.wrong) == 0 {
		return nil
	}
	return fmt.Errorf("%d times wrong, first: %s", len(j.wrong), j.wrong[0])
}

// An intent is somebody's attempt to end every login of a user, or of all if
// user is 0. It may come true until it is over.
type intent struct {
	user        idworker.ID
	start, over time.Time
}

// outlast is how long after it was given up an attempt may still come true:
// longer than anything can be under way here.
const outlast = 30 * time.Second

// kill notes an attempt, and returns the logins that it is about.
func (j *judge) kill(user idworker.ID) (*intent, []*login) {
	j.mu.Lock()
	defer j.mu.Unlock()
	k := &intent{user: user, start: time.Now()}
	j.intents = append(j.intents, k)
	var touched []*login
	for _, l := range j.logins {
		if user == 0 || l.user == user {
			l.mayDie(k.start)
			touched = append(touched, l)
		}
	}
	return k, touched
}

func (l *login) mayDie(at time.Time) {
	if l.killed.IsZero() || at.Before(l.killed) {
		l.killed = at
	}
}

// done notes that an attempt has come to its end, or was given up.
func (j *judge) done(k *intent, success bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if k.over = time.Now(); !success {
		k.over = k.over.Add(outlast)
	}
}

// told notes that somebody was told that those are over.
func (j *judge) told(by string, logins []*login) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, l := range logins {
		if l.over.IsZero() {
			l.over, l.by = time.Now(), by
		}
	}
}

// began notes a login that began by attempt own. Another attempt of which some
// part fell into it, or came after it, may have ended it.
func (j *judge) began(own *intent, t flakepass.Token) {
	j.mu.Lock()
	defer j.mu.Unlock()
	l := &login{user: own.user, token: t, dead: map[string]time.Time{}}
	for _, k := range j.intents {
		if k != own && (k.user == 0 || k.user == own.user) && (k.over.IsZero() || k.over.After(own.start)) {
			l.mayDie(time.Now())
		}
	}
	j.logins = append(j.logins, l)
	if n := j.newest[own.user]; n == nil || n.token.ID() < t.ID() {
		j.newest[own.user] = l
	}
}

// answered looks at one answer to the question who holds a token.
func (j *judge) answered(l *login, by string, asked time.Time, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	_, refused := errors.AsType[*flakepass.Refusal](err)
	switch {
	case err == nil:
		j.accepts++
		j.accepted(l, by, asked)
	case refused:
		j.refused++
		if l.killed.IsZero() || l.killed.After(now) {
			j.blame("%v of a login that lives, by %s: %v", err, by, l.token.ID())
		}
		if _, ok := l.dead[by]; !ok {
			l.dead[by] = now
		}
	default:
		j.unsure++
	}
}

func (j *judge) accepted(l *login, by string, asked time.Time) {
	if !l.over.IsZero() && asked.After(l.over) {
		age := asked.Sub(l.over)
		j.worst = max(j.worst, age)
		if age > bound {
			j.blame("%s believes %v asked %v after its end", by, l.token.ID(), age)
		}
		if by == l.by {
			j.blame("%s believes %v, whose end it has acknowledged itself", by, l.token.ID())
		}
	}
	if at, ok := l.dead[by]; ok && asked.After(at) {
		j.blame("%s believes %v, which it has refused before", by, l.token.ID())
	}
}

// witness holds each accept to what it says that it relies on.
func (j *judge) witness(w session.Witness) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	read, heard := session.Age(now, w.AsOf), session.Age(now, w.Horizon)
	switch {
	case read >= session.Life(bound)+bound:
		j.blame("an accept of %v relies on a read of %v ago", w.ID, read)
	case w.Horizon.IsZero() && read > bound+3*time.Second:
		j.blame("an accept of %v relies on nothing but a read of %v ago", w.ID, read)
	case !w.Horizon.IsZero() && heard > bound+3*time.Second:
		j.blame("an accept of %v relies on a horizon of %v ago", w.ID, heard)
	}
}
