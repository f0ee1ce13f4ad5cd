package ratelimit

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/limit"
)

// An Attempt is somebody who wants to log in.
type Attempt struct {
	// Account is the normalised name, whether or not there is such an account. It
	// leaves this process only as a keyed hash, and to the database: people type
	// passwords there.
	Account string
	// Address is where it comes from.
	Address netip.Addr
	// Device is the hash of a token, as it is kept, of which the device has the text:
	// it was given that at a login before. nil if it shows none.
	Device []byte
	// Credential is what the device was given at a login before; the zero one if it
	// shows none.
	Credential DeviceCredential
}

// A Gate stands before what strangers may try. Set the fields once, before use.
type Gate struct {
	Store Store
	// Limits are the rules of the moment. It is asked at each attempt; nobody changes
	// what it points at.
	Limits  func() *limit.Limits
	Records Records
	// Key hides names in keys, and signs device credentials.
	Key []byte
	// Now is the clock by which device credentials are issued; nil: time.Now.
	Now func() time.Time
	// Unremembered, if set, hears that what a login leaves could not be written.
	Unremembered func(ctx context.Context, err error)
	// Refused, if set, hears the name of each limit that has refused an attempt.
	Refused func(policy string)
}

// Taken is what one attempt has taken, for [Gate.Return] and [Gate.LoggedIn].
type Taken struct {
	// Known says that the account was logged in to before on that device or at
	// that place.
	Known bool
	// Attempt is whose attempt it is.
	Attempt Attempt

	query   Query
	all     []taken // in the store
	record  Record
	subject subject
	before  Guard // that it was counted in, as it was before, and after
	after   Guard
	counted bool // in that guard
	network uint32
}

type taken struct {
	bucket  Bucket
	verdict Verdict
}

// A subject is one of the guards of a record.
type subject int

const (
	strangers subject = iota
	place
	device
)

func (r *Record) guard(s subject) Guard {
	switch s {
	case place:
		return r.Place
	case device:
		return r.Device
	default:
		return r.Strangers
	}
}

const (
	// shadows is how many guards all names share that nobody has.
	shadows = 1 << 20
	// placeLife is how long a place is known after the last login there, and placeFresh
	// how old the note of it is before it is written again; in milliseconds.
	placeLife  = 90 * 24 * 60 * 60 * 1000
	placeFresh = 24 * 60 * 60 * 1000
	// forgiven is from how much of a guard that is used a right password empties it:
	// a login that finds less saves a statement.
	forgiven = 5
	// races is how often an attempt is counted anew whose guard others wrote
	// meanwhile.
	races = 100
)

// ErrRace means that others counted attempts at the same account, again and
// again, before this one could be counted.
var ErrRace = errors.New("ratelimit: too many attempts at one account at the same time")

// Login counts an attempt to log in, or refuses it with a [*LimitedError] before
// any password is looked at. Another error means that it could not be counted, and
// must not be made.
//
// An attempt is counted in one guard: that of the device if it shows that it was
// logged in to the account before, else that of the place if somebody has logged
// in to the account there, else that of strangers. So strangers cannot use up what
// the owner has. They are also counted by place and by network, in the store; what
// they are refused is not counted there, but in login-address.
func (g *Gate) Login(ctx context.Context, a Attempt) (Taken, error) {
	limits := g.Limits()
	t := Taken{Attempt: a, all: make([]taken, 0, 3+limit.MaxPlace)}
	id, shown := g.deviceID(a)
	t.query = g.query(a, id)
	var held *LimitedError
	if !shown {
		var here bool
		if held, here = g.takeAddress(ctx, "login-address", "a:", a.Address, limits.LoginAddress, &t); here {
			return Taken{}, g.told(held) // nothing but a credential tells the owner from others at one place
		}
	}
	address := len(t.all)
	if held == nil && !shown {
		held = g.takePlace(ctx, a, limits, &t)
	}
	var err error
	if t.record, err = g.Records.Look(ctx, t.query); err != nil {
		g.Return(ctx, t)
		return Taken{}, fmt.Errorf("ratelimit: login: %w", err)
	}
	t.subject = t.whose(shown)
	t.Known = t.subject != strangers
	switch {
	case t.Known:
		g.giveBack(ctx, &t, 0)
	case held == nil:
		t.network = g.networkOf(a)
	}
	if t.Known || held == nil {
		held, err = g.count(ctx, &t, limits)
	}
	switch {
	case err != nil:
		g.giveBack(ctx, &t, 0)
		return Taken{}, fmt.Errorf("ratelimit: login: %w", err)
	case held != nil:
		g.giveBack(ctx, &t, min(address, len(t.all)))
		return Taken{}, g.told(held)
	}
	return t, nil
}

