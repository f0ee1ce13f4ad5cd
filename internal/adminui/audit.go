package adminui

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/audit"
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
	Changes    []change
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
		Action: or(t.Actions[string(e.Action)], string(e.Action)), Target: or(e.Target.Name, e.Target.Kind),
		Reason: e.Reason, Address: e.By.Address, Changes: v.t.eventChanges(e.Old, e.New),
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

// eventChanges are the members that differ between two JSON objects. Times are
// told in words.
func (t *texts) eventChanges(before, after json.RawMessage) (all []change) {
	a, b := map[string]any{}, map[string]any{}
	_ = json.Unmarshal(before, &a) // what is no object has no members
	_ = json.Unmarshal(after, &b)
	names := map[string]bool{}
	for _, m := range []map[string]any{a, b} {
		for name := range m {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		from, to := t.value(name, a[name]), t.value(name, b[name])
		if from != to && name != "version" {
			all = append(all, change{strings.ReplaceAll(strings.TrimSuffix(name, "_seconds"), "_", " "), from, to})
		}
	}
	return all
}

func (t *texts) value(name string, v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		if strings.HasSuffix(name, "_seconds") {
			return t.span(time.Duration(v) * time.Second)
		}
	}
	text, _ := json.Marshal(v)
	return string(text)
}
