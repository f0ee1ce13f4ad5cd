package httpapi

import (
	"net/http"
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

// MaxCallers is of how many callers a quota knows.
const MaxCallers = maxCallers

// A Quota is a quota by itself.
type Quota struct{ *quota }

// NewQuota lets so many through a second.
func NewQuota(perSecond int) Quota { return Quota{newQuota(perSecond)} }

// Allow reports whether that caller may go on.
func (t Quota) Allow(id idworker.ID) bool { return t.of(id, time.Now()).Allow() }

// Len is of how many callers it knows.
func (t Quota) Len() int { return len(t.callers) }

// Condition reads a conditional header, and says whether there is one, whether
// it can be read, and whether it holds for a representation with that tag, by
// the strong and by the weak comparison.
func Condition(h http.Header, name, tag string) (given, ok, strong, weak bool) {
	c, given, ok := conditionOf(h, name)
	return given, ok, c.strong(tag), c.weak(tag)
}
