package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/admin"
	"github.com/flakepass/flakepass/internal/audit"
)

type auditCommand struct {
	Action string  `help:"Only events of this action, such as policy.changed."`
	Actor  string  `help:"Only what this one did: a name, or an ID." placeholder:"NAME"`
	Target string  `help:"Only what was done to this one: a name, or an ID." placeholder:"NAME"`
	Since  instant `help:"Only events of this instant or later: RFC 3339, or how long ago, such as 2h." placeholder:"WHEN"`
	Until  instant `help:"Only events before this instant." placeholder:"WHEN"`
	Limit  int     `help:"The most events to show; 0 shows all." default:"100"`
	JSON   bool    `help:"Print JSON, one event on a line." xor:"form"`
	CSV    bool    `name:"csv" help:"Print CSV." xor:"form"`
}

// Validate is called by kong.
func (c auditCommand) Validate() error {
	if c.Limit < 0 {
		return errors.New("--limit must not be below 0")
	}
	return nil
}

func (c auditCommand) Run(a *app) error {
	f := audit.Filter{Action: audit.Action(c.Action), Since: c.Since.time(time.Now()), Until: c.Until.time(time.Now())}
	f.Actor, f.ActorName = admin.Party(c.Actor)
	f.Target, f.TargetName = admin.Party(c.Target)
	return a.withOffice(openExisting, func(ctx context.Context, o *office) error {
		p := c.printer(a.out)
		const page = 500
		for left := c.Limit; c.Limit == 0 || left > 0; {
			f.Limit = page
			if c.Limit > 0 {
				f.Limit = min(page, left)
			}
			events, err := eventsOf(o.db).List(ctx, f)
			if err != nil {
				return errors.Join(err, p.end())
			}
			for i := range events {
				if err := p.print(eventLineOf(&events[i])); err != nil {
					return err
				}
				f.Before = events[i].ID
			}
			if left -= len(events); len(events) < f.Limit {
				break
			}
		}
		return p.end()
	})
}

// An eventLine is an event as --json prints it, in the words of the API.
type eventLine struct {
	ID        string          `json:"id"`
	At        time.Time       `json:"at"`
	Action    audit.Action    `json:"action"`
	Actor     partyLine       `json:"actor"`
	Via       string          `json:"via"`
	Target    targetLine      `json:"target"`
	Reason    string          `json:"reason"`
	Old       json.RawMessage `json:"old,omitempty"`
	New       json.RawMessage `json:"new,omitempty"`
	RequestID string          `json:"request_id,omitempty"`
	Address   string          `json:"address,omitempty"`
}

type partyLine struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
}

type targetLine struct {
	Kind string `json:"kind"`
	partyLine
}

func eventLineOf(e *audit.Event) eventLine {
	return eventLine{
		ID: e.ID.String(), At: idworker.Default().Time(e.ID), Action: e.Action, Actor: partyLine{idText(e.By.ID), e.By.Name}, Via: e.By.Via,
		Target: targetLine{e.Target.Kind, partyLine{idText(e.Target.ID), e.Target.Name}}, Reason: e.Reason, Old: e.Old, New: e.New,
		RequestID: e.By.RequestID, Address: e.By.Address,
	}
}

// idText is an ID, or nothing for none.
func idText(id idworker.ID) string {
	if id == 0 {
		return ""
	}
	return id.String()
}

// An eventPrinter prints events as they come.
type eventPrinter struct {
	print func(eventLine) error
	end   func() error
}

func (c auditCommand) printer(out io.Writer) eventPrinter {
	const stamp = "2006-01-02T15:04:05.000Z07:00"
	switch {
	case c.JSON:
		lines := json.NewEncoder(out)
		return eventPrinter{func(l eventLine) error { return lines.Encode(l) }, func() error { return nil }}
	case c.CSV:
		w := csv.NewWriter(out)
		_ = w.Write([]string{"id", "at", "action", "actor_id", "actor", "via", "target_kind", "target_id", "target", "reason", "old", "new", "request_id", "address"})
		return eventPrinter{func(l eventLine) error {
			return w.Write([]string{l.ID, l.At.Format(stamp), cell(string(l.Action)), l.Actor.ID, cell(l.Actor.Name), cell(l.Via), cell(l.Target.Kind), l.Target.ID,
				cell(l.Target.Name), cell(l.Reason), cell(string(l.Old)), cell(string(l.New)), cell(l.RequestID), cell(l.Address)})
		}, func() error { w.Flush(); return w.Error() }}
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "ID\tAT\tACTION\tBY\tVIA\tTARGET\tREASON")
	return eventPrinter{func(l eventLine) error {
		target := l.Target.Kind
		if l.Target.Name != "" {
			target += " " + l.Target.Name
		} else if l.Target.ID != "" {
			target += " " + l.Target.ID
		}
		_, err := fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l.ID, l.At.Format(stamp), printable(string(l.Action)),
			printable(l.Actor.Name), printable(l.Via), printable(target), printable(l.Reason)+times(l.New))
		return err
	}, t.Flush}
}

// cell is a text that somebody else wrote, for a spreadsheet, which would take
// one that begins like a formula for one, and for a terminal.
func cell(s string) string { return printable(audit.SpreadsheetText(s)) }

// times says how often something happened that is one event, if more than once.
func times(value json.RawMessage) string {
	var counted struct {
		Count int64 `json:"count"`
	}
	if err := json.Unmarshal(value, &counted); err != nil || counted.Count < 2 {
		return ""
	}
	return fmt.Sprintf(" (%d times)", counted.Count)
}
