package httpapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/edge/render"
)

// How many entries a page has, unless the caller says otherwise, and at most.
const (
	pageSize    = 50
	maxPageSize = 200
)

// A page says which entries of a list are wanted: at most Limit, beyond the one
// with the ID Cursor (0: from the beginning). Values are all parameters.
type page struct {
	Cursor idworker.ID
	Limit  int
	Values url.Values
}

// errQuery means that the query cannot be read. What is left out of it, or is replaced in it,
// would ask for something else.
var errQuery = invalid.Of("query", "malformed", "must be UTF-8, escaped as RFC 3986 says")

// readQuery reads all parameters of a request. It fails with errQuery.
func readQuery(c *gin.Context) (url.Values, error) {
	values, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return nil, errQuery
	}
	for name, all := range values {
		if !utf8.ValidString(name + " " + strings.Join(all, " ")) {
			return nil, errQuery
		}
	}
	return values, nil
}

// query reads the parameters of a list: those of its page, and those named. A
// name that is not known, or that comes twice, is refused, for a filter that is
// not applied would show what was not asked for. A list that names the cursor, too,
// reads it itself.
func query(c *gin.Context, known ...string) (page, error) {
	wrong := &invalid.Error{}
	values, err := readQuery(c)
	if err != nil {
		return page{}, err
	}
	p := page{Limit: pageSize, Values: values}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch {
		case name != "cursor" && name != "limit" && !slices.Contains(known, name):
			wrong.Add("query", "unknown", "has a parameter that this list does not know")
		case len(values[name]) > 1:
			wrong.Add(name, "repeated", "must come once")
		}
	}
	if text := values.Get("limit"); values.Has("limit") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxPageSize || strconv.Itoa(n) != text { // Atoi takes +5 and 05
			wrong.Add("limit", "out_of_range", "must be a number from 1 to "+strconv.Itoa(maxPageSize))
		}
		p.Limit = n
	}
	if text := values.Get("cursor"); values.Has("cursor") && (text == "" || !slices.Contains(known, "cursor")) {
		id, err := idworker.ParseID(text)
		if err != nil {
			wrong.Add("cursor", "malformed", "must be the next_cursor of the page before, or left out")
		}
		p.Cursor = id
	}
	return p, wrong.OrNil()
}

// listing answers with a page of a list whose entries are the member of that name. find is
// asked for one entry more than the limit: this one says that there is a next page, which
// begins after the last one shown. The parameters known are those of query.
func listing[D, W any](c *gin.Context, name string, find func(page) ([]D, error), one func(*D) W, id func(*D) string, known ...string) error {
	p, err := query(c, known...)
	if err != nil {
		return err
	}
	limit := p.Limit
	p.Limit++
	found, err := find(p)
	if err != nil {
		return err
	}
	next := ""
	if len(found) > limit {
		found = found[:limit]
		next = id(&found[limit-1])
	}
	return answer(c, http.StatusOK, list{name, render.All(found, one), next})
}

// A list is a page as an answer has it. Next is where the next one begins; "" after the
// last.
type list struct {
	name    string
	entries any
	next    string
}

func (l list) MarshalJSON() ([]byte, error) {
	entries, err := json.Marshal(l.entries)
	if err != nil {
		return nil, err
	}
	b := append(append(append([]byte(`{"`), l.name...), `":`...), entries...)
	if l.next != "" { // digits and letters
		b = append(append(append(b, `,"next_cursor":"`...), l.next...), '"')
	}
	return append(b, '}'), nil
}
