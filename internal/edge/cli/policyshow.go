package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/domain/limit"
)

// limitsUnreadable is shown in the place of limits that cannot be read.
const limitsUnreadable = "unreadable"

// limitsIn are the limits of a policy; the default ones where it has none.
func limitsIn(p *wire.Policy) limit.Limits {
	if p.Limits == nil {
		return limit.Default()
	}
	l, _ := limit.FromDoc(p.Limits) // of another release there may be others, which are shown as they are
	return l
}

// limitOf is a limit for a person.
func limitOf(p *wire.Policy, name string) string {
	if p.Limits == nil {
		return limitsUnreadable
	}
	l := limitsIn(p)
	return limitText(&l, name)
}

// since says when a version came into force, and who set it: the first was
// there at the start, and no user set it.
func since(p *wire.Policy) (at, by string) {
	if p.UpdatedAt.IsZero() {
		return "the first start", "-"
	}
	return p.UpdatedAt.Format(time.RFC3339), printable(p.UpdatedBy)
}

// What has become of a change.
const (
	done      = "changed"
	asked     = "dry_run"
	unchanged = "unchanged" // it was so before
)

// A madePolicy is a change, and what it does.
type madePolicy struct {
	wire.Policy
	Outcome string       `json:"outcome"`
	Effect  *wire.Effect `json:"effect"`
}

// showChange says what has become of a change of the policy that was in force.
func (a *app) showChange(asJSON bool, made madePolicy, was *wire.Policy, within string) error {
	return show(a.out, asJSON, made, func(w io.Writer) {
		head := map[string]string{
			done: "policy is now version %d", asked: "policy would be version %d; nothing was changed",
			unchanged: "policy is version %d, and says so already; nothing was changed",
		}[made.Outcome]
		_, _ = fmt.Fprintf(w, head+"\n", made.Version)
		for _, f := range []struct {
			name     string
			now, was wire.Seconds
		}{
			{"idle timeout", made.IdleTimeout, was.IdleTimeout}, {"absolute lifetime", made.AbsoluteLifetime, was.AbsoluteLifetime},
			{"touch interval", made.TouchInterval, was.TouchInterval},
		} {
			if f.now != f.was {
				_, _ = fmt.Fprintf(w, "  %s %s, was %s\n", f.name, span(f.now), span(f.was))
			}
		}
		if made.SweepSchedule != was.SweepSchedule {
			_, _ = fmt.Fprintf(w, "  sweep schedule %s, was %s\n", printable(made.SweepSchedule), printable(was.SweepSchedule))
		}
		if made.MaxSessions != was.MaxSessions {
			_, _ = fmt.Fprintf(w, "  sessions a user %d, was %d\n", made.MaxSessions, was.MaxSessions)
		}
		for _, line := range sessionsDiffer(&made.Policy, was) {
			_, _ = fmt.Fprintf(w, "  %s\n", line)
		}
		for _, name := range limitNames {
			if now, was := limitOf(&made.Policy, name), limitOf(was, name); now != was {
				_, _ = fmt.Fprintf(w, "  limit %s %s, was %s\n", name, now, was)
			}
		}
		soon := number(made.Effect.EndsWithinAHour)
		switch made.Outcome {
		case done:
			_, _ = fmt.Fprintf(w, "ends %s; %s more within the hour without another use\n%sin force on every instance %s\n", endings(made.Effect), soon, beyond(made.Effect), within)
		case asked:
			_, _ = fmt.Fprintf(w, "would end %s; %s more within the hour without another use\n%s", endings(made.Effect), soon, beyond(made.Effect))
		}
	})
}

// endings is how many logins end, of how many.
func endings(e *wire.Effect) string {
	return number(e.EndsNow) + " of " + number(e.Live) + " living logins"
}

// number is a count for a person, with its error if it has one.
func number(e wire.Estimate) string {
	if e.Error == 0 {
		return thousands(e.Count)
	}
	return "about " + thousands(e.Count) + " (±" + thousands(e.Error) + ")"
}

func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// printable is a text from elsewhere, for a terminal: without control characters.
func printable(s string) string { return printed(s, "") }

