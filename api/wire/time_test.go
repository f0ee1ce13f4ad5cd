package wire_test

import (
	"encoding/json"
	"math"
	"regexp"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/wire"
)

// TestTimesHaveThreeDigits: in UTC, also where the digits are zero, and a zero time
// that is to be left out is.
func TestTimesHaveThreeDigits(t *testing.T) {
	at := time.Date(2026, 11, 22, 20, 24, 0, 0, time.FixedZone("", 3600))
	text, err := json.Marshal(wire.Event{At: wire.At(at)}.At)
	if err != nil || string(text) != `"2026-11-22T19:24:00.000Z"` {
		t.Errorf("%s, %v", text, err)
	}
	if text, err = json.Marshal(struct {
		T wire.Time `json:"t,omitzero"`
	}{wire.AtOrNone(at, false)}); err != nil || string(text) != "{}" {
		t.Errorf("%s, %v", text, err)
	}
}

// TestTimesReadCanBeWritten: an offset can move the first and the last year of RFC 3339
// to one that has no four digits.
func TestTimesReadCanBeWritten(t *testing.T) {
	for text, taken := range map[string]bool{
		"0000-01-01T00:00:00Z": true, "9999-12-31T23:59:59Z": true, "0000-01-01T02:00:00+02:00": true,
		"0000-01-01T00:00:00+01:00": false, "9999-12-31T23:59:59-01:00": false,
	} {
		var at, again wire.Time
		if err := json.Unmarshal([]byte(`"`+text+`"`), &at); (err == nil) != taken {
			t.Errorf("%s: %v", text, err)
		} else if err != nil {
			continue
		}
		written, err := json.Marshal(at)
		if err != nil || json.Unmarshal(written, &again) != nil || !again.Equal(at.Time) {
			t.Errorf("%s is written as %s, %v", text, written, err)
		}
	}
}

