package cli

import (
	"testing"
	"time"
)

func TestEpochs(t *testing.T) {
	t.Parallel()
	want := time.Date(2020, time.January, 1, 0, 0, 0, 657e6, time.UTC)
	for _, text := range []string{"2020-01-01T00:00:00.657Z", "2020-01-01T08:00:00.657+08:00", "1577836800657"} {
		var e epoch
		if err := e.UnmarshalText([]byte(text)); err != nil || !e.Equal(want) {
			t.Errorf("%s: %v, %v", text, e, err)
		}
	}
	for _, text := range []string{"", "2020-01-01", "2020-13-01T00:00:00Z", "1577836800.5", "0x10", "9223372036854775808", "now"} {
		e := epoch{want}
		if err := e.UnmarshalText([]byte(text)); err == nil || !e.Equal(want) {
			t.Errorf("%q was taken for %v", text, e)
		}
	}
}

// FuzzEpoch: whatever is accepted is in UTC and can be written and read again.
func FuzzEpoch(f *testing.F) {
	for _, text := range []string{"2020-01-01T00:00:00Z", "1577836800657", "-1", "0000-01-01T00:00:00.5+23:59", "9999999999999999999"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var e, again epoch
		if e.UnmarshalText([]byte(text)) != nil {
			return
		}
		if e.Location() != time.UTC {
			t.Errorf("%q: %v is not in UTC", text, e)
		}
		if y := e.Year(); y < 0 || y > 9999 {
			return // a number may lie where RFC 3339 cannot
		}
		if err := again.UnmarshalText([]byte(e.Format(time.RFC3339Nano))); err != nil || !again.Equal(e.Time) {
			t.Errorf("%q is %v, which reads as %v, %v", text, e, again, err)
		}
	})
}
