package lincheck

import (
	"sync"
	"time"
)

// A Recorder writes down requests and answers of clients, on one clock. Make one
// with [NewRecorder]. Its methods may be called at the same time.
type Recorder struct {
	start time.Time
	mu    sync.Mutex
	open  map[*Pending]struct{}
	done  []Op
}

// NewRecorder returns a recorder whose clock starts now.
func NewRecorder() *Recorder {
	return &Recorder{start: time.Now(), open: make(map[*Pending]struct{})}
}

// Now is the time on the recorder's clock.
func (r *Recorder) Now() time.Duration { return time.Since(r.start) }

// At is when the clock on the wall shows that time, on the recorder's clock.
func (r *Recorder) At(wall time.Time) time.Duration { return wall.Round(0).Sub(r.start.Round(0)) }

// A Pending is a question without an answer so far. The first of Done, Refuse,
// Lost and Drop says what became of it; if none is called, it is Unknown.
type Pending struct {
	r  *Recorder
	op Op
}

// Ask notes that a question is about to be sent. Call it last before sending.
// token is that of the token presented, 0 for a Login and what names none; at is
// the instance that is asked, or empty.
func (r *Recorder) Ask(user string, k Kind, token int64, at string) *Pending {
	return r.AskFor(Op{User: user, Kind: k, Token: token, At: at})
}

// AskFor is Ask for a question that has more to it.
func (r *Recorder) AskFor(o Op) *Pending {
	p := &Pending{r: r, op: o}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[p] = struct{}{}
	p.op.Call = r.Now()
	return p
}

// Done notes that it happened, or that the token was accepted. Call it first
// after the answer.
func (p *Pending) Done() { p.end(func(o *Op) { o.Outcome = Done }) }

// Opened notes that a Login happened: the ID of the new login, and when it
// expires by the clock on the wall, or zero if that is after the history.
func (p *Pending) Opened(token int64, expires time.Time) {
	p.end(func(o *Op) {
		o.Outcome, o.Token = Done, token
		if !expires.IsZero() {
			o.Expires = p.r.At(expires)
		}
	})
}

// Ended notes that an End happened, for that reason.
func (p *Pending) Ended(code string) { p.end(func(o *Op) { o.Outcome, o.Code = Done, code }) }

// Refuse notes that nothing changed, for that reason.
func (p *Pending) Refuse(code string) { p.end(func(o *Op) { o.Outcome, o.Code = Refused, code }) }

// Lost notes that it stays unknown whether it happened.
func (p *Pending) Lost() { p.end(func(o *Op) { o.Outcome = Unknown }) }

// Drop forgets a question that certainly changed nothing and was not answered:
// one that could not be sent.
func (p *Pending) Drop() { p.end(nil) }

func (p *Pending) end(how func(*Op)) {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	now := p.r.Now()
	if _, open := p.r.open[p]; !open {
		return
	}
	delete(p.r.open, p)
	if how == nil {
		return
	}
	how(&p.op)
	p.op.Return = now
	p.r.done = append(p.r.done, p.op)
}

// History is all that was recorded so far. What has no answer yet is Unknown.
func (r *Recorder) History() []Op {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Op, len(r.done), len(r.done)+len(r.open))
	copy(all, r.done)
	for p := range r.open {
		o := p.op
		o.Outcome = Unknown
		all = append(all, o)
	}
	return all
}
