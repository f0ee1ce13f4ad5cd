package redisworker

import (
	"errors"
	"fmt"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// What a [Lender] fails with, beside [idworker.ErrLost] and
// [idworker.ErrNoNumber]. Nothing was lent then.
var (
	// ErrCalm says that Redis may have forgotten what it lent, and that no
	// number is lent to a new owner before the instant that the error names.
	ErrCalm = errors.New("redisworker: Redis may have forgotten what it lent")

	// ErrReach says that a range would end more than Reach ahead of Redis'
	// clock. Some clock is wrong, or Reach is too small for the Worker's Window.
	ErrReach = errors.New("redisworker: too far ahead of Redis' clock")

	// ErrReplicas says that fewer replicas than asked for have confirmed a
	// change in time.
	ErrReplicas = errors.New("redisworker: replicas did not confirm")

	// ErrSettings says that the Reach and Skew of this Lender are not those that
	// the record in Redis was made with, or that a field makes no sense.
	ErrSettings = errors.New("redisworker: settings do not fit")

	// ErrBroken says that Redis holds or answers what no Lender wrote.
	ErrBroken = errors.New("redisworker: not a Lender's record")

	// ErrUnavailable says that Redis could not be asked, or refused. The error
	// of the client is wrapped beside it.
	ErrUnavailable = errors.New("redisworker: Redis cannot be asked")
)

// err says what an answer other than ok and wait means, in a sentence that says
// what to do.
func (l *Lender) err(a answer, o limits) error {
	switch a.verdict {
	case lost:
		return idworker.ErrLost
	case beyond:
		return fmt.Errorf("%w: a range would end more than Reach (%v) after %v, which is the time there; "+
			"set the clocks of this machine and of Redis right, or raise Reach in every Lender of the namespace",
			ErrReach, o.reach, instant(a.n[0]))
	case none:
		if a.text == "pool" {
			return fmt.Errorf("%w: number %d has an owner that chose it from the pool and lives; "+
				"give Only a number at or above the others' Numbers", idworker.ErrNoNumber, *l.Only)
		}
		return idworker.ErrNoNumber
	case settings:
		return fmt.Errorf("%w: the record has Reach %v and Skew %v, and this Lender %v and %v; all Lenders of a namespace "+
			"need the same: to change them, stop all, delete the key %q, and start again", ErrSettings,
			time.Duration(a.n[0])*time.Millisecond, time.Duration(a.n[1])*time.Millisecond, o.reach, o.skew, l.key())
	case broken:
		return fmt.Errorf("%w: another program wrote the field %q of the key %q; "+
			"find out who, and delete the key: ranges lent before stay safe", ErrBroken, a.text, l.key())
	}
	return fmt.Errorf("%w: it was not asked for %q", ErrBroken, a.verdict)
}

func instant(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }
