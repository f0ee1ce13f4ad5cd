package httpapi

import (
	"net/url"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
)

// How many entries a page has, unless the caller says otherwise, and at most.
const (
	pageSize    = 50
	maxPageSize = 200
)

// A page says which entries of a list are wanted: at most Limit, beyond the one
// with the ID Cursor (0: from the beginning).
type page struct {
	Cursor idworker.ID
	Limit  int
}

// query reads the parameters of a list: those of its page, and those named. A
// name that is not known, or that comes twice, is refused, for a filter that is
// not applied would show what was not asked for.
func query(c *gin.Context, known ...string) (page, url.Values, error) {
	p := page{Limit: pageSize}
	wrong := &account.InvalidError{}
	add := func(field, code, message string) {
		wrong.Fields = append(wrong.Fields, account.FieldError{Field: field, Code: code, Message: message})
	}
	values, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		add("query", "malformed", "must be escaped as RFC 3986 says")
		return p, nil, wrong
	}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		switch {
		case name != "cursor" && name != "limit" && !slices.Contains(known, name):
			add("query", "unknown", "has a parameter that this list does not know")
		case len(values[name]) > 1:
			add(name, "repeated", "must come once")
		}
	}
	if text := values.Get("limit"); values.Has("limit") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxPageSize || strconv.Itoa(n) != text { // Atoi takes +5 and 05
			add("limit", "out_of_range", "must be a number from 1 to "+strconv.Itoa(maxPageSize))
		}
		p.Limit = n
	}
	if text := values.Get("cursor"); values.Has("cursor") {
		id, err := idworker.ParseID(text)
		if err != nil {
			add("cursor", "malformed", "must be the next_cursor of the page before, or left out")
		}
		p.Cursor = id
	}
	if len(wrong.Fields) > 0 {
		return p, nil, wrong
	}
	return p, values, nil
}
