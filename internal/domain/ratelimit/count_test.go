package ratelimit

import (
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/limit"
)

// TestCountsGoByTheClockThatIsRight: attempts while the clock of the database was a year ahead close no
// account for a year. A step back of less than a period lets nobody off.
func TestCountsGoByTheClockThatIsRight(t *testing.T) {
	const network, now = 5, int64(1_800_000_000_000)
	l := limit.Default()
	for _, c := range []struct {
		ahead time.Duration
		free  bool
	}{{365 * 24 * time.Hour, true}, {time.Second, false}, {24 * time.Hour, false}, {30 * 24 * time.Hour, false}} {
		at := now + c.ahead.Milliseconds()
		var networks, account Count
		for {
			next, err := networks.take(&l, network, at)
			if err != nil {
				break
			}
			networks = next
		}
		for n := uint32(1); ; n++ {
			next, err := account.take(&l, n, at)
			if err != nil {
				break
			}
			account = next
		}
		for _, used := range []struct {
			limit   string
			count   Count
			network uint32
		}{{"login-network", networks, network}, {"login-account", account, 1 << 30}} {
			_, err := used.count.take(&l, used.network, now)
			if (err == nil) != c.free || err != nil && (err.Limit != used.limit || err.Retry <= 0) {
				t.Errorf("%s, used up by a clock that was %v ahead: %+v", used.limit, c.ahead, err)
			}
		}
		right, _ := Count{}.take(&l, network, at)
		if _, err := right.giveBack(&l, network, at).take(&l, network, now); c.free && err != nil {
			t.Errorf("after a login by a clock that was %v ahead: %v", c.ahead, err)
		}
	}
}
