package ratelimit

import "context"

// manyFailures is from how many wrong passwords a right one is worth a notice:
// more than people mistype.
const manyFailures = 10

// A Notice is what is unusual about a right password, if anything (OWASP ASVS 5.0,
// 6.3.5 and 6.3.7).
type Notice struct {
	NewPlace bool
	// Failures is how many wrong passwords for the account came before, about, since
	// that was noticed last, by strangers and by this device or at this place; 0 if
	// they were few.
	Failures int
}

// notice is what is unusual about t, whose password was right. That wrong passwords
// were noticed is kept, so that they are once.
func (g *Gate) notice(ctx context.Context, t *Taken) Notice {
	n := Notice{NewPlace: t.record.PlaceSeen == 0 && t.record.Places}
	r, now := g.Limits().LoginAccount, t.record.Now
	by := t.record.Strangers.failures(r, now)
	if t.Known {
		by += t.before.failures(r, now)
	}
	if by >= manyFailures {
		n.Failures = by
		g.change(ctx, t, strangers, func(s Guard, now int64) Guard {
			s = s.under(r, now)
			s.Told = s.Full
			return s
		})
	}
	return n
}
