package feed

import "time"

const (
	// overlap is how much a poll reads again of the time that an earlier one has read:
	// its window begins that long before the time which the earlier poll showed. An end
	// that was stamped there, and committed after that poll, is found only so. It is
	// longer than the second from stamp to commit (what takes longer is stamped
	// anew), and than a clock can be set back unnoticed by setBack: slack and the time
	// of two polls.
	overlap = 6 * time.Second

	// slack is by how much the database's clock may lag behind this one between
	// two polls before it counts as set back.
	slack = 500 * time.Millisecond

	// jump is by how much more than the time between two polls the database's clock may
	// go forward before an operator is told. It ends logins, and no setting back revives them.
	jump = 10 * time.Second

	// commitWithin is longer than an end takes from its stamp to its commit: an end that
	// the last poll did not see was stamped less than this before it. A window begins at
	// a poll that was over earlier, so no such end has a stamp of before that poll.
	commitWithin = 2 * time.Second
)

// A poll that was applied.
type poll struct {
	showed      time.Time // the database's clock
	start, read time.Time // by this machine's: before, and not before the database read its own
}

// since is where the window of the next poll begins, or zero if no poll was over long
// enough before the last one. Polls that no later window can begin at are forgotten.
func (f *Feed) since() time.Time {
	before := f.last().start.Add(-commitWithin)
	n := 0
	for n < len(f.polls) && f.polls[n].read.Before(before) {
		n++
	}
	if n == 0 {
		return time.Time{}
	}
	f.polls = f.polls[n-1:]
	return f.polls[0].showed.Add(-overlap)
}

// last is the last poll that was applied, or a zero one.
func (f *Feed) last() poll {
	if len(f.polls) == 0 {
		return poll{}
	}
	return f.polls[len(f.polls)-1]
}

// moved reports whether another server answers than before.
func (f *Feed) moved(server string) bool { return len(f.polls) > 0 && server != f.server }

// setBack reports whether the database's clock shows less than it must after p.
func (p poll) setBack(now, start time.Time) bool {
	return !p.showed.IsZero() && now.Before(p.showed.Add(start.Sub(p.read)-slack))
}

// jumped is by how much more the database's clock went forward after p than this
// machine's time, which no setting of its own clock moves. read is not before the
// database read its clock.
func (p poll) jumped(now, read time.Time) time.Duration {
	if p.showed.IsZero() {
		return 0
	}
	return now.Sub(p.showed) - read.Sub(p.start)
}
