package scale

import (
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/sweep"
)

// previews asks what shorter policies would do, as an operator does before
// changing them, and how many users and logins there are. It checks what is answered
// against a count of every row.
func (d *deployment) previews(t testing.TB) {
	t.Helper()
	times := 1
	if d.big {
		times = 20
	}
	for _, c := range []struct {
		what           string
		idle, absolute time.Duration
	}{
		{"less idle time", 7 * day, 30 * day}, {"a shorter life", 14 * day, 7 * day}, {"a little of both", 14*day - time.Hour, 30*day - time.Hour},
	} {
		next := d.policy()
		next.Idle, next.Absolute = c.idle, c.absolute
		if d.big {
			d.resize(t, 128<<20)
			d.resize(t, pool)
		}
		var cold, warm stopwatch
		var effect policy.Effect
		_, before := d.asked(t)
		var start time.Time
		for k := range times + 1 {
			start = time.Now()
			got, err := d.settings.Effect(t.Context(), d.policy(), next, start)
			took := time.Since(start)
			must(t, err)
			if effect = got; k == 0 {
				cold.note(took, nil)
			} else {
				warm.note(took, nil)
			}
		}
		_, after := d.asked(t)
		d.compare(t, c.what, effect, next, start)
		d.time("preview of "+c.what+", nothing in memory", cold.quantile(1))
		d.quantiles("preview of "+c.what, &warm)
		d.number("preview of "+c.what+": rows or entries looked at", float64(after-before)/float64(times+1), "")
		d.number("preview of "+c.what+": error of what ends, of a hundred", 100*float64(effect.Ends.Error)/float64(max(effect.Ends.Count, 1)), "")
	}
	var w stopwatch
	for range times {
		w.lap(t, func() error {
			for _, role := range []account.Role{account.RoleUser, account.RoleService, account.RoleAdmin} {
				if _, err := d.settings.CountUsers(t.Context(), role); err != nil {
					return err
				}
			}
			if _, err := d.settings.CountDisabled(t.Context()); err != nil {
				return err
			}
			_, err := d.settings.CountLogins(t.Context(), d.policy(), time.Now())
			return err
		})
	}
	d.quantiles("how many users and logins there are", &w)
}

// compare fails if an effect is further off than it says. Its error is twice the
// standard error, so one in twenty may be; at three times that, none is. A twentieth is
// allowed beside: on a busy machine one sample has to do, and those who have logged out
// here are neighbours, whom all of its pieces may miss.
func (d *deployment) compare(t testing.TB, what string, effect policy.Effect, next policy.Policy, now time.Time) {
	t.Helper()
	marks := func(p policy.Policy) (int64, int64) {
		m := sweep.MarksOf(p.For("", "").OldestIssued(now), p.For("", "").OldestSeen(now), 0)
		return int64(m.Issued), m.Seen.UnixMilli()
	}
	issued0, seen0 := marks(d.policy())
	issued1, seen1 := marks(next)
	live := d.count(t, "token_id > ? AND token_seen_at > ?", issued0, seen0)
	stay := d.count(t, "token_id > ? AND token_seen_at > ?", issued1, seen1)
	for name, c := range map[string]struct {
		got  policy.Estimate
		want int
	}{"live": {effect.Live, live}, "end": {effect.Ends, live - stay}} {
		if off := c.got.Count - int64(c.want); max(off, -off) > 3*c.got.Error+int64(c.want/20) {
			t.Errorf("the preview of %s says that %d±%d logins %s, and it is %d", what, c.got.Count, c.got.Error, name, c.want)
		}
	}
}
