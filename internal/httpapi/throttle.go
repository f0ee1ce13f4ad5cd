package httpapi

import (
	"errors"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"golang.org/x/time/rate"

	"github.com/flakepass/flakepass"
	"github.com/flakepass/flakepass/idworker"
)

// errTooOften means that a caller asks more often than it may.
var errTooOften = errors.New("too many requests of one caller")

// maxCallers is of how many callers a throttle knows at the same time.
const maxCallers = 4096

// A throttle lets each caller through so many times a second, and as many at
// once. It counts for this instance alone.
type throttle struct {
	rate int // 0: any number

	mu      sync.Mutex
	callers map[idworker.ID]*rate.Limiter
}

func newThrottle(perSecond int) *throttle {
	return &throttle{rate: perSecond, callers: map[idworker.ID]*rate.Limiter{}}
}

// admit stands behind the guard: only who is known is counted, so nobody can
// use up what another has.
func (t *throttle) admit(s *server) gin.HandlerFunc {
	return s.do(func(c *gin.Context) error {
		who, _ := flakepass.FromContext(c.Request.Context())
		if t.rate > 0 && !t.of(who.UserID, time.Now()).Allow() {
			c.Abort()
			return errTooOften
		}
		return nil
	})
}

// of is the limiter of that caller. Of those who have as much left as one who is
// new nothing needs to be known; if that makes little room, all begin anew, with
// a second's worth.
func (t *throttle) of(id idworker.ID, now time.Time) *rate.Limiter {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l := t.callers[id]; l != nil {
		return l
	}
	if len(t.callers) >= maxCallers {
		for other, l := range t.callers {
			if l.TokensAt(now) >= float64(t.rate) {
				delete(t.callers, other)
			}
		}
		if len(t.callers) > maxCallers/2 { // or the next one to come would have to look again
			clear(t.callers)
		}
	}
	l := rate.NewLimiter(rate.Limit(t.rate), t.rate)
	t.callers[id] = l
	return l
}
