package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// A policyLine is a policy as --json prints it, in the words of the API, which
// leaves out limits that cannot be read.
type policyLine struct {
	Idle      int64      `json:"idle_timeout_seconds"`
	Absolute  int64      `json:"absolute_lifetime_seconds"`
	Touch     int64      `json:"touch_interval_seconds"`
	Schedule  string     `json:"sweep_schedule"`
	Limits    *limit.Doc `json:"limits,omitempty"`
	Version   int64      `json:"version"`
	UpdatedAt audit.Time `json:"updated_at,omitzero"`
	UpdatedBy string     `json:"updated_by,omitempty"`
	Note      string     `json:"note"`

	limits limit.Limits // as Limits; the default ones if that is nil
}

func policyLineOf(p *policy.Policy) policyLine {
	seconds := func(d time.Duration) int64 { return int64(d / time.Second) }
	l := policyLine{seconds(p.Idle), seconds(p.Absolute), seconds(p.Touch), p.Schedule, nil, p.Version, audit.Time{}, "", p.Note, limit.Default()}
	if p.LimitsErr == nil && p.Limits != (limit.Limits{}) { // none at all is what a server leaves out
		doc := limit.DocOf(&p.Limits)
		l.Limits, l.limits = &doc, p.Limits
	}
	if p.Changed() {
		l.UpdatedAt, l.UpdatedBy = audit.Time{Time: p.UpdatedAt.UTC()}, p.UpdatedBy
	}
	return l
}

// limitsUnreadable is shown in the place of limits that cannot be read.
const limitsUnreadable = "unreadable"

// limit is a limit for a person.
func (l *policyLine) limit(name string) string {
	if l.Limits == nil {
		return limitsUnreadable
	}
	return limitText(&l.limits, name)
}

// since says when a version came into force, and who set it: the first was there
// before any clock, and nobody did.
func (l *policyLine) since() (at, by string) {
	if l.UpdatedAt.IsZero() {
		return "the first start", "-"
	}
	return l.UpdatedAt.Format(time.RFC3339), printable(l.UpdatedBy)
}

type estimateLine struct {
	Count int64 `json:"count"`
	Error int64 `json:"error"`
}

type effectLine struct {
	Live estimateLine `json:"live"`
	Ends estimateLine `json:"ends_now"`
	Soon estimateLine `json:"ends_within_hour"`
}

func effectLineOf(e *policy.Effect) effectLine {
	return effectLine{estimateLine(e.Live), estimateLine(e.Ends), estimateLine(e.Soon)}
}

// What has become of a change.
const (
	changed   = "changed"
	asked     = "dry_run"
	unchanged = "unchanged" // it was so before
)

// A madePolicy is a change, and what it does.
type madePolicy struct {
	policyLine
	Outcome string     `json:"outcome"`
	Effect  effectLine `json:"effect"`
}

// showChange says what has become of a change of the policy that was in force.
func (a *app) showChange(asJSON bool, made madePolicy, was *policy.Policy, within string) error {
	return show(a.out, asJSON, made, func(w io.Writer) {
		before := policyLineOf(was)
		head := map[string]string{
			changed: "policy is now version %d", asked: "policy would be version %d; nothing was changed",
			unchanged: "policy is version %d, and says so already; nothing was changed",
		}[made.Outcome]
		_, _ = fmt.Fprintf(w, head+"\n", made.Version)
		for _, f := range []struct {
			name     string
			now, was int64
		}{{"idle timeout", made.Idle, before.Idle}, {"absolute lifetime", made.Absolute, before.Absolute}, {"touch interval", made.Touch, before.Touch}} {
			if f.now != f.was {
				_, _ = fmt.Fprintf(w, "  %s %s, was %s\n", f.name, seconds(f.now), seconds(f.was))
			}
		}
		if made.Schedule != before.Schedule {
			_, _ = fmt.Fprintf(w, "  sweep schedule %s, was %s\n", printable(made.Schedule), printable(before.Schedule))
		}
		for _, name := range limitNames {
			if now, was := made.limit(name), before.limit(name); now != was {
				_, _ = fmt.Fprintf(w, "  limit %s %s, was %s\n", name, now, was)
			}
		}
		e := made.Effect
		ends := policy.Effect{Live: policy.Estimate(e.Live), Ends: policy.Estimate(e.Ends)}
		soon := number(policy.Estimate(e.Soon))
		switch made.Outcome {
		case changed:
			_, _ = fmt.Fprintf(w, "ends %s; %s more within the hour if nobody uses them\nin force on every instance %s\n",
				endings(&ends), soon, within)
		case asked:
			_, _ = fmt.Fprintf(w, "would end %s; %s more within the hour if nobody used them\n", endings(&ends), soon)
		}
	})
}

