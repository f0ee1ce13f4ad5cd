package ratelimit

import (
	"cmp"
	"encoding/binary"
	"time"

	"github.com/flakepass/flakepass/internal/domain/limit"
)

// A Count is how many attempts there were at one account by clients of one kind:
// strangers, a known device, or a known place. It is kept in the database, so
// it holds over all instances, restarts and outages of Redis. There is one for each
// account, and for each device and place that has logged in, and [shadows] for all
// names without an account.
//
// It is a token bucket, as in [Store]. Instants are in Unix milliseconds by the
// database's clock. The zero Count with a Key is full, and in no row.
type Count struct {
	Key     int64
	Version int64 // of the row; 0: there is none
	Full    int64 // when all attempts are there again
	Period  int64 // in milliseconds, of the rule that it was counted by
	Told    int64 // the Full of which the owner was notified
	// Networks are the recent networks of the attempts. Each entry is a keyed hash (4
	// bytes), and the second at which that network has all its attempts again (4 bytes).
	Networks []byte
}

const (
	networkEntry = 8
	// networksKept is how many networks an account is counted for. If more
	// guess at one account, the share no longer limits the networks that have used least
	// of it. The limit of the account itself counts them all the same.
	networksKept = 32
)

// under returns g as it is now under a rule. If the rule has another period, the used
// share stays used.
func (g Count) under(r limit.Rule, now int64) Count {
	per := r.Per.Milliseconds()
	was := cmp.Or(g.Period, per)
	used, told := remaining(g.Full, now, was), remaining(g.Told, now, was)
	if was != per {
		scale := func(n int64) int64 { return int64(float64(n) / float64(was) * float64(per)) }
		used, told = scale(used), scale(told)
		g.Networks = scaled(g.Networks, now, scale)
	}
	g.Full, g.Told, g.Period = now+min(used, per), now+min(told, per), per
	return g
}

// remaining is for how long it takes until all attempts of a period are there again. If that is
// more than two periods, the clock was ahead by more than one when this was counted. By then
// all that was used before was there again, so none of it counts: nobody would have an
// attempt until that time had come.
func remaining(full, now, per int64) int64 {
	if full-now > 2*per {
		return 0
	}
	return max(0, full-now)
}

// take returns g after one more attempt, or says why there is none. The attempt also
// counts against the share of its network; network 0 is none.
func (g Count) take(l *limit.Limits, network uint32, now int64) (Count, *LimitedError) {
	r := l.LoginAccount
	g = g.under(r, now)
	if network != 0 {
		share := l.LoginNetwork()
		list, at := g.network(network, now, share)
		full := max(now, int64(binary.BigEndian.Uint32(list[at+4:]))*1000) + share.Interval().Milliseconds()
		if err := over("login-network", share, full, now); err != nil {
			return g, err
		}
		binary.BigEndian.PutUint32(list[at+4:], seconds(full))
		g.Networks = list
	}
	full := g.Full + r.Interval().Milliseconds()
	if err := over("login-account", r, full, now); err != nil {
		return g, err
	}
	g.Full = full
	return g, nil
}

// giveBack is g without one attempt that was taken by [Count.take].
func (g Count) giveBack(l *limit.Limits, network uint32, now int64) Count {
	r := l.LoginAccount
	g = g.under(r, now)
	g.Full = max(now, g.Full-r.Interval().Milliseconds())
	if network != 0 {
		list, at := g.network(network, now, l.LoginNetwork())
		full := int64(binary.BigEndian.Uint32(list[at+4:]))*1000 - l.LoginNetwork().Interval().Milliseconds()
		binary.BigEndian.PutUint32(list[at+4:], seconds(max(now, full)))
		g.Networks = list
	}
	return g
}

// failures is how many attempts are counted of which the owner was not notified.
func (g Count) failures(r limit.Rule, now int64) int {
	if r.None() {
		return 0
	}
	g = g.under(r, now)
	iv := r.Interval().Milliseconds()
	return int((max(0, g.Full-g.Told) + iv - 1) / iv) // what has trickled in of one does not undo it
}

// cleared returns g with all attempts left.
func (g Count) cleared(now int64) Count {
	g.Full, g.Told, g.Networks = now, now, nil
	return g
}

// Unused reports whether g limits nothing: all attempts are available, also to each network. The
// share of a network refills more slowly than the account.
func (g Count) Unused(now int64) bool {
	for rest := g.Networks; len(rest) >= networkEntry; rest = rest[networkEntry:] {
		if int64(binary.BigEndian.Uint32(rest[4:]))*1000 > now {
			return false
		}
	}
	return g.Full <= now
}

// network returns a copy of the list, in which networks that have all their
// attempts are left out, and where the entry of that one begins in it.
func (g Count) network(network uint32, now int64, share limit.Rule) (list []byte, at int) {
	list = make([]byte, 0, min(len(g.Networks)+networkEntry, networksKept*networkEntry))
	at, least, leastAt := -1, uint32(0), 0
	for rest := g.Networks; len(rest) >= networkEntry; rest = rest[networkEntry:] {
		hash, full := binary.BigEndian.Uint32(rest), binary.BigEndian.Uint32(rest[4:])
		if remaining(int64(full)*1000, now, share.Per.Milliseconds()) == 0 {
			continue
		}
		if len(list) == 0 || full < least {
			least, leastAt = full, len(list)
		}
		if hash == network {
			at = len(list)
		}
		list = append(list, rest[:networkEntry]...)
	}
	if at >= 0 {
		return list, at
	}
	if len(list) < networksKept*networkEntry {
		at, list = len(list), append(list, make([]byte, networkEntry)...)
	} else {
		at = leastAt
	}
	binary.BigEndian.PutUint32(list[at:], network)
	binary.BigEndian.PutUint32(list[at+4:], 0)
	return list, at
}

// scaled is a list with what is used of each network changed.
func scaled(list []byte, now int64, scale func(int64) int64) []byte {
	out := make([]byte, 0, len(list))
	for ; len(list) >= networkEntry; list = list[networkEntry:] {
		if used := int64(binary.BigEndian.Uint32(list[4:]))*1000 - now; used > 0 {
			out = append(out, list[:4]...)
			out = binary.BigEndian.AppendUint32(out, seconds(now+scale(used)))
		}
	}
	return out
}

// over says why a bucket that would be full at that moment allows no more.
func over(name string, r limit.Rule, full, now int64) *LimitedError {
	wait := full - now - r.Per.Milliseconds()
	if wait <= min(1000, r.Interval().Milliseconds()/100) { // rounding
		return nil
	}
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	return &LimitedError{Limit: name, Rule: r, Retry: ms(wait), Reset: ms(full-now) - r.Interval()}
}

func seconds(ms int64) uint32 { return uint32((ms + 999) / 1000) } // until the year 2106
