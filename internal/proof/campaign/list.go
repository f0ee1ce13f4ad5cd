//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/internal/proof/campaign/judge"
)

// look lists who is logged in, now and then, until ctx ends.
func (w *world) look(ctx context.Context, r *rand.Rand) {
	for ctx.Err() == nil {
		w.calm.RLock()
		if r.IntN(2) == 0 {
			w.listAtTheShell(ctx)
		} else {
			w.listAt(ctx, w.any(r))
		}
		w.calm.RUnlock()
		pause(ctx, time.Duration(200+r.IntN(600))*time.Millisecond)
	}
}

// listAtTheShell runs "flakepass session list".
func (w *world) listAtTheShell(ctx context.Context) bool {
	e := judge.Event{Begin: w.now(), Where: "the shell", What: "session list", Op: judge.List, Wait: true}
	out, ok, _ := w.shell(ctx, "", "session", "list", "--limit", "1000", "--json")
	e.End = w.now()
	var rows []struct{ ID string }
	if ok && json.Unmarshal(out, &rows) == nil && len(rows) < 1000 {
		e.Answer, e.Listed = judge.Yes, map[uint64]bool{}
		for _, row := range rows {
			if id, err := strconv.ParseUint(row.ID, 10, 64); err == nil {
				e.Listed[id] = true
			}
		}
	}
	w.add(e)
	return e.Answer == judge.Yes
}

// listAt asks an instance for GET /v1/admin/sessions, page by page.
func (w *world) listAt(ctx context.Context, i *instance) bool {
	c, err := client.New(client.Options{URL: i.base, HTTP: w.http})
	if err != nil {
		panic(err) // the URL is ours
	}
	e := judge.Event{Begin: w.now(), Where: i.name, What: "GET /v1/admin/sessions", Op: judge.List, Wait: true, Listed: map[uint64]bool{}}
	e.Answer = judge.Yes
	for s, err := range c.As(w.admin.token()).Sessions(ctx, "") {
		if err != nil {
			e.Answer = judge.None
			e.What += fmt.Sprint(": ", err)
			break
		}
		e.Listed[uint64(s.ID)] = true
	}
	e.End = w.now()
	w.add(e)
	return e.Answer == judge.Yes
}

// countAt asks an instance how many sessions live, as the overview shows it.
func (w *world) countAt(ctx context.Context, i *instance) {
	r := w.ask(ctx, i, request{method: "GET", path: "/v1/admin/stats", token: w.admin.token()})
	var stats struct {
		Live struct{ Count, Error int } `json:"live_logins"`
	}
	e := r.Event
	e.Op = judge.Count
	if err := json.Unmarshal(r.body, &stats); e.Answer == judge.Yes && (err != nil || stats.Live.Error > 0) {
		e.Answer = judge.Undecided
	}
	e.Counted = stats.Live.Count
	w.add(e)
}

// readRows reads which sessions the rows have.
func (w *world) readRows(ctx context.Context) {
	e := judge.Event{Begin: w.now(), Where: "the database", What: "rows", Op: judge.List, Rows: true, Wait: true}
	var err error
	if e.Listed, err = w.database.sessions(ctx); err == nil {
		e.Answer = judge.Yes
	}
	e.End = w.now()
	w.add(e)
}
