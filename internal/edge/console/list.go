package console

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/flakepass/flakepass/idworker"
)

// cursor is the ID in that field of the query, at which a page of a list begins; 0 is
// the first page, which a form that is sent is shown with. It answers the request,
// under the title of the list, and returns false, for what no page of the console sends.
func (q *request) cursor(field, title string) (idworker.ID, bool) {
	text := q.r.URL.Query().Get(field)
	if text == "" || q.r.Method == http.MethodPost {
		return 0, true
	}
	at, err := idworker.ParseID(text)
	if err != nil {
		q.message(http.StatusBadRequest, message{Title: title, Lines: []string{q.t.Text("audit.bad_cursor")}})
	}
	return at, err == nil
}

// firstPage is the first n of all. Where there are more, next is given the last of
// these.
func firstPage[T any](all []T, n int, next func(last *T)) []T {
	if len(all) <= n {
		return all
	}
	next(&all[n-1])
	return all[:n]
}

// linkTo is the URL of a page with these fields and values in its query. Values that
// are empty are left out.
func linkTo(path string, pairs ...string) string {
	q := url.Values{}
	for pair := range slices.Chunk(pairs, 2) {
		if name, value := pair[0], pair[1]; value != "" {
			q.Set(name, value)
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}
