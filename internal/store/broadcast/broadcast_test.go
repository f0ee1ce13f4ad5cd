//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package broadcast_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/broadcast"
)

const bound = 5 * time.Second

// A source is a feed whose state a test sets.
type source struct {
	mu      sync.Mutex
	horizon time.Time
	global  idworker.ID
	poll    func() // whenever the horizon is asked for
}

func (s *source) Horizon() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.poll != nil {
		s.poll()
	}
	return s.horizon
}

func (s *source) Global() idworker.ID  { s.mu.Lock(); defer s.mu.Unlock(); return s.global }
func (s *source) Every() time.Duration { return time.Second }

func open(o broadcast.Options) (*broadcast.Hub, *source) {
	from := &source{horizon: time.Now()}
	o.Feed, o.Bound = from, bound
	if o.Policy == nil {
		o.Policy = policy.Fixed(policy.Default())
	}
	return broadcast.New(o), from
}

func end(user idworker.ID) session.Session {
	return session.Session{ID: user + 1000, UserID: user, Ended: session.LoggedOut}
}

// A listener keeps what it is told.
type listener struct {
	mu     sync.Mutex
	start  session.Start
	ends   []idworker.ID // users
	last   string
	beats  int
	global idworker.ID
	policy *policy.Policy
}

func (l *listener) tell(b session.Bulletin) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b.Start != nil {
		l.start = *b.Start
	}
	for _, e := range b.Ends {
		l.ends = append(l.ends, e.UserID)
	}
	if b.Last != "" {
		l.last = b.Last
	}
	if b.Beat {
		l.beats++
	}
	if b.Global != 0 {
		l.global = b.Global
	}
	if b.Policy != nil {
		l.policy = b.Policy
	}
	return nil
}

// follow follows until the test ends it.
func follow(t *testing.T, h *broadcast.Hub, after string) (l *listener, end func() error) {
	t.Helper()
	l = &listener{}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- h.Follow(ctx, 1, after, l.tell) }()
	synctest.Wait()
	return l, func() error { cancel(); return <-result }
}

// TestFollowerHearsEveryEndOnce: by whatever way it comes, and at once.
func TestFollowerHearsEveryEndOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := open(broadcast.Options{})
		l, stop := follow(t, h, "")
		tier := &broadcast.Publisher{Store: deaf{}, To: h}
		for user := idworker.ID(1); user <= 600; user++ {
			if err := tier.Publish(t.Context(), end(user)); err != nil {
				t.Fatal(err)
			}
			h.ApplyEnd(end(user))
			h.ApplyPoll(session.News{Ends: []session.End{{UserID: user, Floor: user + 1000}, {UserID: user, Floor: user + 999}}})
		}
		synctest.Wait()
		if len(l.ends) != 600 || l.ends[0] != 1 || l.ends[599] != 600 || l.beats != 1 {
			t.Errorf("got %d ends, %d beats", len(l.ends), l.beats)
		}
		if err := stop(); !errors.Is(err, context.Canceled) || h.Followers() != 0 {
			t.Errorf("Follow: %v, %d followers", err, h.Followers())
		}
	})
}

// TestEndsOfEachSlotAreTold: an end in one slot is not that of another.
func TestEndsOfEachSlotAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := open(broadcast.Options{})
		var told []session.End
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_ = h.Follow(ctx, 1, "", func(b session.Bulletin) error { told = append(told, b.Ends...); return nil })
		}()
		for _, slot := range []session.Slot{2, 0, 1, 0} {
			s := end(7)
			s.Slot = slot
			h.ApplyEnd(s)
			h.ApplyPoll(session.News{Ends: []session.End{{UserID: 7, Slot: slot, Floor: s.ID}}})
		}
		synctest.Wait()
		cancel()
		if len(told) != 3 || told[0].Slot != 2 || told[1].Slot != 0 || told[2].Slot != 1 {
			t.Errorf("told %+v, want one end for each slot", told)
		}
	})
}

type deaf struct{ session.Store }

func (deaf) Publish(context.Context, ...session.Session) error { return nil }

// TestStartCoversWhatItSays: every end that is younger is told.
func TestStartCoversWhatItSays(t *testing.T) {
	for _, ring := range []int{0, 7} { // one that is large enough, and one that is not
		synctest.Test(t, func(t *testing.T) {
			h, _ := open(broadcast.Options{Ring: ring})
			at := map[idworker.ID]time.Time{}
			for user := idworker.ID(1); user <= 40; user++ {
				at[user] = time.Now()
				h.ApplyEnd(end(user))
				time.Sleep(time.Second)
			}
			now := time.Now()
			l, stop := follow(t, h, "")
			defer func() { _ = stop() }()
			if l.start.Resumed || l.start.Covers <= 0 || ring == 0 && l.start.Covers < 2*bound {
				t.Errorf("ring %d: starts with %+v", ring, l.start)
			}
			told := map[idworker.ID]bool{}
			for _, user := range l.ends {
				told[user] = true
			}
			for user, at := range at {
				if now.Sub(at) < l.start.Covers && !told[user] {
					t.Errorf("ring %d: covers %v, and an end %v ago is not told", ring, l.start.Covers, now.Sub(at))
				}
			}
		})
	}
}

