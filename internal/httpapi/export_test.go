package httpapi

import (
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// Told is what the server can tell of itself: the code of each problem in its
// table, with the status.
func Told() map[string]int {
	all := map[string]int{internal.Code: internal.Status}
	for _, t := range told {
		all[t.p.Code] = t.p.Status
	}
	return all
}

// ToldErrors are the errors in the table.
func ToldErrors() map[error]string {
	all := map[error]string{}
	for _, t := range told {
		all[t.err] = t.p.Code
	}
	return all
}

// MaxCallers is of how many callers a throttle knows.
const MaxCallers = maxCallers

// A Throttle is a throttle by itself.
type Throttle struct{ *throttle }

// NewThrottle lets so many through a second.
func NewThrottle(perSecond int) Throttle { return Throttle{newThrottle(perSecond)} }

// Allow reports whether that caller may go on.
func (t Throttle) Allow(id idworker.ID) bool { return t.of(id, time.Now()).Allow() }

// Len is of how many callers it knows.
func (t Throttle) Len() int { return len(t.callers) }
