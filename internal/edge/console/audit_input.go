package console

import (
	"net/url"
	"time"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
)

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
