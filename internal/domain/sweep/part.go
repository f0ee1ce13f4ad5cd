package sweep

import (
	"cmp"
	"context"

	"github.com/flakepass/flakepass/internal/domain/policy"
)

// A policy with overrides ends the logins of some classes and roles earlier than others. The logins
// of one class and role are a part. A pass first clears what is over in every part: it lies up to
// one mark, the mark of all, and nothing else lies there. A login that is over in one part only
// lies among logins of other parts that live. No index has the parts, for every use of a login
// would have to write it. But the mark of a part only moves forward. So a pass looks only at what
// lies between the mark of the pass before and the mark of now. It looks at each login once, and
// again where it found one that another transaction had locked, or that could not be cleared. Only
// this instance knows how far it has looked. Another instance looks at all from the mark of all on,
// and so does this one under a new policy.

// A look is where something was found that could not be cleared, and at how many logins.
type look struct {
	from, end Cursor
	limit     int
}

// A reach is how far this instance has looked at a part: up to where in each stage, and what
// it has to look at again.
type reach struct {
	to   [stages]Cursor
	left []look
}

// mostLeft is how many looks a part has to repeat at most. Of more, the oldest are left to the
// mark of all.
const mostLeft = 1000

// part clears a part, from where the pass before was, also if that did not come to the end.
func (p *pass) part(ctx context.Context, m Marks) error {
	if p.parts.version != m.Version {
		p.parts.version, p.parts.reached = m.Version, map[policy.Scope]reach{}
	}
	all, was := p.marks, p.parts.reached[m.Part.Scope]
	defer func() { p.marks, p.from, p.left, p.cursor = all, [stages]Cursor{}, nil, Cursor{} }() // the next pass begins anew
	for stage := range stages {
		p.from[stage] = all.begin(stage)
		if to := was.to[stage]; to.beyond(p.from[stage]) {
			p.from[stage] = to
		}
	}
	p.marks, p.cursor = m, p.begin(0)
	err := p.again(ctx, was.left, &all)
	if err == nil {
		err = p.stages(ctx)
	}
	now := reach{p.from, p.left[max(0, len(p.left)-mostLeft):]}
	for stage := range min(p.cursor.Stage, stages) {
		now.to[stage] = m.begin(stage)
	}
	if p.cursor.Stage < stages {
		now.to[p.cursor.Stage] = p.cursor
	}
	p.parts.reached[m.Part.Scope] = now
	return err
}

// again looks where something could not be cleared before, unless the mark of all has come by.
func (p *pass) again(ctx context.Context, left []look, all *Marks) error {
	for i, l := range left {
		if !l.end.beyond(all.begin(l.from.Stage)) {
			continue
		}
		to, err := p.step(ctx, l.from, l.limit)
		if to == l.from { // it was not looked at
			p.left = append(p.left, l)
		}
		if err == nil && p.over() {
			err = errCeiling
		}
		if err != nil {
			p.left = append(p.left, left[i+1:]...)
			return err
		}
	}
	return nil
}

// beyond reports whether a cursor is further than another one of its stage.
func (c Cursor) beyond(of Cursor) bool {
	return cmp.Or(cmp.Compare(c.Value, of.Value), cmp.Compare(c.Row, of.Row)) > 0
}

// begin is where a stage begins that was looked at up to m.
func (m *Marks) begin(stage Stage) Cursor {
	c := Cursor{Stage: stage}
	switch stage {
	case Expired:
		c.Value = int64(m.Issued)
	case Idle:
		if !m.Seen.IsZero() {
			c.Value = m.Seen.UnixMilli()
		}
	case Revoked, stages:
	}
	return c
}

// begin is where a stage begins in this pass.
func (p *pass) begin(stage Stage) Cursor {
	if stage >= stages {
		return Cursor{Stage: stages}
	}
	c := p.from[stage]
	c.Stage = stage
	return c
}

// next is where the pass after this one begins: behind what was cleared of all, or anew if
// this one came to the end of that, whatever it does now.
func (p *pass) next() Cursor {
	if p.marks.Part != nil || p.cursor.Stage >= stages {
		return Cursor{}
	}
	return p.cursor
}

// current are the marks of this moment, and those of the parts of the policy in which
// logins end earlier. A clock that is ahead would clear logins
// that live, and for good: so it is the one of this machine or the one of the
// database, whichever is behind.
func (s *Sweeper) current(ctx context.Context) (all Marks, parts []Marks, err error) {
	now, floor, err := s.Store.Head(ctx)
	if err != nil {
		return Marks{}, nil, err
	}
	if mine := s.now(); mine.Before(now) {
		now = mine
	}
	rule := s.Policy.Current()
	issued, seen := rule.Longest(now)
	all = MarksOf(issued, seen, floor)
	all.Now = now
	for _, part := range rule.Parts(now) {
		m := MarksOf(part.OldestIssued(now), part.OldestSeen(now), 0) // the floor is that of all
		m.Part, m.Version, m.Now = &part, rule.Version, now
		parts = append(parts, m)
	}
	return all, parts, nil
}
