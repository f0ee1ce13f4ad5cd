package console

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/render"
)

const (
	auditPath = "/console/audit"
	auditPage = 50
)

var layout = idworker.Default()

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

func (u *UI) showAudit(q *request) {
	in := readAudit(q.r.URL.Query())
	filter, problems := in.filter(q.t)
	view := auditView{frame: q.frame(q.t.Text("audit.title"), auditPath), In: in, Problems: problems, Filtered: in != auditInput{Before: in.Before}}
	view.Export = q.t.Text("audit.export", number(exportMost))
	for _, a := range slices.Sorted(slices.Values(audit.Actions())) {
		view.Actions = append(view.Actions, option{string(a), q.t.Name("event", string(a)), string(a) == in.Action})
	}
	status := http.StatusUnprocessableEntity
	if len(problems) == 0 {
		status = http.StatusOK
		filter.Limit = auditPage + 1
		events, err := u.Record.List(q.r.Context(), filter)
		if err != nil {
			q.unavailable("audit", err)
			return
		}
		events = firstPage(events, auditPage, func(last *audit.Event) { view.Older = in.link(auditPath, last.ID.String()) })
		view.Events = render.All(events, q.event)
		view.CSV, view.NDJSON = in.link(auditPath+".csv", ""), in.link(auditPath+".ndjson", "")
	}
	if in.Before != "" {
		view.Newest = in.link(auditPath, "")
	}
	view.Bad = len(problems) > 0
	q.render(status, "audit", view)
}

func (q *request) event(e *audit.Event) eventView {
	view := eventView{
		ID: e.ID.String(), At: layout.Time(e.ID), By: e.By.Name, Via: q.t.Name("via", e.By.Via),
		Action: q.t.Name("event", string(e.Action)), Target: e.Target.Name,
		Reason: e.Reason, Address: e.By.Address, Changes: q.t.eventChanges(e.Old, e.New),
	}
	switch {
	case e.Action.Coded():
		view.Reason = q.t.reason(e.Reason)
	case e.Action == audit.LoginEnded && e.Reason == session.RevokedReason:
		view.Reason = q.t.Text("reason.token_was_revoked")
	}
	switch {
	case view.By != "":
	case e.By.ID != 0: // who was deleted, and purged
		view.By = e.By.ID.String()
	case e.By.Via == audit.ViaAPI || e.By.Via == audit.ViaConsole:
		view.By = q.t.Text("audit.unknown")
	default:
		view.By = q.t.Text("audit.no_user")
	}
	if e.By.ID != 0 {
		view.ByID = e.By.ID.String()
		view.ActorLink = linkTo(auditPath, "actor", view.ByID)
	}
	if view.Target == "" || e.Target.Kind == "policy" { // of which there is one
		view.Target = q.t.Name("target", e.Target.Kind)
	}
	if e.Target.ID != 0 {
		view.TargetID = e.Target.ID.String()
		view.TargetLink = linkTo(auditPath, "target", view.TargetID)
	}
	return view
}

// limitChanges are what differs between the limits of two policies in the record;
// ok is false if they cannot be read, and are to be shown as they are.
func (t *texts) limitChanges(before, after any) (all []eventChange, ok bool) {
	var of [2]policy.Policy
	for i, v := range []any{before, after} {
		if v == nil { // an event of before there were any
			of[i].Limits = limit.Default()
			continue
		}
		text, err := json.Marshal(v)
		if err == nil {
			of[i].Limits, err = limit.Decode(text)
		}
		if err != nil {
			return nil, false
		}
	}
	for _, c := range differing(t.limits(&of[0], &of[1])) {
		all = append(all, eventChange{c.Name, datum{Text: c.From}, datum{Text: c.To}})
	}
	return all, true
}

// An auditInput is a filter as a person chose it.
type auditInput struct {
	Action, Actor, Target, Since, Until, Before string
}

func readAudit(q url.Values) auditInput {
	get := func(name string) string { return typed(q, name) }
	return auditInput{get("action"), get("actor"), get("target"), get("since"), get("until"), get("before")}
}

// link is the page at that path with this filter, of what is older than the
// event before.
func (in auditInput) link(path, before string) string {
	return linkTo(path, "action", in.Action, "actor", in.Actor, "target", in.Target, "since", in.Since, "until", in.Until, "before", before)
}

// filter is what was chosen, or what is wrong with it. A filter that cannot be
// read is not left out, for the page would then show what was not asked for.
func (in auditInput) filter(t *texts) (f audit.Filter, problems []string) {
	party := func(text, name string) (id idworker.ID, is string) {
		id, is, ok := operator.Party(text)
		if !ok && text != "" {
			problems = append(problems, name+t.Text("mark.colon")+t.Text("audit.bad_party"))
		}
		return id, is
	}
	f.Actor, f.ActorName = party(in.Actor, t.Text("audit.actor"))
	f.Target, f.TargetName = party(in.Target, t.Text("audit.target"))
	if in.Before != "" {
		before, err := idworker.ParseID(in.Before)
		if err != nil {
			problems = append(problems, t.Text("audit.bad_cursor"))
		}
		f.Before = before
	}
	at := func(text, name string) time.Time {
		if text == "" {
			return time.Time{}
		}
		for _, form := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02"} {
			if typed, err := time.Parse(form, text); err == nil {
				when, _ := wire.ParseTime(wire.At(typed).String()) // never zero, which would be no bound
				return when
			}
		}
		problems = append(problems, name+" "+t.Text("audit.bad_date"))
		return time.Time{}
	}
	f.Since, f.Until = at(in.Since, t.Text("audit.since")), at(in.Until, t.Text("audit.until"))
	if in.Action != "" {
		if f.Action = audit.Action(in.Action); !audit.IsAction(in.Action) {
			problems = append(problems, t.Text("audit.action")+" "+t.Text("audit.bad_action"))
		}
	}
	return f, problems
}
