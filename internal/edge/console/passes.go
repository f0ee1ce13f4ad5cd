package console

import (
	"time"
)

// A Sweep is one pass of the sweep.
type Sweep struct {
	Started    time.Time
	Took       time.Duration // zero while it runs
	Instance   string
	Outcome    string // one of package sweep's
	Cleared    int64
	FailedRows int64
}

// A passView is a pass in words.
type passView struct {
	Sweep
	Result string
	Time   string
	Bad    bool
}

// passes says what the last passes did.
func (t *texts) passes(list []Sweep) (views []passView) {
	for _, s := range list {
		p := passView{Sweep: s, Result: t.Name("outcome", s.Outcome), Time: "–"}
		if s.Took > 0 {
			p.Time = took(s.Took)
		}
		if s.FailedRows > 0 {
			p.Result += " " + t.Text("instances.rows_failed", number(s.FailedRows))
		}
		p.Bad = s.FailedRows > 0 || s.Outcome == "failed" || s.Outcome == "slow"
		views = append(views, p)
	}
	return views
}
