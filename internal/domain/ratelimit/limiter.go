package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/limit"
)

// A Limiter bounds what clients may do, most of it before they have proved who they are. Set
// the fields once, before use.
type Limiter struct {
	Store Store
	// Limits returns the rules in force. It is called at each attempt; what it returns is
	// never changed.
	Limits  func() *limit.Limits
	Records Records
	// Key hides names in keys, and signs device credentials.
	Key []byte
	// Unremembered, if set, is called when what a login leaves could not be written.
	Unremembered func(ctx context.Context, err error)
	// Refused, if set, is called with the name of each limit that has refused an attempt.
	Refused func(name string)
}

const (
	// shadows is how many counts all names without an account share.
	shadows = 1 << 20
	// placeLife is how long a place is known after the last login there, and placeFresh
	// how old the note of it is before it is written again; in milliseconds.
	placeLife  = 90 * 24 * 60 * 60 * 1000
	placeFresh = 24 * 60 * 60 * 1000
	// races is how often an attempt is counted again after another attempt wrote its
	// count meanwhile.
	races = 100
	// onwardTime is how long what follows from an attempt that is decided may take.
	onwardTime = 5 * time.Second
)

// ErrRace means that other attempts at the same account were counted first so often
// that this one was given up.
var ErrRace = errors.New("ratelimit: too many attempts at one account at the same time")

// Login counts an attempt to log in, or refuses it with a [*LimitedError] before
// any password is looked at. Another error means that it could not be counted, and
// must not be made.
//
// An attempt is part of one count. It is that of the device, if the device proves an
// earlier login to the account; else that of the place, if a login to the account
// succeeded there before; else that of strangers. So strangers cannot use up the
// attempts of the owner. The store also counts strangers by place and by network.
// Attempts that these refuse are counted in login-address only.
func (l *Limiter) Login(ctx context.Context, a Attempt) (Taken, error) {
	limits := l.Limits()
	t := Taken{all: make([]taken, 0, 3+limit.MaxPlace)}
	id, shown, held, err := l.arrive(ctx, &a, limits, &t)
	if err != nil {
		return Taken{}, err
	}
	t.Attempt, t.query = a, l.query(a, id)
	address := len(t.all)
	if held == nil && !shown {
		held = l.takePlace(ctx, a, limits, &t)
	}
	if t.record, err = l.Records.Look(ctx, t.query); err != nil {
		l.Return(ctx, t)
		return Taken{}, fmt.Errorf("ratelimit: login: %w", err)
	}
	t.subject = t.whose(shown)
	if t.subject == device && t.usedUp(limits) {
		l.giveBack(ctx, &t, 0)
		a.Credential, a.ShownID, a.ShownToken = DeviceCredential{}, 0, nil
		return l.Login(ctx, a)
	}
	t.Known, t.Device = t.subject != strangers, shown
	switch {
	case t.Known:
		l.giveBack(ctx, &t, 0)
	case held == nil:
		t.network = l.networkOf(a)
	}
	if t.Known || held == nil {
		held, err = l.count(ctx, &t, limits)
	}
	switch {
	case err != nil:
		l.giveBack(ctx, &t, 0)
		return Taken{}, fmt.Errorf("ratelimit: login: %w", err)
	case held != nil:
		l.giveBack(ctx, &t, min(address, len(t.all)))
		return Taken{}, l.report(held)
	}
	return t, nil
}

// usedUp reports whether the count of the device has no attempt left. Then whoever has stolen
// the credential, or the token, must not lock out the owner, who cannot know of it: it counts as
// not shown. That gives a thief nothing, who could leave it out.
func (t *Taken) usedUp(limits *limit.Limits) bool {
	if limits.LoginAccount.None() {
		return false
	}
	_, held := t.record.Device.take(limits, t.network, t.record.Now)
	return held != nil
}

// count adds an attempt to its count.
func (l *Limiter) count(ctx context.Context, t *Taken, limits *limit.Limits) (*LimitedError, error) {
	if limits.LoginAccount.None() {
		return nil, nil //nolint:nilnil // no limit, and no error
	}
	for range races {
		t.before = t.record.count(t.subject)
		next, held := t.before.take(limits, t.network, t.record.Now)
		if held != nil {
			return held, nil
		}
		var err error
		if t.after, t.counted, err = l.Records.Swap(ctx, t.before, next); err != nil || t.counted {
			return nil, err
		}
		if t.record, err = l.Records.Look(ctx, t.query); err != nil {
			return nil, err
		}
	}
	return nil, ErrRace
}