// whose says in which guard an attempt is counted.
func (t *Taken) whose(shown bool) subject {
	r, token := &t.record, t.Attempt.Device
	switch {
	case r.User == 0:
		return strangers
	case shown, len(token) > 0 &&
		subtle.ConstantTimeCompare(token, r.TokenHash)|subtle.ConstantTimeCompare(token, r.EndedTokenHash) == 1:
		return device
	case r.PlaceSeen > r.Now-placeLife && r.PlaceSeen > 0:
		return place
	default:
		return strangers
	}
}

// count counts an attempt in its guard.
func (g *Gate) count(ctx context.Context, t *Taken, limits *limit.Limits) (*LimitedError, error) {
	if limits.LoginAccount.None() {
		return nil, nil //nolint:nilnil // no limit, and no error
	}
	for range races {
		t.before = t.record.guard(t.subject)
		next, held := t.before.take(limits, t.network, t.record.Now)
		if held != nil {
			return held, nil
		}
		var err error
		if t.after, t.counted, err = g.Records.Swap(ctx, t.before, next); err != nil || t.counted {
			return nil, err
		}
		if t.record, err = g.Records.Look(ctx, t.query); err != nil {
			return nil, err
		}
	}
	return nil, ErrRace
}

// LoggedIn notes that the password of an attempt was right. It gives back what the
// attempt has taken, or empties the guard of the device or the place, and
// remembers the place. The guard of strangers keeps what others have used: a login
// of the owner gives nobody who guesses new attempts. What cannot be written
// changes nothing about the login. It returns what was unusual about it.
func (g *Gate) LoggedIn(ctx context.Context, t Taken, user idworker.ID) Notice {
	n := g.notice(ctx, &t)
	r := g.Limits().LoginAccount
	switch {
	case !t.Known:
		g.Return(ctx, t)
	case t.counted && !r.None() && t.after.Full-t.record.Now >= forgiven*r.Interval().Milliseconds():
		g.change(ctx, &t, t.subject, Guard.cleared)
	}
	if t.record.PlaceSeen <= t.record.Now-placeFresh || t.record.PlaceSeen == 0 {
		if err := g.Records.Remember(ctx, user, t.query.Place); err != nil {
			g.unwritten(ctx, err)
		}
	}
	return n
}

// change changes a guard of an attempt, as long as others do not get before it.
func (g *Gate) change(ctx context.Context, t *Taken, s subject, to func(Guard, int64) Guard) {
	now, was := t.record.Now, t.record.guard(s)
	if s == t.subject && t.counted {
		was = t.after
	}
	for range races {
		is, done, err := g.Records.Swap(ctx, was, to(was, now))
		if done && s == t.subject {
			t.after = is
		}
		var r Record
		if err == nil && !done {
			r, err = g.Records.Look(ctx, t.query)
		}
		if err != nil {
			g.unwritten(ctx, err)
		}
		if err != nil || done {
			return
		}
		now, was = r.Now, r.guard(s)
	}
	g.unwritten(ctx, ErrRace)
}

func (g *Gate) unwritten(ctx context.Context, err error) {
	if g.Unremembered != nil {
		g.Unremembered(ctx, err)
	}
}

// Return gives back what an attempt has taken that has told nobody anything of
// a password. Call it at most once for each, and only if that is known: of what
// else went wrong, also because the client left, an attempt counts. It works
// after ctx has ended, too.
func (g *Gate) Return(ctx context.Context, t Taken) {
	ctx = context.WithoutCancel(ctx)
	g.giveBack(ctx, &t, 0)
	if t.counted {
		limits := g.Limits()
		g.change(ctx, &t, t.subject, func(is Guard, now int64) Guard { return is.giveBack(limits, t.network, now) })
	}
}

// giveBack gives back what was taken in the store, from the first on.
func (g *Gate) giveBack(ctx context.Context, t *Taken, from int) {
	for _, of := range t.all[from:] {
		g.Store.Return(ctx, of.bucket, of.verdict)
	}
	t.all = t.all[:from]
}

// Register counts a new account, or refuses it with a [*LimitedError]. What it has
// taken can be given back by [Gate.Return].
func (g *Gate) Register(ctx context.Context, from netip.Addr) (Taken, error) {
	return g.bySource(ctx, "register", "r:", from)
}

// Reset counts an attempt to set a password by the token of a reset, or refuses
// it with a [*LimitedError]. The tokens cannot be guessed: it bounds the load, by
// the rule for new accounts and a count of its own. What it has taken can be given
// back by [Gate.Return].
func (g *Gate) Reset(ctx context.Context, from netip.Addr) (Taken, error) {
	return g.bySource(ctx, "reset", "s:", from)
}

func (g *Gate) bySource(ctx context.Context, policy, kind string, from netip.Addr) (Taken, error) {
	var t Taken
	if err, _ := g.takeAddress(ctx, policy, kind, from, g.Limits().Register, &t); err != nil {
		return Taken{}, g.told(err)
	}
	return t, nil
}

