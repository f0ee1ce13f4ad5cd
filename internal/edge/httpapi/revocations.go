package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/problem"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/domain/session"
)

const (
	// writePatience is how long a follower may take to accept an event.
	writePatience = 5 * time.Second
	// maxMark is the length of the longest mark that is looked at.
	maxMark = 64
)

// errOver means that the follower may no longer follow.
var errOver = errors.New("the follower's own credential is over")

// revocations streams what this instance learns about logins, as server-sent
// events, for as long as the caller's own credential is good.
func (s *server) revocations(c *gin.Context) error {
	it, _ := c.Value(shownKey).(shown)
	mark := c.GetHeader("Last-Event-ID")
	if len(mark) > maxMark {
		mark = ""
	}
	stream := &eventStream{
		w: c.Writer, limit: http.NewResponseController(c.Writer), began: time.Now(), clock: s.Recognition.Clock, bound: s.Bound,
		still: func(ctx context.Context) error { return s.stillService(ctx, it) },
	}
	ctx := c.Request.Context()
	who, _ := flakepass.FromContext(ctx)
	if c.GetHeader(wire.SlotsHeader) != "1" {
		stream.deaf = func() bool { return s.InForce.Current().Further }
		if stream.deaf() {
			s.Log.WarnContext(ctx, "a service has a Remote of an earlier version, which knows no further sessions of a user: it gets no ends, and asks about each token each time; update the service",
				"username", who.Username)
		}
	}
	// The server's limit on a request is meant for those that end.
	_ = stream.limit.SetReadDeadline(time.Time{})
	err := s.News.Follow(ctx, session.UserOf(who), mark, func(b session.Bulletin) error { return stream.send(ctx, b) })
	switch {
	case stream.open: // it is over, and the follower sees that
		s.Log.DebugContext(ctx, "stream of revocations ended", "why", err)
		return nil
	case errors.Is(err, session.ErrFollowers):
		return errFollowers
	case errors.Is(err, session.ErrStopping): // no fault, and another instance can
		problem.Write(c.Writer, problem.Unavailable(time.Second))
		return nil
	default:
		return err
	}
}

// An eventStream writes bulletins as server-sent events (WHATWG HTML, section
// 9.2).
type eventStream struct {
	w     http.ResponseWriter
	limit *http.ResponseController
	began time.Time // no earlier than the request was sent
	bound time.Duration
	clock func() time.Time // of the database
	still func(context.Context) error
	open  bool // the header is written
	// deaf, if set, reports whether the follower would take an end in one slot for that of
	// all sessions of the user. It gets none then, and no horizon, so that it repeats no
	// answer: it asks about each token, as without a stream.
	deaf func() bool
	buf  []byte
}

func (e *eventStream) send(ctx context.Context, b session.Bulletin) error {
	e.buf = e.buf[:0]
	if b.Start != nil {
		e.start(b.Start)
	}
	if e.deaf != nil && e.deaf() {
		b.Renamed, b.Ends, b.Horizon = nil, nil, time.Time{}
	}
	for i, user := range b.Renamed {
		last := ""
		if len(b.Ends) == 0 && i == len(b.Renamed)-1 {
			last = b.Last
		}
		e.event(last, "renamed", wire.Renamed{UserID: wire.ID(user)})
	}
	for i := range b.Ends {
		last := ""
		if i == len(b.Ends)-1 { // the mark comes with the last, or a part would count as all
			last = b.Last
		}
		e.end(last, &b.Ends[i])
	}
	if b.Global != 0 {
		e.event("", "floor", wire.Floor{Floor: wire.ID(b.Global)})
	}
	if b.Policy != nil {
		e.event("", "policy", ruleOf(b.Policy, e.deaf == nil))
	}
	if b.Beat {
		// A follower uses its own credential, and loses the stream when that ends.
		if err := e.still(ctx); err != nil {
			return err
		}
		e.beat(b.Horizon)
	}
	if err := e.limit.SetWriteDeadline(time.Now().Add(writePatience)); err != nil {
		return err
	}
	if _, err := e.w.Write(e.buf); err != nil {
		return err
	}
	return e.limit.Flush()
}

func (e *eventStream) start(s *session.Start) {
	h := e.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	e.w.WriteHeader(http.StatusOK)
	e.open = true
	kind := "reset"
	if s.Resumed {
		kind = "resumed"
	}
	covers := wire.Millis(s.Covers)
	e.event(s.Mark, kind, wire.Start{Covers: &covers, Bound: wire.Millis(e.bound), Every: wire.Millis(s.Every)})
}

// end writes the end of a session. One in another slot than 0 is an event of another kind.
func (e *eventStream) end(mark string, end *session.End) {
	user, floor, code := wire.ID(end.UserID), wire.ID(end.Floor), session.RefusalOf(end.Reason).Code()
	if end.Slot == 0 {
		e.event(mark, "end", wire.End{UserID: user, Floor: floor, Code: code})
	} else {
		e.event(mark, "slot_end", wire.SlotEnd{UserID: user, Slot: wire.Slot(end.Slot), Floor: floor, Code: code})
	}
}

// beat says how long the stream has lasted, rounded down, and how old the
// horizon is, rounded up: so no event is taken for newer than it is.
func (e *eventStream) beat(horizon time.Time) {
	var age *wire.Millis
	now := time.Now()
	if !horizon.IsZero() {
		ms := ceilMS(max(session.Age(now, horizon), 0))
		age = &ms
	}
	elapsed := wire.Millis(now.Sub(e.began))
	e.event("", "beat", wire.Beat{Elapsed: &elapsed, Horizon: age, Now: wire.At(e.clock())})
}

func (e *eventStream) event(id, kind string, data any) {
	text, err := json.Marshal(data)
	if err != nil { // strings and numbers always marshal
		panic(err)
	}
	if id != "" {
		e.buf = append(append(append(e.buf, "id: "...), id...), '\n')
	}
	e.buf = append(append(append(e.buf, "event: "...), kind...), "\ndata: "...)
	e.buf = append(append(e.buf, text...), "\n\n"...)
}
