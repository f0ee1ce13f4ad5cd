package client

import (
	"context"
	"fmt"
	"iter"
	"net/url"
	"strconv"
)

// A page is a part of a list, and where the next begins.
type page[T answer] interface {
	answer
	entries() []T
	cursor() string
}

type next struct {
	Cursor string `json:"next_cursor"`
}

func (n next) cursor() string { return n.Cursor }

// whole reports whether a page has a list, and all of every entry of it.
func whole[T answer](entries []T) bool {
	for _, v := range entries {
		if !v.complete() {
			return false
		}
	}
	return entries != nil
}

// list reads a list page by page, as far as it is asked for. After an error it
// ends. P says where the entries are.
func list[P page[T], T answer](ctx context.Context, c *Client, path string, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		at, before := url.Values{"limit": {strconv.Itoa(c.page)}}, ""
		for name, values := range query {
			at[name] = values
		}
		for {
			p, err := get[P](ctx, c, read(path, at))
			if err != nil {
				yield(none, err)
				return
			}
			for _, v := range p.entries() {
				if !yield(v, nil) {
					return
				}
			}
			switch next := p.cursor(); next {
			case "":
				return
			case before: // a list that never ends
				yield(none, fmt.Errorf("client: a page that follows itself: %w", ErrAnswer))
				return
			default:
				before = next
				at.Set("cursor", next)
			}
		}
	}
}
