package console

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/sweep"
)

const historyPage = 10

type historyView struct {
	Rows  []historyRow
	Older int64 // the version to begin below; 0 if there is none
}

type historyRow struct {
	Version  int64
	At       time.Time
	By, Note string
	Changes  []change
	InForce  bool
}

// A change is one thing that is different.
type change struct{ Name, From, To string }

// history is a page of the policies that were in force, and what each changed.
func (q *request) history(inForce int64) (h historyView, err error) {
	before, _ := strconv.ParseInt(q.r.URL.Query().Get("before"), 10, 64) // 0: the newest
	all, err := q.u.Policies.History(q.r.Context(), max(before, 0), historyPage+1)
	if err != nil {
		return h, err
	}
	for i := range all {
		if i == historyPage {
			h.Older = all[i-1].Version
			break
		}
		row := historyRow{Version: all[i].Version, At: all[i].UpdatedAt, By: all[i].UpdatedBy, Note: all[i].Note, InForce: all[i].Version == inForce}
		if i+1 < len(all) {
			row.Changes = q.t.differences(&all[i+1], &all[i])
		} else {
			row.Changes = q.t.differences(&policy.Policy{}, &all[i])
		}
		h.Rows = append(h.Rows, row)
	}
	return h, nil
}

// differences are what b has otherwise than a.
func (t *texts) differences(a, b *policy.Policy) (all []change) {
	return differing(append(t.terms(a, b), t.limits(a, b)...))
}

// differing are the rows in which there is a difference.
func differing(rows []change) (all []change) {
	for _, row := range rows {
		if row.From != row.To {
			all = append(all, row)
		}
	}
	return all
}

// terms are a and b beside each other.
func (t *texts) terms(a, b *policy.Policy) []change {
	span := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return t.span(d)
	}
	schedule := func(spec string) string {
		if spec == "" {
			return ""
		}
		return t.schedule(spec)
	}
	sessions := func(n int) string {
		if n == 0 {
			return ""
		}
		return number(int64(n))
	}
	return append([]change{
		{t.Text("expiry.idle"), span(a.Idle), span(b.Idle)},
		{t.Text("expiry.absolute"), span(a.Absolute), span(b.Absolute)},
		{t.Text("expiry.touch"), span(a.Touch), span(b.Touch)},
		{t.Text("expiry.sweep"), schedule(a.Schedule), schedule(b.Schedule)},
		{t.Text("expiry.sessions"), sessions(a.MaxSessions), sessions(b.MaxSessions)},
	}, t.devices(a, b)...)
}

// A conflictView shows what was typed beside what another user saved.
type conflictView struct {
	Sentence string
	InForce  string // the title of its column
	Rows     []conflictRow
}

type conflictRow struct {
	Name, Opened, InForce, Typed string
	Differs                      bool
}

// conflict compares, in these rows, what was typed with what is in force now, and
// with what was when the page was opened, which was for that version.
func (q *request) conflict(version int64, mine *policy.Policy, rows func(a, b *policy.Policy) []change) (*conflictView, policy.Policy, error) {
	now, err := q.u.Policies.Current(q.r.Context())
	if err != nil {
		return nil, now, err
	}
	was, err := q.version(version)
	if err != nil && !errors.Is(err, operator.ErrNoVersion) { // of a version that is gone nothing is shown
		return nil, now, err
	}
	c := &conflictView{
		Sentence: q.t.Text("expiry.conflict", now.Version, now.UpdatedBy), InForce: q.t.Text("expiry.in_force_line", now.Version),
	}
	typed := rows(&was, mine)
	for i, row := range rows(&was, &now) {
		c.Rows = append(c.Rows, conflictRow{row.Name, row.From, row.To, typed[i].To, row.To != typed[i].To})
	}
	return c, now, nil
}

// A sweepView is a schedule in words.
type sweepView struct {
	Words string
	Next  time.Time // zero if that is not known
}

func (q *request) sweepView(spec string) sweepView {
	view := sweepView{Words: q.t.schedule(spec)}
	if schedule, err := sweep.ParseSchedule(spec); err == nil {
		view.Next = schedule.Next(q.u.Now().UTC())
	}
	return view
}

func (t *texts) schedule(spec string) string {
	switch spec = strings.TrimSpace(spec); spec {
	case "@hourly":
		return t.Text("expiry.hourly")
	case "@daily", "@midnight":
		return t.Text("expiry.daily")
	}
	if every, ok := strings.CutPrefix(spec, "@every "); ok {
		if d, err := time.ParseDuration(strings.TrimSpace(every)); err == nil {
			return apart(t.Text("expiry.every", t.each(d)))
		}
	}
	return t.Text("expiry.cron", spec)
}

// each is d as it follows "every": the 1 of one unit is left out.
func (t *texts) each(d time.Duration) string {
	words := t.span(d)
	if one, ok := strings.CutPrefix(words, "1 "); ok && !strings.Contains(one, " ") {
		return one
	}
	return words
}

// A restoreView asks whether going back to a version sets its limits too. The form
// holds the times alone, and a version is more than those.
type restoreView struct {
	Label   string
	Chosen  bool
	Changes []change
}

// restore is nil where the version to go back to has the limits that are in force.
func (q *request) restore(in *dialInput, inForce *policy.Policy) (*restoreView, error) {
	if in.BackTo == 0 {
		return nil, nil //nolint:nilnil // nothing to ask
	}
	old, err := q.version(in.BackTo)
	switch {
	case errors.Is(err, operator.ErrNoVersion):
		return nil, nil //nolint:nilnil // nothing to ask
	case err != nil:
		return nil, err
	}
	changes := differing(q.t.limits(inForce, &old))
	if len(changes) == 0 && inForce.LimitsErr == nil {
		return nil, nil //nolint:nilnil // nothing to ask
	}
	return &restoreView{q.t.Text("limits.restore", in.BackTo), in.WithLimits, changes}, nil
}

// version is the policy that was in force as that version. It fails with
// [operator.ErrNoVersion].
func (q *request) version(n int64) (policy.Policy, error) {
	old, err := q.u.Policies.History(q.r.Context(), n+1, 1)
	switch {
	case err != nil:
		return policy.Policy{}, err
	case len(old) == 0 || old[0].Version != n:
		return policy.Policy{}, operator.ErrNoVersion
	}
	return old[0], nil
}

// rowsOf compares what the form changes: the times, and the limits if it goes back
// to those of a version.
func (t *texts) rowsOf(in *dialInput) func(a, b *policy.Policy) []change {
	return func(a, b *policy.Policy) []change {
		if in.WithLimits {
			return append(t.terms(a, b), t.limits(a, b)...)
		}
		return t.terms(a, b)
	}
}