// TestResumedGoesOnWhereItBrokeOff: or begins anew, when it cannot.
func TestResumedGoesOnWhereItBrokeOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := open(broadcast.Options{Ring: 8})
		other, _ := open(broadcast.Options{Ring: 8})
		h.ApplyEnd(end(1))
		first, stop := follow(t, h, "")
		_ = stop()
		h.ApplyEnd(end(2))
		h.ApplyEnd(end(3))
		again, stop := follow(t, h, first.last)
		_ = stop()
		if !again.start.Resumed || len(again.ends) != 2 || again.ends[0] != 2 {
			t.Errorf("resumed: %+v, %v", again.start, again.ends)
		}
		for user := idworker.ID(10); user < 20; user++ {
			h.ApplyEnd(end(user))
		}
		for _, mark := range []string{first.last, "", "x", again.last + "0", "-", first.last + "x"} {
			anew, stop := follow(t, h, mark)
			_ = stop()
			if anew.start.Resumed {
				t.Errorf("resumed from %q, of which something is gone", mark)
			}
		}
		elsewhere, stop := follow(t, other, first.last)
		_ = stop()
		if elsewhere.start.Resumed {
			t.Error("resumed from a mark of another hub")
		}
	})
}

// TestSlowFollowerIsCut: the ring overtakes it.
func TestSlowFollowerIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := open(broadcast.Options{Ring: 8})
		enough := make(chan struct{})
		result := make(chan error)
		go func() {
			result <- h.Follow(t.Context(), 1, "", func(session.Bulletin) error { <-enough; return nil })
		}()
		for user := idworker.ID(1); user < 20; user++ {
			h.ApplyEnd(end(user))
			synctest.Wait()
		}
		close(enough)
		if err := <-result; !errors.Is(err, broadcast.ErrSlow) {
			t.Errorf("Follow: %v", err)
		}
	})
}

// TestFollowersAreCounted, limited, and sent away at the end.
func TestFollowersAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := open(broadcast.Options{Most: 2})
		results := make(chan error, 2)
		for range 2 {
			go func() { results <- h.Follow(t.Context(), 1, "", (&listener{}).tell) }()
		}
		synctest.Wait()
		if err := h.Follow(t.Context(), 1, "", nil); !errors.Is(err, session.ErrFollowers) || h.Followers() != 2 {
			t.Errorf("a third: %v, %d", err, h.Followers())
		}
		h.Stop()
		h.Stop()
		for range 2 {
			if err := <-results; !errors.Is(err, session.ErrStopping) {
				t.Errorf("after Stop: %v", err)
			}
		}
		if err := h.Follow(t.Context(), 1, "", nil); !errors.Is(err, session.ErrStopping) || h.Followers() != 0 {
			t.Errorf("after Stop: %v, %d", err, h.Followers())
		}
	})
}

// One account that has all streams loses its newest to accounts that have fewer, and
// gets none back by asking for more.
func TestOneAccountBlocksNoOtherFollower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := open(broadcast.Options{Most: 6})
		type end struct {
			account idworker.ID
			nth     int
			err     error
		}
		ends := make(chan end, 100)
		follow := func(account idworker.ID, nth int) {
			go func() { ends <- end{account, nth, h.Follow(t.Context(), account, "", (&listener{}).tell)} }()
			synctest.Wait()
		}
		expect := func(account idworker.ID, nth int) {
			t.Helper()
			select {
			case e := <-ends:
				if e.account != account || e.nth != nth || !errors.Is(e.err, session.ErrFollowers) {
					t.Errorf("stream %d of %v ended with %v, want %d of %v with ErrFollowers", e.nth, e.account, e.err, nth, account)
				}
			default:
				t.Errorf("stream %d of %v goes on", nth, account)
			}
		}
		for nth := range 6 {
			follow(1, nth)
		}
		follow(1, 6)
		expect(1, 6)
		for nth, loses := range []int{5, 4, 3} {
			follow(2, nth)
			expect(1, loses)
		}
		follow(2, 3) // it would have more than the other
		expect(2, 3)
		follow(1, 7)
		expect(1, 7)
		follow(3, 0)
		if e := <-ends; !errors.Is(e.err, session.ErrFollowers) || e.nth != 2 {
			t.Errorf("for a third account, stream %d of %v ended with %v", e.nth, e.account, e.err)
		}
		if h.Followers() != 6 {
			t.Errorf("%d follow, want 6", h.Followers())
		}
		h.Stop()
		for range 6 {
			if e := <-ends; !errors.Is(e.err, session.ErrStopping) {
				t.Errorf("after Stop: %v", e.err)
			}
		}
		if h.Followers() != 0 {
			t.Errorf("%d follow after Stop", h.Followers())
		}
	})
}

// TestBeatsPromiseNoMoreThanWasSent: a poll is applied in the middle of a beat,
// right before the horizon is read.
func TestBeatsPromiseNoMoreThanWasSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, from := open(broadcast.Options{})
		polled := time.Now().Add(time.Second)
		from.poll = func() {
			if h.ApplyEnd(end(2)); time.Now().After(polled) {
				from.horizon = polled
			}
		}
		ended := false
		ctx, cancel := context.WithCancel(t.Context())
		_ = h.Follow(ctx, 1, "", func(b session.Bulletin) error {
			ended = ended || len(b.Ends) > 0
			if b.Beat && !ended {
				t.Error("the horizon is that of an end which was not told")
			}
			if b.Beat && b.Horizon.Equal(polled) {
				cancel()
			}
			return nil
		})
	})
}
