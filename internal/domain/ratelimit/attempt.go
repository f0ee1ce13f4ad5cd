package ratelimit

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"math"
	"net/netip"

	"github.com/flakepass/flakepass/idworker"
)

// An Attempt is one attempt to log in.
type Attempt struct {
	// Account is the name under which attempts at the account are counted, or the name that
	// was typed, normalised, if there is no such account. It leaves this process only as a
	// keyed hash: some users type their password in its place. User is whose account it is; 0
	// if there is none.
	Account string
	User    idworker.ID
	// Whose, if set, finds out both. [Limiter.Login] calls it before it counts anything by
	// account, so that guesses over all names of an account share one count.
	Whose func(ctx context.Context) (account string, user idworker.ID, err error)
	// Address is where it comes from.
	Address netip.Addr
	// ShownToken is the hash of a token that the device got at an earlier login, as the
	// database keeps it; nil if the device sends none. ShownID is the ID of that token.
	ShownID    idworker.ID
	ShownToken []byte
	// Credential is what the device got at an earlier login; the zero value if it sends
	// none.
	Credential DeviceCredential
}

// Taken is what one attempt has taken, for [Limiter.Return] and [Limiter.LoggedIn].
type Taken struct {
	// Known says that a login to the account succeeded before on that device or at that
	// place.
	Known bool
	// Device says that it showed the credential of an earlier login to the account on that
	// device.
	Device  bool
	Attempt Attempt

	query   Query
	all     []taken // in the store
	record  Record
	subject subject
	before  Count // the count that it is part of, before it
	after   Count // and after it
	counted bool  // in the database
	network uint32
}

type taken struct {
	bucket  Bucket
	verdict Verdict
}

// A subject names one of the counts of a record.
type subject int

const (
	strangers subject = iota
	place
	device
)

func (r *Record) count(s subject) Count {
	switch s {
	case place:
		return r.Place
	case device:
		return r.Device
	default:
		return r.Strangers
	}
}

// whose is the count in which an attempt is counted.
func (t *Taken) whose(shown bool) subject {
	r := &t.record
	switch {
	case r.User == 0:
		return strangers
	case shown || r.has(t.Attempt.ShownToken):
		return device
	case r.PlaceSeen > r.Now-placeLife && r.PlaceSeen > 0:
		return place
	default:
		return strangers
	}
}

// has reports whether a token was of a login of the user.
func (r *Record) has(token []byte) bool {
	found := 0
	for _, hash := range r.Tokens {
		found |= subtle.ConstantTimeCompare(token, hash)
	}
	return found == 1 && len(token) > 0
}

// query is what the database is asked about an attempt by the device with that ID; nil
// if the device has shown no valid credential.
func (l *Limiter) query(a Attempt, id []byte) Query {
	at := l.hash("place", a.Account, []byte(Place(a.Address)))
	q := Query{
		Account: a.Account, User: a.User, Token: a.ShownID, Place: at[:16], PlaceKey: countKey(at[16:]),
		Shadow: -1 - int64(binary.BigEndian.Uint32(l.hash("shadow", a.Account, nil))%shadows),
	}
	switch {
	case id != nil:
		q.DeviceKey = countKey(l.hash("device", a.Account, id))
	case len(a.ShownToken) > 0:
		q.DeviceKey = countKey(l.hash("token", a.Account, a.ShownToken))
	}
	return q
}

// countKey makes a key of a hash: below the keys of the shadows, which are below those
// of users.
func countKey(hash []byte) int64 {
	return math.MinInt64 + int64(binary.BigEndian.Uint64(hash)>>2)
}

// networkOf is the network of an attempt as a count keeps it; 0: none.
func (l *Limiter) networkOf(a Attempt) uint32 {
	n := Network(a.Address)
	if !n.IsValid() {
		return 0
	}
	return max(1, binary.BigEndian.Uint32(l.hash("network", a.Account, []byte(n.String()))))
}

// placeKey is the key of one account at one place: not of the account alone, so that
// guesses from elsewhere do not make its owner wait, and not of the place alone, so that
// those who share an address do not make each other wait.
func (l *Limiter) placeKey(a Attempt) string {
	return "p:" + base64.RawURLEncoding.EncodeToString(l.hash("bucket", a.Account, []byte(Place(a.Address)))[:16])
}

// hash is a keyed hash of an account and something of it: without the key it cannot be
// read back.
func (l *Limiter) hash(kind, account string, of []byte) []byte {
	mac := hmac.New(sha256.New, l.Key)
	mac.Write([]byte("throttle\x00" + kind + "\x00" + account + "\x00"))
	mac.Write(of)
	return mac.Sum(nil)
}
