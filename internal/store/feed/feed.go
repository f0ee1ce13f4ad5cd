// Package feed makes every end known to an instance, also if messages are lost:
// it polls the database for what has ended since.
//
// The windows of two polls overlap, so that an end which was stamped early and
// committed late is seen. The start of the last poll that was applied is the
// horizon: every end that was committed before it is known here. With the ends a
// poll brings the policy, the clock of the database and what is over for good by
// its age.
//
// A database may have several servers, and their clocks may differ. If a poll was over before an
// end was written, the stamp of the end is not earlier than the database time of that poll. So a
// window begins at such a poll, less [overlap]. The feed takes the latest poll that was over more
// than [commitWithin] before the last poll began, by this machine's clock. An end takes less than
// commitWithin from its stamp to its commit, so the window has every end that the last poll missed.
package feed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A Source is the database as the feed sees it. News returns every end that was
// stamped at since or later, by the database's clock, or all of them if since is
// so long ago that the database does not remember; a zero since asks for the
// last keep.
type Source interface {
	News(ctx context.Context, since time.Time, keep time.Duration) (session.News, error)
}

// Options says how a [Feed] polls.
type Options struct {
	// From is polled.
	From Source
	// Policy, if set, is given the policy that each poll brings: like an end, it
	// must be known within the bound.
	Policy func(ctx context.Context, p policy.Policy)
	// Learn is given the news, before the horizon moves. One end it may get
	// several times.
	Learn func(session.News)
	// Bound is how old the horizon may be for anybody to rely on it.
	Bound time.Duration
	// Now is the clock. nil means time.Now.
	Now func() time.Time
	// Log gets a line when polls have failed for longer than Bound.
	Log *slog.Logger
	// Lost, if set, is called when the database may have lost commits. It must not wait.
	Lost func()
	// Polled, if set, is called after every poll: how long it took, of how many ends it
	// brought word, and the error if it failed.
	Polled func(took time.Duration, ends int, err error)
}

// A Feed keeps an instance's knowledge of ends. Make one with [New].
type Feed struct {
	Options
	keep   time.Duration
	soon   chan struct{} // has a token if the next poll should not wait
	known  atomic.Pointer[known]
	clock  atomic.Pointer[reading]
	global atomic.Int64

	// Of the one goroutine that polls.
	polls  []poll // that were applied, those that a window may begin at, oldest first
	server string // that answered the last one
	lost   bool   // commits may be lost, since the last one
}

// known is what the last poll that was applied has brought.
type known struct {
	horizon   time.Time // by this machine's clock
	watermark time.Time
}

// A reading is what the clock of the database showed, and a time before it did, by
// this machine's clock.
type reading struct{ showed, asked time.Time }

const (
	pollEvery = time.Second
	pollTime  = 2 * time.Second
)

// New returns a feed that knows nothing yet.
func New(o Options) (*Feed, error) {
	if o.From == nil || o.Learn == nil || o.Bound <= 0 {
		return nil, errors.New("feed: needs a source, a Learn, and a bound above 0")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	// A shared memory may hold answers as old as their life, from before this
	// instance was started: it has to know all that ended since.
	return &Feed{Options: o, keep: 2*session.Life(o.Bound) + overlap, soon: make(chan struct{}, 1)}, nil
}

// Horizon is the instant up to which this instance knows of every end, or zero
// if there is none yet.
func (f *Feed) Horizon() time.Time {
	if k := f.known.Load(); k != nil {
		return k.horizon
	}
	return time.Time{}
}

// Watermark is the time at and before which every session that was issued is too
// old for good, or zero if that is not known yet. A poll has proven it: no change
// of the policy was under way, and each change raises its base to the watermark of
// its moment. It only grows.
func (f *Feed) Watermark() time.Time {
	if k := f.known.Load(); k != nil {
		return k.watermark
	}
	return time.Time{}
}

// Clock is the database's clock, or false if it was never read: what it showed
// last, and the time since that reading was asked for. So it is not behind, unless
// this machine slept or the rates of the two clocks differ.
func (f *Feed) Clock() (time.Time, bool) { return f.ClockAt(f.Now()) }

// ClockAt is [Feed.Clock] when the clock of this machine shows at.
func (f *Feed) ClockAt(at time.Time) (time.Time, bool) {
	c := f.clock.Load()
	if c == nil {
		return time.Time{}, false
	}
	return c.at(at), true
}

func (c *reading) at(now time.Time) time.Time { return c.showed.Add(now.Sub(c.asked)) }

// Saw notes what the clock of the database showed to a question that was asked at
// asked. It moves the clock forward only: before the first poll, and after
// this machine has slept.
func (f *Feed) Saw(showed, asked time.Time) {
	c := f.clock.Load()
	if c == nil || showed.After(c.at(f.Now())) {
		f.clock.CompareAndSwap(c, &reading{showed, asked}) // if it fails, a poll has read it
	}
}

// Fresh reports whether the horizon may be relied on now.
func (f *Feed) Fresh() bool {
	k := f.known.Load()
	return k != nil && session.Age(f.Now(), k.horizon) < f.Bound
}

// Global is the ID at and below which every session is over.
func (f *Feed) Global() idworker.ID { return idworker.ID(f.global.Load()) }

// Raise says that the database has that floor: every session at and below it is over.
// It only grows.
func (f *Feed) Raise(floor idworker.ID) {
	for {
		old := f.global.Load()
		if int64(floor) <= old || f.global.CompareAndSwap(old, int64(floor)) {
			return
		}
	}
}

// Every is how long after the start of a poll the next one starts.
func (f *Feed) Every() time.Duration { return min(pollEvery, f.Bound/4) }

// Soon makes the next poll start at once: messages may have been missed.
func (f *Feed) Soon() {
	select {
	case f.soon <- struct{}{}:
	default: // it does already
	}
}

// Run polls until ctx ends.
func (f *Feed) Run(ctx context.Context) {
	tick := time.NewTicker(f.Every())
	defer tick.Stop()
	for stale := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-f.soon:
		}
		err := f.Poll(ctx)
		switch fresh := f.Fresh(); {
		case ctx.Err() != nil:
			return
		case !fresh && !stale:
			stale = true
			f.Log.WarnContext(ctx, "ends of logins not heard of; memory is not believed, the database is asked each time", "err", err)
		case fresh && stale:
			stale = false
			f.Log.InfoContext(ctx, "ends of logins heard of again")
		}
	}
}

// Poll asks the database once. If that fails, the horizon stays where it is.
// One goroutine at a time may call it.
func (f *Feed) Poll(ctx context.Context) error {
	start := f.Now()
	// A poll that is as old as the bound when it ends is of no use.
	ctx, cancel := context.WithTimeout(ctx, min(pollTime, f.Bound))
	defer cancel()
	ends, err := f.poll(ctx, start)
	if f.Polled != nil {
		f.Polled(f.Now().Sub(start), ends, err)
	}
	if err != nil {
		return fmt.Errorf("feed: %w", err)
	}
	return nil
}

func (f *Feed) poll(ctx context.Context, start time.Time) (ends int, err error) {
	news, err := f.From.News(ctx, f.since(), f.keep)
	last := f.last()
	moved := f.moved(news.Server)
	// The source says only once that commits were lost. The read after that may fail, as in the
	// middle of a failover. f.lost keeps it until a poll succeeds.
	f.lost = f.lost || err == nil && (news.Lost || moved)
	if err == nil && (last.setBack(news.Now, start) || moved) {
		// Another database answers, or its clock was set back. What it has stamped
		// may lie before the window, which began at what the old clock showed.
		f.Log.WarnContext(ctx, "the database's clock went back, or another server answers; reading all recent ends again",
			"from", last.showed, "to", news.Now)
		f.polls = nil
		news, err = f.From.News(ctx, time.Time{}, f.keep)
	}
	if err != nil {
		return 0, err
	}
	if by := last.jumped(news.Now, f.Now()); by > jump {
		f.Log.WarnContext(ctx, "the database's clock went forward, or this machine stood still; logins that are too old by it end for good",
			"by", by, "from", last.showed, "to", news.Now)
	}
	// A floor is known here only after it was committed.
	if f.Lost != nil && (f.lost || news.Lost || news.Global < f.Global()) {
		f.Lost()
	}
	f.lost = false
	f.Raise(news.Global)
	if f.Policy != nil {
		f.Policy(ctx, news.Policy)
	}
	f.Learn(news)
	k := &known{horizon: start, watermark: f.Watermark()}
	if proven, _ := news.Policy.Longest(news.Now); news.Steady && proven.After(k.watermark) {
		k.watermark = proven
	}
	asked := start
	if !news.Asked.IsZero() {
		asked = news.Asked
	}
	f.clock.Store(&reading{news.Now, asked})
	f.known.Store(k)
	f.server = news.Server
	f.polls = append(f.polls, poll{news.Now, start, f.Now()})
	return len(news.Ends), nil
}
