package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A span is a duration as a person writes it: days, hours, minutes and seconds,
// such as 14d, 1d12h, 36h or 90m. A day has 24 hours.
type span time.Duration

// units are those of a span, the largest first.
var units = []struct {
	letter byte
	length time.Duration
}{{'d', 24 * time.Hour}, {'h', time.Hour}, {'m', time.Minute}, {'s', time.Second}}

// UnmarshalText reads whole numbers with their units, the larger unit first and
// each at most once.
func (s *span) UnmarshalText(text []byte) error {
	bad := fmt.Errorf("%q is no duration; write days, hours, minutes and seconds in this order, such as 14d, 1d12h, 36h or 90m", text)
	var sum time.Duration
	rest, left := string(text), units
	for rest != "" {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.ParseInt(rest[:digits], 10, 64)
		if err != nil || digits == len(rest) {
			return bad
		}
		for len(left) > 0 && left[0].letter != rest[digits] {
			left = left[1:]
		}
		if len(left) == 0 || n > int64((math.MaxInt64-sum)/left[0].length) {
			return bad
		}
		sum += time.Duration(n) * left[0].length
		rest, left = rest[digits+1:], left[1:]
	}
	if len(text) == 0 {
		return bad
	}
	*s = span(sum)
	return nil
}

// String writes it as UnmarshalText reads it. What is below a second is left
// out.
func (s span) String() string {
	var b strings.Builder
	rest := time.Duration(s)
	for _, u := range units {
		if n := rest / u.length; n > 0 {
			fmt.Fprintf(&b, "%d%c", n, u.letter)
			rest -= n * u.length
		}
	}
	if b.Len() == 0 {
		return "0s"
	}
	return b.String()
}

// An instant is a moment as a person writes it: RFC 3339, or a span before now.
type instant struct {
	at     time.Time
	before span // if at is zero
	given  bool
}

// UnmarshalText is called by kong.
func (i *instant) UnmarshalText(text []byte) error {
	if i.before.UnmarshalText(text) == nil {
		i.given = true
		return nil
	}
	t, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		return fmt.Errorf("%q is no instant; write one such as 2026-11-21T09:00:00Z, or how long ago, such as 2h or 14d", text)
	}
	if t.IsZero() { // which would be none
		t = t.Add(time.Millisecond)
	}
	i.at, i.given = t, true
	return nil
}

// time is the moment, or zero if none was given.
func (i *instant) time(now time.Time) time.Time {
	switch {
	case !i.given:
		return time.Time{}
	case i.at.IsZero():
		return now.Add(-time.Duration(i.before))
	}
	return i.at
}
