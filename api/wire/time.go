package wire

import (
	"encoding/json"
	"fmt"
	"strconv"
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

// UnmarshalJSON reads RFC 3339 with any offset, and null, which changes nothing. It
// refuses what lies in UTC outside the years 0 to 9999: RFC 3339 has four digits for a
// year, so that it could be read but not written.
func (t *Time) UnmarshalJSON(b []byte) error {
	var at time.Time
	if err := at.UnmarshalJSON(b); err != nil || string(b) == "null" {
		return err
	}
	if at = at.UTC(); at.Year() < 0 || at.Year() > 9999 {
		return fmt.Errorf("time %s is in UTC outside the years 0 to 9999", b)
	}
	t.Time = at
	return nil
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
