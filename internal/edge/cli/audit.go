package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/domain/audit"
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

func (c auditCommand) Validate() error {
	if c.Limit < 0 {
		return errors.New("--limit must not be below 0")
	}
	return nil
}

func (c auditCommand) Run(a *app) error {
	return a.looks(func(ctx context.Context, b backend) error {
		p, now := c.printer(a.out), time.Now()
		shown, more := 0, false
		events := b.events.Audit(ctx, client.AuditFilter{Action: c.Action, Actor: c.Actor, Target: c.Target, Since: c.Since.time(now), Until: c.Until.time(now)})
		for e, err := range events {
			if more = err == nil && shown == c.Limit && c.Limit > 0; more {
				break
			}
			if err == nil {
				err = p.print(&e)
			}
			if err != nil && shown == 0 {
				return err // without the header of a table
			}
			if err != nil {
				return errors.Join(err, p.end())
			}
			shown++
		}
		err := p.end()
		if more { // the output may be kept as if it were all
			_, _ = fmt.Fprintln(a.errs, "flakepass: there are more events; --limit 0 shows all")
		}
		return err
	})
}

// An eventPrinter prints events as they come.
type eventPrinter struct {
	print func(*wire.Event) error
	end   func() error
}

func (c auditCommand) printer(out io.Writer) eventPrinter {
	switch {
	case c.JSON:
		lines := json.NewEncoder(out)
		return eventPrinter{func(e *wire.Event) error { return lines.Encode(e) }, func() error { return nil }}
	case c.CSV:
		return csvPrinter(out)
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "ID\tAT\tACTION\tBY\tVIA\tTARGET\tREASON")
	return eventPrinter{func(e *wire.Event) error {
		target := e.Target.Kind
		if e.Target.Name != "" {
			target += " " + e.Target.Name
		} else if e.Target.ID != 0 {
			target += " " + e.Target.ID.String()
		}
		by := e.Actor.Name
		if by == "" && e.Actor.ID != 0 { // who was deleted, and purged
			by = e.Actor.ID.String()
		}
		_, err := fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.ID, e.At, printable(e.Action),
			printable(by), printable(e.Via), printable(target), printable(e.Reason)+times(e.New))
		return err
	}, t.Flush}
}

// csvPrinter prints CSV: to a file or another program as the console exports it, and
// to a terminal without what a terminal obeys.
func csvPrinter(out io.Writer) eventPrinter {
	var rows bytes.Buffer
	w := audit.NewCSV(&rows)
	_ = w.Head() // a buffer takes it
	end := func() error {
		if err := w.Flush(); err != nil {
			return err
		}
		text := rows.String()
		rows.Reset()
		if isTerminal(out) {
			text = printableLines(text)
		}
		_, err := io.WriteString(out, text)
		return err
	}
	return eventPrinter{func(e *wire.Event) error { return errors.Join(w.Write(e), end()) }, end}
}

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
