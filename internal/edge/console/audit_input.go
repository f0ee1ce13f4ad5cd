package console

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
)

// An auditInput is a filter as a person chose it.
type auditInput struct {
	Action, Actor, Target, Since, Until, Before string
}

func readAudit(q url.Values) auditInput {
	get := func(name string) string {
		// As many characters as a username has: half of one is not text, which
		// MySQL refuses.
		s := []rune(strings.ToValidUTF8(q.Get(name), "\uFFFD"))
		return strings.TrimSpace(string(s[:min(len(s), 64)]))
	}
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
	f.Actor, f.ActorName = operator.Party(in.Actor)
	f.Target, f.TargetName = operator.Party(in.Target)
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
			// IDs hold no time before 1970 or far from now.
			if when, err := time.Parse(form, text); err == nil && when.Year() >= 2000 && when.Year() < 2090 {
				return when
			}
		}
		problems = append(problems, name+" "+t.Text("audit.bad_date"))
		return time.Time{}
	}
	f.Since, f.Until = at(in.Since, t.Text("audit.since")), at(in.Until, t.Text("audit.until"))
	if in.Action != "" {
		if f.Action = audit.Action(in.Action); !slices.Contains(audit.Actions(), f.Action) {
			problems = append(problems, t.Text("audit.action")+" "+t.Text("audit.bad_action"))
		}
	}
	return f, problems
}