// printableLines is printable for a text of several lines and columns.
func printableLines(s string) string { return printed(s, "\n\t") }

func printed(s, also string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && !strings.ContainsRune(also, r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// beyond says how many of the logins that end are above a lower number of sessions, and of how
// many users they are.
func beyond(e *wire.Effect) string {
	if e.BeyondLimit == nil {
		return ""
	}
	return fmt.Sprintf("above the number of sessions: %s, users who lose any: %s\n", number(e.BeyondLimit.Sessions), number(e.BeyondLimit.Users))
}

type policyGet struct {
	JSON bool `help:"Print JSON."`
}

func (c policyGet) Run(a *app) error {
	return a.looks(func(ctx context.Context, b backend) error {
		inForce, err := b.policies.Policy(ctx)
		if err != nil {
			return err
		}
		return c.show(a.out, inForce)
	})
}

func (c policyGet) show(out io.Writer, p wire.Policy) error {
	return show(out, c.JSON, p, func(w io.Writer) {
		at, by := since(&p)
		set := at + ", by " + by
		if p.UpdatedAt.IsZero() {
			set = at + ", never changed"
		}
		_, _ = fmt.Fprintf(w, "version\t%d\nidle timeout\t%s\nabsolute lifetime\t%s\ntouch interval\t%s\nsweep schedule\t%s\nsessions a user\t%d\nsince\t%s\n",
			p.Version, span(p.IdleTimeout), span(p.AbsoluteLifetime), span(p.TouchInterval), printable(p.SweepSchedule), max(p.MaxSessions, 1), set)
		showSessions(w, &p)
		for _, name := range limitNames {
			_, _ = fmt.Fprintf(w, "limit %s\t%s\n", name, limitOf(&p, name))
		}
		if p.Note != "" {
			_, _ = fmt.Fprintf(w, "note\t%s\n", printable(p.Note))
		}
	})
}

type policyHistory struct {
	JSON bool `help:"Print JSON."`
}

func (c policyHistory) Run(a *app) error {
	return a.looks(func(ctx context.Context, b backend) error {
		all, err := collect(b.policies.PolicyHistory(ctx))
		if err != nil {
			return err
		}
		return c.show(a.out, all)
	})
}

func (c policyHistory) show(out io.Writer, all []wire.Policy) error {
	return show(out, c.JSON, all, func(w io.Writer) {
		_, _ = fmt.Fprintln(w, "VERSION\tIDLE\tABSOLUTE\tTOUCH\tSCHEDULE\tSESSIONS\tDEVICES\tLIMITS\tSINCE\tBY\tNOTE")
		for i, p := range all {
			before, same := limit.Default(), "default"
			if i+1 < len(all) && all[i+1].Limits != nil {
				before, same = limitsIn(&all[i+1]), "as before"
			}
			devices := "default"
			if i+1 < len(all) {
				devices = cmp.Or(strings.Join(sessionsDiffer(&p, &all[i+1]), "; "), "as before")
			}
			at, by := since(&p)
			now := limitsIn(&p)
			limits := cmp.Or(strings.Join(limitDifferences(&before, &now), " "), same)
			if p.Limits == nil {
				limits = limitsUnreadable
			}
			_, _ = fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", p.Version, span(p.IdleTimeout), span(p.AbsoluteLifetime), span(p.TouchInterval),
				printable(p.SweepSchedule), max(p.MaxSessions, 1), devices, limits, at, by, printable(p.Note))
		}
	})
}

// show prints v as JSON, or as the table that f writes with tabs.
func show(w io.Writer, asJSON bool, v any, f func(io.Writer)) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(v)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	f(t)
	return t.Flush()
}

// unseen is err of showing a secret that was just made, with what takes it back; nil if it was shown.
func unseen(err error, what, undo string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w; %s was made, and nobody has seen it: `%s` takes it back", err, what, undo)
}

// say prints the sentence that a verb returned, if there is one and it did not fail.
func (a *app) say(sentence string, err error) error {
	if err == nil && sentence != "" {
		_, err = fmt.Fprintln(a.out, sentence)
	}
	return err
}
