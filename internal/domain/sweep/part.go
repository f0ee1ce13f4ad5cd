package sweep

import (
	"context"

	"github.com/flakepass/flakepass/internal/domain/policy"
)

// A policy with overrides ends the logins of some classes and roles earlier than those of
// others. What is over whatever it is, a pass finds as ever: nothing else is left behind
// that mark. What is over in one part only stands among what lives in the others. No index
// knows the parts, for every use of a login would have to write it. But the mark of a part
// only moves forward. So each pass looks at what lies between where the mark was at the
// pass before and where it is now, and looks at each login once. Where it was is known to
// this instance only: another one, or a new policy, looks at all from the mark of all on.

// part clears a part, from where the pass before was.
func (p *pass) part(ctx context.Context, m Marks) error {
	if p.parts.version != m.Version {
		p.parts.version, p.parts.to = m.Version, map[policy.Scope]Marks{}
	}
	all := p.marks
	defer func() { p.marks, p.from, p.cursor = all, Marks{}, Cursor{} }() // the next pass begins anew
	was := p.parts.to[m.Part.Scope]
	p.from = Marks{Issued: max(was.Issued, all.Issued), Seen: all.Seen}
	if was.Seen.After(all.Seen) {
		p.from.Seen = was.Seen
	}
	p.marks, p.cursor = m, p.from.begin(0)
	if err := p.stages(ctx); err != nil {
		return err
	}
	p.parts.to[m.Part.Scope] = m
	return nil
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

func (p *pass) begin(stage Stage) Cursor { return p.from.begin(stage) }

// next is where the pass after this one begins: behind what was cleared of all, or anew if
// this one came to the end of that, whatever it does now.
func (p *pass) next() Cursor {
	if p.marks.Part != nil || p.cursor.Stage >= stages {
		return Cursor{}
	}
	return p.cursor
}
