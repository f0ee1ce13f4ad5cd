package layer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/feed"
	"github.com/flakepass/flakepass/internal/store/layer"
)

// A row that was read with a policy which is not known here is answered when the
// policy is: by the one of before it could be believed for longer than the bound.
func TestRowIsAnsweredWithAPolicyAsNewAsItself(t *testing.T) {
	rack := &shelf{version: 2}
	rule := liveOf(t, rack, 1)
	rows := &layer.FreshPolicy{Judged: rack, Policy: rule}
	if s, err := rows.Get(t.Context(), 7, session.Hash{}); err != nil || s.ID != 7 {
		t.Fatalf("got %+v, %v", s, err)
	}
	if v := rule.Current().Version; v != 2 {
		t.Errorf("answered by policy %d, and the row was read with 2", v)
	}
}

func TestRowOfTheKnownPolicyNeedsNoOtherQuestion(t *testing.T) {
	rack := &shelf{version: 1}
	rule := liveOf(t, rack, 1)
	rack.loaded = 0
	rows := &layer.FreshPolicy{Judged: rack, Policy: rule}
	for _, version := range []int64{1, 0} { // 0 is a row that was read late
		rack.version = version
		if _, err := rows.Get(t.Context(), 7, session.Hash{}); err != nil || rack.loaded != 0 {
			t.Errorf("version %d: %v, the policy was read %d times, want none", version, err, rack.loaded)
		}
	}
}

// TestRowOfAServerThatMayBeReplacedIsNoAnswer: neither that a session lives, nor that it
// has ended, nor that there is none.
func TestRowOfAServerThatMayBeReplacedIsNoAnswer(t *testing.T) {
	rack := &shelf{version: 1}
	proven := false
	rows := &layer.FreshPolicy{Rows: rack, Judged: rack, Policy: liveOf(t, rack, 1), Proven: func() bool { return proven }}
	for _, found := range []error{nil, session.ErrNotFound} {
		rack.found = found
		for _, proven = range []bool{false, true} {
			want := found
			if !proven {
				want = layer.ErrUnproven
			}
			if s, err := rows.Get(t.Context(), 7, session.Hash{}); !errors.Is(err, want) || !proven && s.ID != 0 {
				t.Errorf("a row (%v), proven %v: %+v, %v", found, proven, s, err)
			}
			if s, err := rows.Settle(t.Context(), 7, time.Time{}); !errors.Is(err, want) || !proven && s.ID != 0 {
				t.Errorf("settled (%v), proven %v: %+v, %v", found, proven, s, err)
			}
		}
	}
}

// By an old policy a login might live that is over.
func TestRowIsNotAnsweredWithoutItsPolicy(t *testing.T) {
	rack := &shelf{version: 2}
	rule := liveOf(t, rack, 1)
	rack.noPolicy = errors.New("no route")
	rows := &layer.FreshPolicy{Judged: rack, Policy: rule}
	if s, err := rows.Get(t.Context(), 7, session.Hash{}); !errors.Is(err, rack.noPolicy) || s.ID != 0 {
		t.Errorf("got %+v, %v; want no session, and why the policy was not read", s, err)
	}
}

// A server that is behind has a policy that is older than the row of another.
func TestRowIsNotAnsweredByAnOlderPolicy(t *testing.T) {
	rack := &shelf{version: 1}
	rule := liveOf(t, rack, 1)
	rows := &layer.FreshPolicy{Judged: newer{rack}, Policy: rule}
	if s, err := rows.Get(t.Context(), 7, session.Hash{}); err == nil || s.ID != 0 {
		t.Errorf("got %+v, %v; want no session", s, err)
	}
}

// newer reads rows of a server whose policy is newer.
type newer struct{ *shelf }

func (n newer) Read(ctx context.Context, id idworker.ID) (session.Session, session.Basis, error) {
	s, basis, err := n.shelf.Read(ctx, id)
	basis.Version++
	return s, basis, err
}

// After this machine has slept, the first row that is read says what time it is.
func TestRowMovesTheClockForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, err := feed.New(feed.Options{From: clock{}, Learn: func(session.News) {}, Bound: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
		before, _ := f.Clock()
		rack := &shelf{version: 1, now: before.Add(-time.Hour)}
		rows := &layer.FreshPolicy{Judged: rack, Policy: liveOf(t, rack, 1), Clock: f}
		if _, err := rows.Get(t.Context(), 7, session.Hash{}); err != nil {
			t.Fatal(err)
		}
		if now, _ := f.Clock(); !now.Equal(before) {
			t.Errorf("the clock went back by %v", before.Sub(now))
		}
		rack.now = before.Add(time.Hour)
		if _, err := rows.Get(t.Context(), 7, session.Hash{}); err != nil {
			t.Fatal(err)
		}
		if now, _ := f.Clock(); !now.Equal(rack.now) {
			t.Errorf("the clock is %v behind the database's", rack.now.Sub(now))
		}
	})
}

// A clock is a database where nothing ends.
type clock struct{}

func (clock) News(context.Context, time.Time, time.Duration) (session.News, error) {
	return session.News{Now: time.Now()}, nil
}

// liveOf knows that version of the policy, whatever the shelf is read with.
func liveOf(t *testing.T, s *shelf, known int64) *policy.Live {
	t.Helper()
	version := s.version
	s.version = known
	live, err := policy.NewLive(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	s.version = version
	return live
}

// A shelf has every row, and a policy.
type shelf struct {
	session.Rows // nil
	version      int64
	now          time.Time
	noPolicy     error
	found        error // session.ErrNotFound: there is no such row
	loaded       int
}

func (s *shelf) Settle(_ context.Context, id idworker.ID, _ time.Time) (session.Session, error) {
	return session.Session{ID: id}, s.found
}

func (s *shelf) Read(_ context.Context, id idworker.ID) (session.Session, session.Basis, error) {
	return session.Session{ID: id}, session.Basis{Version: s.version, Now: s.now}, s.found
}

func (s *shelf) LoadPolicy(context.Context) (policy.Policy, error) {
	s.loaded++
	p := policy.Default()
	p.Version = s.version
	return p, s.noPolicy
}