// WasReset forgets what was counted against the account by strangers, and against
// it at this place: those attempts were about a password that is no more. It knows
// nobody by that: the place is not noted.
func (g *Gate) WasReset(ctx context.Context, a Attempt) {
	t := Taken{Attempt: a, query: g.query(a, nil)}
	g.Store.Forget(ctx, g.placeKey(a))
	var err error
	if t.record, err = g.Records.Look(ctx, t.query); err != nil {
		g.unwritten(ctx, err)
	} else if t.record.Strangers.Version != 0 {
		g.change(ctx, &t, strangers, Guard.cleared)
	}
}

// Introspect counts questions about that many tokens of others, at least one, or
// refuses all of them with a [*LimitedError]; with a [*TooManyError] if the limit
// allows fewer at once. Only who is known is counted, so nobody can use up what
// another has.
func (g *Gate) Introspect(ctx context.Context, caller idworker.ID, tokens int) error {
	rule := g.Limits().Introspect
	if !rule.None() && tokens > rule.Count {
		return &TooManyError{Policy: "introspect", Most: rule.Count}
	}
	if err := g.take(ctx, "introspect", Bucket{Key: "i:" + caller.String(), Rule: rule, N: tokens}, nil); err != nil {
		return g.told(err)
	}
	return nil
}

// takeAddress counts an attempt by its place and by the networks around that, or
// takes nothing. here says that it is the place itself that has no more.
func (g *Gate) takeAddress(ctx context.Context, policy, kind string, from netip.Addr, r limit.Rule, t *Taken) (err *LimitedError, here bool) {
	all := around(from)
	for i, network := range all {
		if err := g.take(ctx, policy, Bucket{Key: kind + network, Rule: r}, t); err != nil {
			g.giveBack(ctx, t, 0)
			return err, i == len(all)-1
		}
	}
	return nil, false
}

// takePlace counts an attempt for one name from one place by all rules for that, or
// takes nothing.
func (g *Gate) takePlace(ctx context.Context, a Attempt, limits *limit.Limits, t *Taken) *LimitedError {
	rules, key, before := limits.LoginPlace[:limits.Place()], g.placeKey(a), len(t.all)
	for _, r := range rules {
		if err := g.take(ctx, "login", Bucket{Key: key, Rule: r, Beside: rules}, t); err != nil {
			g.giveBack(ctx, t, before)
			return err
		}
	}
	return nil
}

// take takes one attempt, and notes that in t, if that is not nil.
func (g *Gate) take(ctx context.Context, policy string, b Bucket, t *Taken) *LimitedError {
	if b.Rule.None() {
		return nil
	}
	v := g.Store.Take(ctx, b)
	if v.Allowed {
		if t != nil {
			t.all = append(t.all, taken{b, v})
		}
		return nil
	}
	return &LimitedError{Policy: policy, Rule: b.Rule, Retry: v.Retry, Reset: v.Reset}
}

func (g *Gate) told(err *LimitedError) error {
	if g.Refused != nil {
		g.Refused(err.Policy)
	}
	return err
}

// query is what the database is asked about an attempt by the device with that ID;
// nil: none that is known by a credential.
func (g *Gate) query(a Attempt, id []byte) Query {
	at := g.hash("place", a.Account, []byte(Place(a.Address)))
	q := Query{
		Account: a.Account, Place: at[:16], PlaceKey: guardKey(at[16:]),
		Shadow: -1 - int64(binary.BigEndian.Uint32(g.hash("shadow", a.Account, nil))%shadows),
	}
	switch {
	case id != nil:
		q.DeviceKey = guardKey(g.hash("device", a.Account, id))
	case len(a.Device) > 0:
		q.DeviceKey = guardKey(g.hash("token", a.Account, a.Device))
	}
	return q
}

// guardKey makes a key of a hash: below those of the shadows, which are below those
// of users.
func guardKey(hash []byte) int64 {
	return math.MinInt64 + int64(binary.BigEndian.Uint64(hash)>>2)
}

// networkOf is the network of an attempt as a guard has it; 0: none.
func (g *Gate) networkOf(a Attempt) uint32 {
	n := Network(a.Address)
	if !n.IsValid() {
		return 0
	}
	return max(1, binary.BigEndian.Uint32(g.hash("network", a.Account, []byte(n.String()))))
}

// placeKey is of one account at one place: not of the account alone, so that who
// guesses from elsewhere does not keep its owner waiting, and not of the place
// alone, so that those who share an address do not.
func (g *Gate) placeKey(a Attempt) string {
	return "p:" + base64.RawURLEncoding.EncodeToString(g.hash("bucket", a.Account, []byte(Place(a.Address)))[:16])
}

// hash is of an account and something of it, as nobody can read it back who has
// not the key.
func (g *Gate) hash(kind, account string, of []byte) []byte {
	mac := hmac.New(sha256.New, g.Key)
	mac.Write([]byte("throttle\x00" + kind + "\x00" + account + "\x00"))
	mac.Write(of)
	return mac.Sum(nil)
}
