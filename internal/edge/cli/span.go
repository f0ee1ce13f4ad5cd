package cli

import (
	"fmt"
	"time"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/domain/duration"
)

// A span is a duration as a person writes it, for kong.
type span time.Duration

func (s *span) UnmarshalText(text []byte) error {
	d, err := duration.Parse(string(text))
	if err != nil {
		return fmt.Errorf("%q is no duration; write days, hours, minutes and seconds in this order, such as 14d, 1d12h, 36h or 90m", text)
	}
	*s = span(d)
	return nil
}

// String writes it as UnmarshalText reads it.
func (s span) String() string { return duration.Format(time.Duration(s)) }

// An instant is a moment as a person writes it: RFC 3339, or a span before now.
type instant struct {
	at     time.Time
	before span // if at is zero
	given  bool
}

func (i *instant) UnmarshalText(text []byte) error {
	if i.before.UnmarshalText(text) == nil {
		i.given = true
		return nil
	}
	t, err := wire.ParseTime(string(text))
	if err != nil {
		return fmt.Errorf("%q is no instant; write one such as 2026-11-21T09:00:00Z, or how long ago, such as 2h or 14d", text)
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
