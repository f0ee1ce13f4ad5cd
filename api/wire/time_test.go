package wire_test

import (
	"encoding/json"
	"math"
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
