package sweep_test

import (
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/sweep"
)

func TestScheduleThatCannotBeMeantIsRefused(t *testing.T) {
	for _, spec := range []string{
		"", " ", "\x00", "junk", "@junk", "@reboot", "@every", "@every ", "@every x", "@every 5", "@every 1y",
		"@every 0s", "@every -5s", "@every -1h", "@every 100ms", "@every 999ms", "@every 999999us", "@every 1ns",
		"@every 99999999999999h", " @every 1s", "@every\t1s",
		"TZ=0", "TZ=", "CRON_TZ=", "TZ=UTC", "TZ=0 * * * * *", "TZ=UTC * * * * *", "CRON_TZ=UTC 0 3 * * *",
		"CRON_TZ=Asia/Tokyo 0 3 * * *", "CRON_TZ=../../etc/passwd 0 3 * * *", "TZ=UTC @every 1m", " TZ=UTC * * * * *",
		"* * * *", "* * * * * *", "* * * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 13 *", "* * * 0 *",
		"* * * * 7", "-1 * * * *", "*/0 * * * *", "5-1 * * * *", "1-2-3 * * * *", "1/2/3 * * * *", "a * * * *", ", * * * *",
		"99999999999999999999 * * * *", "1-99999999999999999999 * * * *", "*/99999999999999999999 * * * *",
		"0 0 31 2 *", "0 0 30 2 *", "0 0 31 4 *", "0 0 31 2,4,6,9,11 *",
		"٠ * * * *", "０ ０ * * *", "* * * * ✓", "@every 1ｓ",
		strings.Repeat("*", 200), "0 3 * * " + strings.Repeat("1,", 100) + "1", strings.Repeat(" ", 200) + "* * * * *",
	} {
		if s, err := sweep.ParseSchedule(spec); err == nil || s != nil {
			t.Errorf("ParseSchedule(%q): %v, no error", spec, s)
		} else if !strings.HasPrefix(err.Error(), "sweep: schedule ") {
			t.Errorf("ParseSchedule(%q): %v, want the error to say that it is the sweep's schedule", spec, err)
		}
	}
}

func TestScheduleThatIsMeant(t *testing.T) {
	at := time.Date(2027, 3, 14, 1, 30, 30, 0, time.UTC)
	for spec, want := range map[string]time.Time{
		"@every 1s":     at.Add(time.Second),
		"@every 1m":     at.Add(time.Minute),
		"@every 1h30m":  at.Add(90 * time.Minute),
		"@hourly":       time.Date(2027, 3, 14, 2, 0, 0, 0, time.UTC),
		"@daily":        time.Date(2027, 3, 15, 0, 0, 0, 0, time.UTC),
		"* * * * *":     time.Date(2027, 3, 14, 1, 31, 0, 0, time.UTC),
		"*/5 * * * *":   time.Date(2027, 3, 14, 1, 35, 0, 0, time.UTC),
		"0 3 * * 1-5":   time.Date(2027, 3, 15, 3, 0, 0, 0, time.UTC),
		"0 0 29 2 *":    time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC),
		"0 4 * JAN SUN": time.Date(2028, 1, 2, 4, 0, 0, 0, time.UTC),
		"30 2 14 3 *":   time.Date(2027, 3, 14, 2, 30, 0, 0, time.UTC), // skipped where clocks go forward that night
	} {
		s, err := sweep.ParseSchedule(spec)
		if err != nil {
			t.Errorf("ParseSchedule(%q): %v", spec, err)
		} else if got := s.Next(at); !got.Equal(want) {
			t.Errorf("%q after %v: %v, want %v", spec, at, got, want)
		}
	}
}

// FuzzParseSchedule: what is accepted comes again and again, at least a second
// apart.
func FuzzParseSchedule(f *testing.F) {
	for _, spec := range []string{
		"", "TZ=0", "CRON_TZ=UTC * * * * *", "@every 0s", "@every -5s", "@every 100ms", "@every 1m", "@every 2562047h",
		"0 0 31 2 *", "0 0 29 2 *", "* * * * *", "*/5 1-3 ? JAN,feb MON-FRI", "@midnight", "\xff\xfe", "@every 1e9s",
	} {
		f.Add(spec)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		s, err := sweep.ParseSchedule(spec)
		if err != nil {
			if s != nil {
				t.Errorf("%q: a schedule and an error", spec)
			}
			return
		}
		last := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
		for range 3 {
			next := s.Next(last)
			if next.Sub(last) < time.Second && next != last.Add(time.Second).Truncate(time.Second) {
				t.Fatalf("%q: %v after %v", spec, next, last)
			}
			last = next
		}
	})
}