// LoggedIn records that the password of an attempt was right. It gives back what the
// attempt has taken, or empties the count of the device or the place, and remembers
// the place, as one of the account that t.Attempt names. The count of strangers stays: a login of the owner must not give
// an attacker new attempts. The login succeeds also if this cannot be written. LoggedIn
// returns what was unusual about it. It works after ctx has ended, too.
func (l *Limiter) LoggedIn(ctx context.Context, t Taken, user idworker.ID) Notice {
	ctx, done := onward(ctx)
	defer done()
	n := l.notice(ctx, &t)
	switch {
	case !t.Known:
		l.Return(ctx, t)
	case t.counted && t.before.Full > t.record.Now: // alone it stays, which saves most logins a statement
		l.change(ctx, &t, t.subject, Count.cleared)
	}
	if t.record.PlaceSeen <= t.record.Now-placeFresh || t.record.PlaceSeen == 0 {
		if err := l.Records.Remember(ctx, user, l.query(t.Attempt, nil).Place); err != nil {
			l.unwritten(ctx, err)
		}
	}
	return n
}

// onward is a context for what follows from an attempt that is decided. It does not end when the client
// leaves: who leaves must neither keep a count nor get rid of one.
func onward(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), onwardTime)
}

// change writes a count of an attempt, again if others wrote it meanwhile.
func (l *Limiter) change(ctx context.Context, t *Taken, s subject, to func(Count, int64) Count) {
	now, was := t.record.Now, t.record.count(s)
	if s == t.subject && t.counted {
		was = t.after
	}
	for range races {
		is, done, err := l.Records.Swap(ctx, was, to(was, now))
		if done && s == t.subject {
			t.after = is
		}
		var r Record
		if err == nil && !done {
			r, err = l.Records.Look(ctx, t.query)
		}
		if err != nil {
			l.unwritten(ctx, err)
		}
		if err != nil || done {
			return
		}
		now, was = r.Now, r.count(s)
	}
	l.unwritten(ctx, ErrRace)
}

func (l *Limiter) unwritten(ctx context.Context, err error) {
	if l.Unremembered != nil {
		l.Unremembered(ctx, err)
	}
}

// Return gives back what an attempt has taken, if the attempt cannot have revealed
// anything about a password. Call it at most once for each attempt, and only if that is
// certain: an attempt that failed in another way, also because the client left, counts.
// Return works after ctx has ended, too.
func (l *Limiter) Return(ctx context.Context, t Taken) {
	ctx, done := onward(ctx)
	defer done()
	l.giveBack(ctx, &t, 0)
	if t.counted {
		limits := l.Limits()
		l.change(ctx, &t, t.subject, func(is Count, now int64) Count { return is.giveBack(limits, t.network, now) })
	}
}

// giveBack gives back what was taken in the store, from that index on.
func (l *Limiter) giveBack(ctx context.Context, t *Taken, from int) {
	for _, of := range t.all[from:] {
		l.Store.Return(ctx, of.bucket, of.verdict)
	}
	t.all = t.all[:from]
}

// WasReset forgets what strangers were counted for at this account, and what was
// counted for it at this place: those attempts were about the old password. It does not
// remember the place as one of the owner's. It works after ctx has ended, too.
func (l *Limiter) WasReset(ctx context.Context, a Attempt) {
	ctx, done := onward(ctx)
	defer done()
	t := Taken{Attempt: a, query: l.query(a, nil)}
	l.Store.Forget(ctx, l.placeKey(a))
	var err error
	if t.record, err = l.Records.Look(ctx, t.query); err != nil {
		l.unwritten(ctx, err)
	} else if t.record.Strangers.Version != 0 {
		l.change(ctx, &t, strangers, Count.cleared)
	}
}

// manyFailures is how many wrong passwords before a right one make a notice: more than
// people mistype.
const manyFailures = 10

// A Notice is what is unusual about a right password, if anything (OWASP ASVS 5.0,
// 6.3.5 and 6.3.7).
type Notice struct {
	NewPlace bool
	// Failures is about how many wrong passwords for the account came since the last
	// notice of that, by strangers and by this device or at this place; 0 if they were
	// few. A right one may be among them, if it came just before.
	Failures int
}

// notice is what is unusual about t, whose password was right. It is kept that the
// wrong passwords were noticed, so that they are noticed once.
func (l *Limiter) notice(ctx context.Context, t *Taken) Notice {
	n := Notice{NewPlace: t.record.PlaceSeen == 0 && t.record.Places}
	r, now := l.Limits().LoginAccount, t.record.Now
	by := t.record.Strangers.failures(r, now)
	if t.Known {
		by += t.before.failures(r, now)
	}
	if by >= manyFailures {
		n.Failures = by
		l.change(ctx, t, strangers, func(s Count, now int64) Count {
			s = s.under(r, now)
			s.Told = s.Full
			return s
		})
	}
	return n
}
