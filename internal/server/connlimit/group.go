package connlimit

import (
	"cmp"
	"slices"
	"time"
)

// A group is all connections, or those of one peer.
type group struct {
	name  string
	conns map[*conn]struct{}
	found []found // idle ones, the longest idle last
}

// found is a connection as it was when it was found idle.
type found struct {
	c             *conn
	since, readAt int64
}

const (
	// atOnce is how many idle connections a search looks for, so that a flood of new
	// connections does not cost a search each.
	atOnce = 64
	// begins is how long ago something came in on an idle connection that may be the
	// beginning of a request: as long as the server waits for its headers.
	begins = 5 * time.Second
)

// idlest is the connection that has been idle for the longest time, or nil if there
// is a request on each. One on which a request may have begun is only taken if there
// is no other.
func (g *group) idlest(now int64) *conn {
	for searched := false; ; searched = true {
		for n := len(g.found); n > 0; n = len(g.found) {
			f := g.found[n-1]
			g.found = g.found[:n-1]
			if _, open := g.conns[f.c]; open && f.c.idle.Load() == f.since && f.c.readAt.Load() == f.readAt {
				return f.c
			}
		}
		if searched {
			g.found = nil
			return nil
		}
		g.search(now)
	}
}

func (g *group) search(now int64) {
	var quiet, begun []found
	for c := range g.conns {
		f := found{c, c.idle.Load(), c.readAt.Load()}
		switch {
		case f.since == 0:
		case f.readAt > f.since && now-f.readAt < int64(begins):
			begun = append(begun, f)
		default:
			quiet = append(quiet, f)
		}
	}
	if len(quiet) == 0 {
		quiet = begun
	}
	slices.SortFunc(quiet, func(a, b found) int { return cmp.Compare(a.since, b.since) })
	g.found = slices.Clone(quiet[:min(len(quiet), atOnce)])
	slices.Reverse(g.found)
}
