package httpapi

import (
	"net/http"

	"github.com/flakepass/flakepass/internal/domain/session"
)

// ProblemCodes is what the server can answer by itself: the code of each problem in its
// table, with the status.
func ProblemCodes() map[string]int {
	all := map[string]int{internal.Code: internal.Status}
	for _, t := range problems {
		all[t.p.Code] = t.p.Status
	}
	return all
}

// ProblemErrors are the errors in the table.
func ProblemErrors() map[error]string {
	all := map[error]string{}
	for _, t := range problems {
		all[t.err] = t.p.Code
	}
	return all
}

// Condition reads a conditional header, and says whether there is one, whether
// it can be read, and whether it holds for a representation with that tag, by
// the strong and by the weak comparison.
func Condition(h http.Header, name, tag string) (given, ok, strong, weak bool) {
	c, given, ok := conditionOf(h, name)
	return given, ok, c.strong(tag), c.weak(tag)
}

// RequestNamed is what identifies a request with that name; nil if it is none.
func RequestNamed(name string) *session.Request {
	r, err := requestOf(http.Header{idempotencyHeader: {name}}, nil)
	if err != nil {
		return nil
	}
	return r
}
