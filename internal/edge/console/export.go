package console

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/edge/render"
)

// An export is bounded, and reads a page at a time: it needs no more memory,
// and holds no connection, however long the record is.
const (
	exportMost = 100_000
	exportPage = 500
	exportTime = 20 * time.Second // for each page to reach the client
)

// exported is an event as a line of the NDJSON file has it.
type exported struct {
	ID         string          `json:"id"`
	At         string          `json:"at"`
	ActorID    string          `json:"actor_id,omitempty"`
	Actor      string          `json:"actor"`
	Via        string          `json:"via"`
	Action     string          `json:"action"`
	TargetKind string          `json:"target_kind,omitempty"`
	TargetID   string          `json:"target_id,omitempty"`
	Target     string          `json:"target,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	Old        json.RawMessage `json:"old,omitempty"`
	New        json.RawMessage `json:"new,omitempty"`
	RequestID  string          `json:"request_id,omitempty"`
	Address    string          `json:"address,omitempty"`
}

func export(e *audit.Event) exported {
	x := exported{
		ID: e.ID.String(), At: e.At().String(), Actor: e.By.Name, Via: e.By.Via, Action: string(e.Action),
		TargetKind: e.Target.Kind, Target: e.Target.Name, Reason: e.Reason, Old: e.Old, New: e.New,
		RequestID: e.By.RequestID, Address: e.By.Address,
	}
	if e.By.ID != 0 {
		x.ActorID = e.By.ID.String()
	}
	if e.Target.ID != 0 {
		x.TargetID = e.Target.ID.String()
	}
	return x
}

func (u *UI) exportNDJSON(q *request) {
	out := json.NewEncoder(q.w)
	u.export(q, "application/x-ndjson", "audit.ndjson", nil, func(e *audit.Event) error { return out.Encode(export(e)) }, nil)
}

func (u *UI) exportCSV(q *request) {
	out := audit.NewCSV(q.w)
	u.export(q, "text/csv; charset=utf-8", "audit.csv", out.Head, func(e *audit.Event) error {
		row := render.Event(e)
		return out.Write(&row)
	}, out.Flush)
}

// export writes the events of the filter in the query, newest first. If that
// fails half-way it breaks the connection off, so that a part is not taken
// for the whole.
func (u *UI) export(q *request, contentType, name string, head func() error, write func(*audit.Event) error, flush func() error) {
	filter, problems := readAudit(q.r.URL.Query()).filter(q.t)
	if len(problems) > 0 {
		q.message(http.StatusUnprocessableEntity, message{Title: q.t.Text("audit.problem_title"), Lines: problems})
		return
	}
	filter.Limit = exportPage
	events, err := u.Record.List(q.r.Context(), filter) // the first, before anything is said
	if err != nil {
		q.unavailable("audit export", err)
		return
	}
	q.w.Header().Set("Content-Type", contentType)
	q.w.Header().Set("Content-Disposition", `attachment; filename="flakepass-`+name+`"`)
	control := http.NewResponseController(q.w)
	if head != nil {
		err = head()
	}
	for n := 0; err == nil; {
		_ = control.SetWriteDeadline(time.Now().Add(exportTime)) // what cannot is not bounded
		for i := range events {
			if err == nil {
				err = write(&events[i])
			}
		}
		if flush != nil && err == nil {
			err = flush()
		}
		if err == nil {
			_ = control.Flush()
		}
		if n += len(events); len(events) < exportPage || n >= exportMost || err != nil {
			break
		}
		filter.Before = events[len(events)-1].ID
		events, err = u.Record.List(q.r.Context(), filter)
	}
	if err != nil {
		q.logFailure(slog.LevelWarn, "audit export broken off", err)
		panic(http.ErrAbortHandler)
	}
}
