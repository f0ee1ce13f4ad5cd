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
	// usual is the size at which a pass begins, and below which it goes only where
	// batches take far too long: a commit on a busy disk takes tens of milliseconds
	// for 100 rows and for 1,000, so smaller batches are not shorter, only more.
	usual = 400
)

func newPace(l Limits) *pace {
	return &pace{Limits: l, size: min(max(l.Smallest, usual), l.Largest)}
}

// after notes that a batch of n rows took that long, and returns how long to pause. Batch is the
// time that one should take. If a full batch took less than three quarters of Batch, the next is
// larger. If a batch took longer than Batch, the next is half as large, but not below the usual
// size. At the usual size and below, the size is halved only if the batch took more than two and a
// half times Batch. If a batch of the smallest size takes that long, the pauses grow.
func (p *pace) after(n int, took time.Duration) time.Duration {
	switch {
	case took <= p.Batch:
		p.strikes, p.slack = 0, 0
		switch {
		case n < p.size || took >= p.Batch*3/4:
		case took < p.Batch/2:
			p.size = min(p.size+p.size/2, p.Largest)
		default: // each transaction costs as much as many rows
			p.size = min(p.size+p.size/8, p.Largest)
		}
	case p.size > max(p.Smallest, usual):
		p.size = max(p.size/2, p.Smallest, usual)
	case took <= p.Batch*5/2: // longer than wished for, and not too long: a commit may take that
		p.strikes, p.slack = 0, 0
	case p.size > p.Smallest:
		p.size = max(p.size/2, p.Smallest)
	default:
		p.strikes++
		p.slack = min(max(2*p.slack, p.Batch), maxSlack)
	}
	return took/share + p.slack
}

// slow reports whether it is time to give up.
func (p *pace) slow() bool { return p.strikes >= patience }
