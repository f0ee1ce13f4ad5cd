package wire

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Time is an instant. In JSON it is RFC 3339 in UTC, always with three digits of
// milliseconds; encoding/json drops zeros at the end of a [time.Time].
type Time struct{ time.Time }

// At is t in UTC.
func At(t time.Time) Time { return Time{t.UTC()} }

// AtOrNone is t in UTC, or zero, which is left out, if it is not so.
func AtOrNone(t time.Time, is bool) Time {
	if !is {
		return Time{}
	}
	return At(t)
}

// IsZero reports whether t is zero as it is written: to the millisecond.
func (t Time) IsZero() bool { return t.Truncate(time.Millisecond).IsZero() }

// AppendText appends the time as JSON has it, without the quotes. It never fails.
func (t Time) AppendText(b []byte) ([]byte, error) {
	at := t.UTC()
	// time has a fast path for this layout, and none for one with milliseconds.
	b = at.AppendFormat(b, time.RFC3339)
	ms := at.Nanosecond() / int(time.Millisecond)
	return append(b[:len(b)-1], '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z'), nil
}

// String is the time as JSON has it, without the quotes.
func (t Time) String() string {
	b, _ := t.AppendText(make([]byte, 0, 24))
	return string(b)
}

// MarshalText never fails.
func (t Time) MarshalText() ([]byte, error) { return t.AppendText(make([]byte, 0, 24)) }

// MarshalJSON never fails.
func (t Time) MarshalJSON() ([]byte, error) {
	b, _ := t.AppendText(append(make([]byte, 0, 26), '"'))
	return append(b, '"'), nil
}

// UnmarshalJSON reads what [Time.UnmarshalText] does, and null, which changes nothing.
func (t *Time) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return fmt.Errorf("%s is no time: it is no string", b)
	}
	return t.UnmarshalText(b[1 : len(b)-1])
}

// UnmarshalText reads RFC 3339 with any offset. It refuses what lies in UTC outside the
// years 0 to 9999: RFC 3339 has four digits for a year, so that it could be read but not
// written. After an error the time is as it was.
func (t *Time) UnmarshalText(b []byte) error {
	s := string(b)
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return err
	}
	// time takes an hour of one digit, a comma for the point, and offsets of a day and
	// more (https://go.dev/issue/54580).
	n := len(s)
	if s[12] == ':' || strings.Contains(s, ",") || s[n-1] != 'Z' && (s[n-5:n-3] > "23" || s[n-2:] > "59") {
		return fmt.Errorf("time %q is not as RFC 3339 has it", s)
	}
	if at = at.UTC(); at.Year() < 0 || at.Year() > 9999 {
		return fmt.Errorf("time %q is in UTC outside the years 0 to 9999", s)
	}
	t.Time = at
	return nil
}

// ParseTime reads a time that somebody gave, as [Time.UnmarshalText] does. It is never
// zero, which would be none: the first instant of the year 1 is read as a millisecond later.
func ParseTime(s string) (time.Time, error) {
	var t Time
	err := t.UnmarshalText([]byte(s))
	if err == nil && t.IsZero() {
		t.Time = t.Add(time.Millisecond)
	}
	return t.Time, err
}

// Longest is longer than any time that a server reports. What is longer would not be
// distinguished from an overflow.
const Longest = 100 * 365 * 24 * time.Hour

// Seconds are a duration that is a whole number of seconds in JSON. One that is read
// is cut to a second beyond [Longest].
type Seconds time.Duration

// Sane reports whether s is from 0 to [Longest].
func (s Seconds) Sane() bool { return 0 <= s && s <= Seconds(Longest) }

// String is that of a [time.Duration].
func (s Seconds) String() string { return time.Duration(s).String() }

// MarshalJSON never fails; a part of a second is left out.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, int64(time.Duration(s)/time.Second), 10), nil
}

// UnmarshalJSON reads a whole number.
func (s *Seconds) UnmarshalJSON(b []byte) error {
	d, err := span(b, time.Second)
	*s = Seconds(d)
	return err
}

// Millis are a duration that is a whole number of milliseconds in JSON. One that is
// read is cut to a millisecond beyond [Longest].
type Millis time.Duration

// Sane reports whether m is from 0 to [Longest].
func (m Millis) Sane() bool { return 0 <= m && m <= Millis(Longest) }

// String is that of a [time.Duration].
func (m Millis) String() string { return time.Duration(m).String() }

// MarshalJSON never fails; a part of a millisecond is left out.
func (m Millis) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, time.Duration(m).Milliseconds(), 10), nil
}

// UnmarshalJSON reads a whole number.
func (m *Millis) UnmarshalJSON(b []byte) error {
	d, err := span(b, time.Millisecond)
	*m = Millis(d)
	return err
}

// span reads a whole number of units.
func span(b []byte, unit time.Duration) (time.Duration, error) {
	var n int64
	if err := json.Unmarshal(b, &n); err != nil {
		return 0, err
	}
	most := int64(Longest/unit) + 1
	return time.Duration(min(max(n, -most), most)) * unit, nil
}

// FineMillis are a duration in milliseconds in JSON, with up to three digits behind
// the point.
type FineMillis time.Duration

// Sane reports whether m is from 0 to [Longest].
func (m FineMillis) Sane() bool { return 0 <= m && m <= FineMillis(Longest) }

// MarshalJSON never fails; a part of a microsecond is left out.
func (m FineMillis) MarshalJSON() ([]byte, error) {
	return json.Marshal(float64(time.Duration(m).Microseconds()) / 1000)
}

// UnmarshalJSON reads a number, to the nearest microsecond.
func (m *FineMillis) UnmarshalJSON(b []byte) error {
	var n float64
	if err := json.Unmarshal(b, &n); err != nil {
		return err
	}
	const most = float64(Longest/time.Millisecond) + 1
	n = min(max(n, -most), most)
	*m = FineMillis(time.Duration(n * float64(time.Millisecond)).Round(time.Microsecond))
	return nil
}
