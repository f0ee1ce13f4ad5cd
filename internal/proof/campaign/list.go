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
	for s, err := range c.As(w.admin.token()).Sessions(ctx) {
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
