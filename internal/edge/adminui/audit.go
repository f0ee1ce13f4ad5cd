package adminui

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/admin"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

const (
	auditPath = "/console/audit"
	auditPage = 50
)

var layout = idworker.Default()

// A Record is what was done, newest first.
type Record interface {
	List(ctx context.Context, f audit.Filter) ([]audit.Event, error)
}

type auditView struct {
	frame
	Actions  []option
	In       auditInput
	Problems []string
	Filtered bool
	Events   []eventView
	Older    string // the URL of the next page; empty if this is the last
	Newest   string // of the first page; empty on it
	CSV      string
	NDJSON   string
	Export   string
}

// An option is one of a list to choose from.
type option struct {
	Value, Name string
	Chosen      bool
}

type eventView struct {
	ID         string
	At         time.Time
	By, Via    string
	ByID       string // empty if it is no user
	Action     string
	Target     string
	TargetID   string
	Changes    []eventChange
	Reason     string
	Address    string
	ActorLink  string
	TargetLink string
}

func (u *UI) showAudit(v *visit) {
	in := readAudit(v.r.URL.Query())
	filter, problems := in.filter(v.t)
	view := auditView{frame: v.frame(v.t.Log.Title, auditPath), In: in, Problems: problems, Filtered: in != auditInput{Before: in.Before}}
	view.Export = fmt.Sprintf(v.t.Log.ExportF, number(exportMost))
	for _, a := range slices.Sorted(maps.Keys(v.t.Log.Actions)) {
		view.Actions = append(view.Actions, option{a, v.t.Log.Actions[a], a == in.Action})
	}
	status := http.StatusUnprocessableEntity
	if len(problems) == 0 {
		status = http.StatusOK
		filter.Limit = auditPage + 1
		events, err := u.Record.List(v.r.Context(), filter)
		if err != nil {
			v.unavailable("audit", err)
			return
		}
		if len(events) > auditPage {
			events = events[:auditPage]
			view.Older = in.link(auditPath, events[auditPage-1].ID.String())
		}
		for i := range events {
			view.Events = append(view.Events, v.event(&events[i]))
		}
		view.CSV, view.NDJSON = in.link(auditPath+".csv", ""), in.link(auditPath+".ndjson", "")
	}
	if in.Before != "" {
		view.Newest = in.link(auditPath, "")
	}
	view.Bad = len(problems) > 0
	v.render(status, "audit", view)
}

func (v *visit) event(e *audit.Event) eventView {
	t := &v.t.Log
	view := eventView{
		ID: e.ID.String(), At: layout.Time(e.ID), By: e.By.Name, Via: or(t.Doors[e.By.Via], e.By.Via),
		Action: or(t.Actions[string(e.Action)], string(e.Action)), Target: e.Target.Name,
		Reason: e.Reason, Address: e.By.Address, Changes: v.t.eventChanges(e.Old, e.New),
	}
	if securityZH[string(e.Action)] != "" || e.Action == audit.LoginEnded && e.Reason == admin.RevokedReason { // a code, and not what somebody gave as a reason
		view.Reason = v.t.told(e.Reason)
	}
	switch {
	case view.By != "":
	case e.By.Via == audit.ViaAPI || e.By.Via == audit.ViaConsole:
		view.By = t.Stranger
	default:
		view.By = t.Nobody
	}
	if e.By.ID != 0 {
		view.ByID = e.By.ID.String()
		view.ActorLink = auditPath + "?" + url.Values{"actor": {view.ByID}}.Encode()
	}
	if view.Target == "" || e.Target.Kind == "policy" { // of which there is one
		view.Target = or(v.t.Trouble.Kinds[e.Target.Kind], e.Target.Kind)
	}
	if e.Target.ID != 0 {
		view.TargetID = e.Target.ID.String()
		view.TargetLink = auditPath + "?" + url.Values{"target": {view.TargetID}}.Encode()
	}
	return view
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
