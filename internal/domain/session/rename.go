package session

import (
	"maps"
	"sync/atomic"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// A Rename says that a user got another username, and when, by the database's clock.
type Rename struct {
	UserID idworker.ID
	At     time.Time
}

// Renames are those that a tier has received of late. What a tier remembers of the sessions
// of such a user, and what it gets from a tier that may not know of the rename, has the old
// name: only an answer that was read after the rename was received here is certain to have
// the new one. The session does not end; its row is asked once more.
//
// The bound holds as it does for ends: whoever repeats an answer relies on a read or on a
// poll that is younger than the bound, and either knows of a rename that was acknowledged
// before. The zero value knows of none.
type Renames struct {
	known atomic.Pointer[map[idworker.ID]received]
}

type received struct {
	stamp int64     // of the rename: a poll brings it several times
	at    time.Time // by this machine's clock
}

// mostRenames is how many are remembered. A tier that receives more doubts all it has.
const mostRenames = 1 << 14

// Add notes what a poll has brought, at that time of this machine, and forgets what is
// older than keep. It returns false if there are too many: then it has forgotten all, and
// the caller believes no answer of before. One goroutine at a time may call it.
func (r *Renames) Add(list []Rename, now time.Time, keep time.Duration) bool {
	known := r.known.Load()
	fresh := false
	for _, n := range list {
		fresh = fresh || known == nil || (*known)[n.UserID].stamp < n.At.UnixMilli()
	}
	if !fresh {
		return true
	}
	next := map[idworker.ID]received{}
	if known != nil {
		maps.Copy(next, *known)
	}
	maps.DeleteFunc(next, func(_ idworker.ID, is received) bool { return Age(now, is.at) > keep })
	for _, n := range list {
		if ms := n.At.UnixMilli(); next[n.UserID].stamp < ms {
			next[n.UserID] = received{ms, now}
		}
	}
	if len(next) > mostRenames {
		r.known.Store(&map[idworker.ID]received{})
		return false
	}
	r.known.Store(&next)
	return true
}

// Of is when the last rename of a user was received here; false if none was of late.
func (r *Renames) Of(user idworker.ID) (time.Time, bool) {
	known := r.known.Load()
	if known == nil {
		return time.Time{}, false
	}
	is, ok := (*known)[user]
	return is.at, ok
}
