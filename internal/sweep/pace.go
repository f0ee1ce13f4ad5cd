package sweep

import "time"

// A pace chooses the size of batches by how long they take.
type pace struct {
	Limits
	size    int
	slack   time.Duration // pause on top, while the database is slow
	strikes int           // batches in a row that took too long at the smallest size
}

const (
	// share is the part of a batch's time for which a pass pauses after it: one
	// over it.
	share = 8
	// maxSlack is the longest pause.
	maxSlack = time.Second
	// patience is how many strikes end a pass: about ten seconds of pauses.
	patience = 15
)

func newPace(l Limits) *pace {
	return &pace{Limits: l, size: min(max(l.Smallest, 200), l.Largest)}
}

// after notes that a batch of n rows took that long, and returns how long to
// pause. A batch of less than half the time it may take is followed by a larger
// one, one of more by one of half the size, and one of two and a half times that
// although it is as small as can be, by longer and longer pauses.
func (p *pace) after(n int, took time.Duration) time.Duration {
	switch {
	case took <= p.Batch:
		p.strikes, p.slack = 0, 0
		if took < p.Batch/2 && n >= p.size {
			p.size = min(p.size+p.size/2, p.Largest)
		}
	case p.size > p.Smallest:
		p.size = max(p.size/2, p.Smallest)
	case took <= p.Batch*5/2: // longer than wished for, and not too long: a commit may take that
		p.strikes, p.slack = 0, 0
	default:
		p.strikes++
		p.slack = min(max(2*p.slack, p.Batch), maxSlack)
	}
	return took/share + p.slack
}

// slow reports whether it is time to give up.
func (p *pace) slow() bool { return p.strikes >= patience }
