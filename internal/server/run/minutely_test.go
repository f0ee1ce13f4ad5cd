package run

import (
	"testing"
	"testing/synctest"
	"time"
)

// A warning comes once a minute, and once more after the clock was set back: it does not wait
// for the hour that the clock has left.
func TestWarningsComeOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m minutely
		said := func() (yes bool) {
			m.do(func() { yes = true })
			return yes
		}
		for _, step := range []struct {
			after time.Duration
			want  bool
		}{{0, true}, {time.Minute - time.Millisecond, false}, {time.Millisecond, true}, {0, false}} {
			time.Sleep(step.after) //nolint:forbidigo // in a bubble
			if got := said(); got != step.want {
				t.Errorf("%v later: said %v, want %v", step.after, got, step.want)
			}
		}
		m.last.Store(time.Now().Add(time.Hour).UnixMilli())
		if first, second := said(), said(); !first || second {
			t.Errorf("after the clock was set back: said %v, and at once again %v", first, second)
		}
	})
}
