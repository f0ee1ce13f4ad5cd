package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strconv"
)

// readPage reads a part of a list, whose entries are the member of that name, and where
// the next part begins; "" after the last.
func readPage[T answer](body []byte, name string) (entries []T, next string, err error) {
	var page map[string]json.RawMessage
	ok := json.Unmarshal(body, &page) == nil && json.Unmarshal(page[name], &entries) == nil && entries != nil
	if cursor, more := page["next_cursor"]; more {
		ok = ok && json.Unmarshal(cursor, &next) == nil
	}
	for _, v := range entries {
		ok = ok && v.Complete()
	}
	if !ok {
		return nil, "", fmt.Errorf("client: JSON that is not the list that was asked for: %w", ErrAnswer)
	}
	return entries, next, nil
}

// queryOf has these names and values. Those that are empty are left out.
func queryOf(pairs ...string) url.Values {
	query := url.Values{}
	for pair := range slices.Chunk(pairs, 2) {
		if name, value := pair[0], pair[1]; value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// whole reads a list that has one part.
func whole[T answer](ctx context.Context, c *Client, path, name string) ([]T, error) {
	body, _, err := c.do(ctx, read(path, nil))
	if err != nil {
		return nil, err
	}
	all, _, err := readPage[T](body, name)
	return all, err
}

// list reads a list page by page, as far as it is asked for. After an error it
// ends.
func list[T answer](ctx context.Context, c *Client, path, name string, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		at, before := url.Values{"limit": {strconv.Itoa(c.page)}}, ""
		for name, values := range query {
			at[name] = values
		}
		for {
			body, _, err := c.do(ctx, read(path, at))
			var entries []T
			var next string
			if err == nil {
				entries, next, err = readPage[T](body, name)
			}
			if err != nil {
				yield(none, err)
				return
			}
			for _, v := range entries {
				if !yield(v, nil) {
					return
				}
			}
			switch next {
			case "":
				return
			case before: // a list that never ends
				yield(none, fmt.Errorf("client: a page that follows itself: %w", ErrAnswer))
				return
			}
			before = next
			at.Set("cursor", next)
		}
	}
}
