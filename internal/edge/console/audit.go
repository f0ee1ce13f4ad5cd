package console

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
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
	view := auditView{frame: v.frame(v.t.Text("audit.title"), auditPath), In: in, Problems: problems, Filtered: in != auditInput{Before: in.Before}}
	view.Export = v.t.Text("audit.export", number(exportMost))
	for _, a := range slices.Sorted(slices.Values(audit.Actions())) {
		view.Actions = append(view.Actions, option{string(a), v.t.Name("event", string(a)), string(a) == in.Action})
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
	view := eventView{
		ID: e.ID.String(), At: layout.Time(e.ID), By: e.By.Name, Via: v.t.Name("via", e.By.Via),
		Action: v.t.Name("event", string(e.Action)), Target: e.Target.Name,
		Reason: e.Reason, Address: e.By.Address, Changes: v.t.eventChanges(e.Old, e.New),
	}
	switch {
	case e.Action.Coded():
		view.Reason = v.t.reason(e.Reason)
	case e.Action == audit.LoginEnded && e.Reason == operator.RevokedReason:
		view.Reason = v.t.Text("reason.token_was_revoked")
	}
	switch {
	case view.By != "":
	case e.By.Via == audit.ViaAPI || e.By.Via == audit.ViaConsole:
		view.By = v.t.Text("audit.unknown")
	default:
		view.By = v.t.Text("audit.no_user")
	}
	if e.By.ID != 0 {
		view.ByID = e.By.ID.String()
		view.ActorLink = auditPath + "?" + url.Values{"actor": {view.ByID}}.Encode()
	}
	if view.Target == "" || e.Target.Kind == "policy" { // of which there is one
		view.Target = v.t.Name("target", e.Target.Kind)
	}
	if e.Target.ID != 0 {
		view.TargetID = e.Target.ID.String()
		view.TargetLink = auditPath + "?" + url.Values{"target": {view.TargetID}}.Encode()
	}
	return view
}