// TestTimesAreAsRFC3339HasThem, where package time takes more, through each reader.
func TestTimesAreAsRFC3339HasThem(t *testing.T) {
	for text, taken := range map[string]bool{
		"2026-11-21T09:12:33Z": true, "2026-11-21T09:12:33.5+23:59": true, "2026-11-21T09:12:33-00:00": true, "2026-11-21T09:12:33.123456789123Z": true,
		"2026-11-21T09:12:33+24:00": false, "2026-11-21T09:12:33-24:00": false, "2026-11-21T09:12:33+23:60": false, "2026-11-21T09:12:33.5+99:00": false,
		"2026-11-21T09:12:33,5Z": false, "2026-11-21T09:12:33,5+01:00": false, "2026-11-21T9:12:33Z": false, "2026-11-21T9:12:33.5+24:00": false,
		"2026-11-21T09:12:33": false, "2026-11-21T09:12:33+0100": false, "2026-11-21T24:00:00Z": false, "2026-11-21": false, "": false, "null": false,
	} {
		var j, x wire.Time
		_, err := wire.ParseTime(text)
		if xerr := x.UnmarshalText([]byte(text)); (err == nil) != taken || (xerr == nil) != taken || taken == x.IsZero() {
			t.Errorf("%s: %v, %v, %v", text, err, xerr, x)
		}
		if jerr := json.Unmarshal([]byte(`"`+text+`"`), &j); (jerr == nil) != taken || j != x {
			t.Errorf("%s: %v, %v", text, jerr, j)
		}
	}
	for _, bad := range []string{`1`, `"`, `{}`, `"2026-11-21T09:12:33Z`, ``} {
		if err := new(wire.Time).UnmarshalJSON([]byte(bad)); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

// TestATimeThatIsGivenIsOne: the zero time of Go has a text, too.
func TestATimeThatIsGivenIsOne(t *testing.T) {
	const text = "0001-01-01T08:00:00+08:00"
	var exact wire.Time
	if at, err := wire.ParseTime(text); err != nil || at.IsZero() || at.Year() != 1 || at.Truncate(time.Millisecond) != at {
		t.Errorf("%v, %v", at, err)
	}
	if err := exact.UnmarshalText([]byte(text)); err != nil || !exact.IsZero() {
		t.Errorf("%v, %v", exact, err)
	}
}

// FuzzParseTime: what is taken is in UTC, is a time, and is written so that it reads the same.
func FuzzParseTime(f *testing.F) {
	for _, text := range []string{
		"2026-11-21T09:12:33.123Z", "0000-01-01T00:00:00+00:01", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00Z", "2026-11-21T9:12:33,5+24:00", "2026-02-29T23:59:60+23:60",
	} {
		f.Add(text)
	}
	form := regexp.MustCompile(`^\d{4}(-\d\d){2}T\d\d(:\d\d){2}(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)
	f.Fuzz(func(t *testing.T, text string) {
		at, err := wire.ParseTime(text)
		if err != nil {
			return
		}
		again, err := wire.ParseTime(at.Format(time.RFC3339Nano))
		if err != nil || again != at || at.IsZero() || at.Location() != time.UTC || !form.MatchString(text) {
			t.Errorf("%q is %v, which reads as %v, %v", text, at, again, err)
		}
		// The same instant to the millisecond goes through an answer.
		var one, two wire.Time
		written, err := json.Marshal(wire.At(at.Truncate(time.Millisecond)))
		if err != nil || json.Unmarshal(written, &one) != nil || !one.Equal(at.Truncate(time.Millisecond)) || two.UnmarshalText([]byte(one.String())) != nil || two != one {
			t.Errorf("%q is written as %s, %v", text, written, err)
		}
	})
}

// TestLongTimesAreCut to what is no sane time and does not overflow.
func TestLongTimesAreCut(t *testing.T) {
	for _, n := range []int64{math.MaxInt64, math.MinInt64, math.MaxInt64 / 1000} {
		text, _ := json.Marshal(n)
		var s wire.Seconds
		var m wire.Millis
		if json.Unmarshal(text, &s) != nil || s.Sane() || (s < 0) != (n < 0) || json.Unmarshal(text, &m) != nil || m.Sane() || (m < 0) != (n < 0) {
			t.Errorf("%d is read as %v and %v", n, s, m)
		}
	}
	for _, bad := range []string{`1.5`, `"1"`, `1e30`, `true`} {
		if json.Unmarshal([]byte(bad), new(wire.Seconds)) == nil || json.Unmarshal([]byte(bad), new(wire.Millis)) == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

// Whatever is taken for a policy is written as one that reads the same.
func FuzzPolicy(f *testing.F) {
	f.Add([]byte(`{"idle_timeout_seconds":1,"absolute_lifetime_seconds":9223372036854775807,"touch_interval_seconds":1,"version":1}`))
	f.Add([]byte(`{"idle_timeout_seconds":300,"absolute_lifetime_seconds":600,"touch_interval_seconds":1,"version":2,"updated_at":"2026-11-21T11:40:01+02:00"}`))
	f.Add([]byte(`{"idle_timeout_seconds":1,"absolute_lifetime_seconds":1,"touch_interval_seconds":1,"version":1,"updated_at":"0001-01-01T00:00:00.0001Z"}`))
	f.Add([]byte(`{"idle_timeout_seconds":300,"absolute_lifetime_seconds":600,"touch_interval_seconds":1,"sweep_schedule":"@every 1m","max_sessions":2,"over_limit":"refuse",
		"device_classes":["phone","other"],"overrides":[{"device_class":"phone","idle_timeout_seconds":60,"max_sessions":1},{"role":"admin","absolute_lifetime_seconds":60}],
		"limits":{"login_place":[{"count":5,"period_seconds":60}],"login_account":{"count":100,"period_seconds":86400},"login_address":{"count":10,"period_seconds":1},
		"register":{"count":1,"period_seconds":1},"introspect":{"count":1,"period_seconds":1}},"version":3,"updated_at":"2026-11-21T11:40:01.0005Z","updated_by":"ada","note":"<&>"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var one, two wire.Policy
		if json.Unmarshal(text, &one) != nil || !one.Complete() {
			return
		}
		first, err := json.Marshal(one)
		if err == nil {
			err = json.Unmarshal(first, &two)
		}
		if second, again := json.Marshal(two); err != nil || again != nil || string(second) != string(first) {
			t.Errorf("%s, and then %s, %v, %v", first, second, err, again)
		}
	})
}