// endings is how many logins end, of how many.
func endings(e *policy.Effect) string {
	return number(e.Ends) + " of " + number(e.Live) + " living logins"
}

// number is a count for a person, with its error if it has one.
func number(e policy.Estimate) string {
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

func seconds(n int64) span { return span(time.Duration(n) * time.Second) }

// printable is a text that somebody else wrote, for a terminal: without what a
// terminal obeys.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// printableLines is printable for a text of several lines and columns.
func printableLines(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

type policyGet struct {
	JSON bool `help:"Print JSON."`
}

func (c policyGet) Run(a *app) error {
	return a.looks(func(ctx context.Context, p place) error {
		inForce, err := p.policies.Current(ctx)
		if err != nil {
			return err
		}
		return c.show(a.out, policyLineOf(&inForce))
	})
}

func (c policyGet) show(out io.Writer, l policyLine) error {
	return show(out, c.JSON, l, func(w io.Writer) {
		since, by := l.since()
		set := since + ", by " + by
		if l.UpdatedAt.IsZero() {
			set = since + ", never changed"
		}
		_, _ = fmt.Fprintf(w, "version\t%d\nidle timeout\t%s\nabsolute lifetime\t%s\ntouch interval\t%s\nsweep schedule\t%s\nsince\t%s\n",
			l.Version, seconds(l.Idle), seconds(l.Absolute), seconds(l.Touch), printable(l.Schedule), set)
		for _, name := range limitNames {
			_, _ = fmt.Fprintf(w, "limit %s\t%s\n", name, l.limit(name))
		}
		if l.Note != "" {
			_, _ = fmt.Fprintf(w, "note\t%s\n", printable(l.Note))
		}
	})
}

type policyHistory struct {
	JSON bool `help:"Print JSON."`
}

func (c policyHistory) Run(a *app) error {
	return a.looks(func(ctx context.Context, p place) error {
		lines := []policyLine{}
		for before := int64(0); ; {
			list, err := p.policies.History(ctx, before, pageSize)
			if err != nil {
				return err
			}
			for i := range list {
				lines = append(lines, policyLineOf(&list[i]))
				before = list[i].Version
			}
			if len(list) < pageSize {
				return c.show(a.out, lines)
			}
		}
	})
}

func (c policyHistory) show(out io.Writer, lines []policyLine) error {
	return show(out, c.JSON, lines, func(w io.Writer) {
		_, _ = fmt.Fprintln(w, "VERSION\tIDLE\tABSOLUTE\tTOUCH\tSCHEDULE\tLIMITS\tSINCE\tBY\tNOTE")
		for i, l := range lines {
			before, same := limit.Default(), "default"
			if i+1 < len(lines) && lines[i+1].Limits != nil {
				before, same = lines[i+1].limits, "as before"
			}
			since, by := l.since()
			limits := cmp.Or(strings.Join(limitDifferences(&before, &l.limits), " "), same)
			if l.Limits == nil {
				limits = limitsUnreadable
			}
			_, _ = fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l.Version, seconds(l.Idle), seconds(l.Absolute), seconds(l.Touch),
				printable(l.Schedule), limits, since, by, printable(l.Note))
		}
	})
}
