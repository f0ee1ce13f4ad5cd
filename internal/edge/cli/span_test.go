package cli

import (
	"strings"
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"14d": 14 * day, "1d12h": 36 * time.Hour, "36h": 36 * time.Hour, "90m": 90 * time.Minute, "0s": 0, "1d1s": day + time.Second,
		"1d2h3m4s": day + 2*time.Hour + 3*time.Minute + 4*time.Second, "007h": 7 * time.Hour, "106751d": 106751 * day,
	} {
		var s span
		if err := s.UnmarshalText([]byte(text)); err != nil || time.Duration(s) != want {
			t.Errorf("%q: %v, %v; want %v", text, time.Duration(s), err, want)
		}
	}
	for _, text := range []string{"", "14", "d", "-1d", "+1d", "1.5d", "1w", "1D", "12h1d", "1d1d", "1d ", " 1d", "1 d", "1d12", "1ms", "1µs",
		"106752d", "106751d24h", "99999999999999999999d", "9223372036854775807s", "١d"} {
		var s span
		if err := s.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "14d, 1d12h, 36h or 90m") {
			t.Errorf("%q: %v, %v; want a sentence", text, s, err)
		}
	}
	for d, want := range map[time.Duration]string{0: "0s", 14 * day: "14d", 36 * time.Hour: "1d12h", 90 * time.Second: "1m30s", 1500 * time.Millisecond: "1s"} {
		if got := span(d).String(); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// FuzzSpan: what is read is never below 0, and is written as it is read.
func FuzzSpan(f *testing.F) {
	for _, s := range []string{"14d", "1d12h", "90m", "106751d23h47m16s", "1d1d", "999999999999999999s", "0d0h0m0s", "\xff", "1d\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var s, again span
		if s.UnmarshalText([]byte(text)) != nil {
			return
		}
		if s < 0 || again.UnmarshalText([]byte(s.String())) != nil || again != s {
			t.Errorf("%q is %v, written %s, read %v", text, time.Duration(s), s, time.Duration(again))
		}
	})
}

func TestInstant(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2h": now.Add(-2 * time.Hour), "14d": now.Add(-14 * 24 * time.Hour), "0s": now,
		"2026-11-21T10:00:00+01:00": time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC),
	} {
		var i instant
		if err := i.UnmarshalText([]byte(text)); err != nil || !i.time(now).Equal(want) {
			t.Errorf("%q: %v, %v", text, i.time(now), err)
		}
	}
	for _, text := range []string{"2026-11-21T10:00:00+24:00", "2026-11-21T10:00:00,5Z", "9999-12-31T23:59:59-23:59", ""} {
		if i := (&instant{}); i.UnmarshalText([]byte(text)) == nil || i.given {
			t.Errorf("%q was taken for %v", text, i.time(now))
		}
	}
	if i := (&instant{}); !i.time(now).IsZero() {
		t.Error("nothing given is a moment")
	}
	// The first moment that Go knows is one, too, and neither now nor none.
	var first instant
	if err := first.UnmarshalText([]byte("0001-01-01T00:00:00Z")); err != nil || first.time(now).IsZero() || first.time(now).Year() != 1 {
		t.Errorf("the year 1: %v, %v", first.time(now), err)
	}
}

// TestShownTextCommandsNoTerminal: names and notes are other people's words.
func TestShownTextCommandsNoTerminal(t *testing.T) {
	t.Parallel()
	if got := printable("a\x1b[2Jb\tc\u202e\u0085zoë"); got != "a\ufffd[2Jb\ufffdc\ufffd\ufffdzoë" {
		t.Errorf("got %q", got)
	}
	if got := printableLines("a\x1b[2Jb\tc\nd\r"); got != "a\ufffd[2Jb\tc\nd\ufffd" {
		t.Errorf("got %q", got)
	}
	if got := thousands(1234567) + thousands(999) + thousands(1000); got != "1,234,5679991,000" {
		t.Error(got)
	}
}
