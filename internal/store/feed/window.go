package feed

import "time"

const (
	// overlap is how much time a poll reads again. The window of a poll begins this long before
	// the time that an earlier poll showed. So the poll also finds an end that was stamped before
	// that time and committed after the earlier poll. overlap is longer than the second that an
	// end may take from its stamp to its commit; an end that takes longer is stamped anew. overlap
	// is also longer than a clock can be set back without being noticed by setBack: slack and the
	// time of two polls.
	overlap = 6 * time.Second

	// slack is by how much the database's clock may lag behind this one between
	// two polls before it counts as set back.
	slack = 500 * time.Millisecond

	// jump is by how much more than the time between two polls the database's clock may
	// go forward before an operator is told. It ends logins, and no setting back revives them.
	jump = 10 * time.Second

	// commitWithin is longer than an end takes from its stamp to its commit. So an end that the
	// last poll did not see was stamped less than commitWithin before its start. A window begins
	// at a poll that was over earlier than that. So the stamp of such an end is not from before
	// the poll at which the window begins.
	commitWithin = 2 * time.Second
)

// A poll that was applied.
type poll struct {
	showed      time.Time // the database's clock
	start, read time.Time // by this machine's clock: before and after the database read its clock
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

// jumped is by how much more the database's clock went forward after p than the time of this
// machine. That time is monotonic: setting the clock of this machine does not change it. read is
// a time after the database has read its clock.
func (p poll) jumped(now, read time.Time) time.Duration {
	if p.showed.IsZero() {
		return 0
	}
	return now.Sub(p.showed) - read.Sub(p.start)
}
