package flakepass

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/flakepass/flakepass/api/internal/pause"
	"github.com/flakepass/flakepass/api/wire"
)

const (
	// streamLife is how long a stream is read at most: what is counted by the
	// server's clock gets less exact with time. It is also at most 125 times the
	// bound, so that no more than a sixteenth of that is lost.
	streamLife = 10 * time.Minute
	// hurry and calm are how long there is no stream before the next is tried, at
	// first and at most.
	hurry = 250 * time.Millisecond
	calm  = 5 * time.Second
)

var (
	errSilent = errors.New("flakepass: the stream of revocations says nothing")
	errFlood  = errors.New("flakepass: more ends of logins than can be remembered")
	errLived  = errors.New("flakepass: the stream has lived long enough") // no failure
)

// follow follows one stream after the other until ctx ends.
func (r *Remote) follow(ctx context.Context) {
	s := stream{Remote: r}
	wait := hurry
	for ctx.Err() == nil && !r.closed.Load() {
		err := s.once(ctx)
		if ctx.Err() != nil {
			return
		}
		switch {
		case errors.Is(err, errLived):
			wait = hurry
			continue
		case s.beats > 0: // it worked
			wait = hurry
		default:
			wait = min(2*wait, calm)
		}
		if r.o.Failed != nil && !r.closed.Load() {
			r.o.Failed(err)
		}
		if !s.lost {
			s.lost = true
			r.o.Log.WarnContext(ctx, "no stream of revocations; answers are repeated for a short time only", "for", r.o.MaxStale, "err", err)
		}
		if errors.Is(err, ErrCredential) {
			wait = calm
		}
		if !pause.For(ctx, wait/2+rand.N(wait/2)) { //nolint:gosec // jitter
			return
		}
	}
}

// A stream is the state of those that follow each other.
type stream struct {
	*Remote
	lost bool   // and it was logged
	mark string // of the last event whose meaning is known here; empty if there is none

	from instant // it carries, with those that it resumes, every end that was committed since

	// Of the one that is read now.
	sent  instant // when it was asked for
	begun bool
	every time.Duration
	beats int
	dies  instant
}

// once reads one stream to its end.
func (s *stream) once(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.begun, s.beats, s.every = false, 0, 0
	s.sent, _ = s.clock.now()
	silence := time.AfterFunc(s.o.Timeout, func() { cancel(errSilent) }) // also of who gives the credential
	defer silence.Stop()
	req, err := s.request(ctx, http.MethodGet, "/revocations", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Accept-Encoding", "identity") // who compresses holds events back
	if s.mark != "" {
		req.Header.Set("Last-Event-ID", s.mark)
	}
	resp, err := s.calls.Do(req)
	if err != nil {
		return fmt.Errorf("flakepass: follow revocations: %w", errors.Join(err, context.Cause(ctx)))
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return statusError(resp)
	}
	for in := newEvents(resp.Body); ; {
		ev, err := in.next()
		if err != nil {
			return fmt.Errorf("flakepass: follow revocations: %w", errors.Join(err, context.Cause(ctx)))
		}
		if err := s.take(&ev); err != nil {
			return err
		}
		silence.Reset(3*s.every + s.o.Timeout)
	}
}

// take does what an event says.
func (s *stream) take(ev *event) error {
	said, err := ev.read()
	if err != nil {
		return err
	}
	now, mono := s.clock.now()
	if start, ok := said.(*wire.Start); ok != !s.begun {
		return errStream // the first event is a start, and no other is
	} else if ok {
		return s.start(start, ev, now)
	}
	kept := true
	switch said := said.(type) {
	case *wire.End:
		kept = s.known.add(place{said.UserID, 0}, said.Floor, refusalOf(said.Code), now)
	case *wire.SlotEnd:
		kept = s.known.add(place{said.UserID, said.Slot}, said.Floor, refusalOf(said.Code), now)
	case *wire.Renamed:
		kept = s.known.rename(said.UserID, now)
	case *wire.Floor:
		s.known.raise(said.Floor)
	case *wire.Rule:
		s.learn(ruleOf(said))
	case *wire.Beat:
		s.beat(said, now, mono)
	}
	if !kept {
		return s.forget()
	}
	if ev.id != "" {
		s.mark = ev.id
	}
	if now > s.dies {
		return errLived
	}
	return nil
}

// start notes since when the stream carries every end.
func (s *stream) start(start *wire.Start, ev *event, now instant) error {
	if ev.kind == "resumed" {
		if s.mark == "" {
			return errStream
		}
		// It goes on exactly where the one before broke off: from stays.
	} else {
		// The server has counted Covers back from a moment that is not later than now. So from may
		// be later than what the server meant, and then the stream promises less.
		s.from = now - instant(slower(time.Duration(*start.Covers)))
	}
	bound := boundOf(start.Bound)
	s.begun, s.every, s.mark = true, min(time.Duration(start.Every), time.Minute), ev.id
	s.known.bound(bound)
	life := min(streamLife, 125*bound)
	s.dies = s.sent + instant(life-rand.N(life/10+1)) //nolint:gosec // so that not all come back at once
	return nil
}

// beat moves the horizon up.
func (s *stream) beat(b *wire.Beat, now instant, mono steady) {
	if s.beats++; s.lost {
		s.lost = false
		s.o.Log.Info("stream of revocations followed again")
	}
	shown := min(s.sent+instant(slower(time.Duration(*b.Elapsed))), now) // not before this the beat was sent
	s.known.clock.Store(&serverClock{b.Now.UnixMilli(), shown, mono})
	if b.Horizon == nil {
		return
	}
	age := time.Duration(*b.Horizon)
	next := cover{s.from, shown - instant(age+age/1000)}
	if old := s.known.cover.Load(); old != nil {
		if s.from <= old.horizon { // no gap between what was received then and now
			next.from = min(next.from, old.from)
		}
		if next.from <= old.from {
			next.horizon = max(next.horizon, old.horizon)
		}
	}
	s.known.cover.Store(&next)
}

// forget drops all that is known, because not all ends could be kept.
func (s *stream) forget() error {
	s.mark = ""
	s.known.cover.Store(nil)
	s.cache.clear()
	s.known.clear()
	return errFlood
}
