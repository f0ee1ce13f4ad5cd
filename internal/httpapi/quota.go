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

// maxCallers is of how many callers a quota knows at the same time.
const maxCallers = 4096

// A quota lets each caller through so many times a second, and as many at
// once. It counts for this instance alone.
type quota struct {
	rate int // 0: any number

	mu      sync.Mutex
	callers map[idworker.ID]*rate.Limiter
}

func newQuota(perSecond int) *quota {
	return &quota{rate: perSecond, callers: map[idworker.ID]*rate.Limiter{}}
}

// admit stands behind the guard: only who is known is counted, so nobody can
// use up what another has.
func (q *quota) admit(s *server) gin.HandlerFunc {
	return s.do(func(c *gin.Context) error {
		who, _ := flakepass.FromContext(c.Request.Context())
		if q.rate > 0 && !q.of(who.UserID, time.Now()).Allow() {
			c.Abort()
			return errTooOften
		}
		return nil
	})
}

// of is the limiter of that caller. Of those who have as much left as one who is
// new nothing needs to be known; if that makes little room, all begin anew, with
// a second's worth.
func (q *quota) of(id idworker.ID, now time.Time) *rate.Limiter {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.callers[id]; l != nil {
		return l
	}
	if len(q.callers) >= maxCallers {
		for other, l := range q.callers {
			if l.TokensAt(now) >= float64(q.rate) {
				delete(q.callers, other)
			}
		}
		if len(q.callers) > maxCallers/2 { // or the next one to come would have to look again
			clear(q.callers)
		}
	}
	l := rate.NewLimiter(rate.Limit(q.rate), q.rate)
	q.callers[id] = l
	return l
}
