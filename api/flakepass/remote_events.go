package flakepass

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"time"
)

// maxLine is the longest line of a stream, in bytes.
const maxLine = 64 << 10

// An event is one of a stream of server-sent events (WHATWG HTML, section 9.2).
type event struct {
	id   string // empty if it has none
	kind string
	data []byte
}

// events reads a stream.
type events struct{ lines *bufio.Scanner }

func newEvents(r io.Reader) *events {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 4<<10), maxLine)
	return &events{s}
}

// next is the next event. Comments, and fields that are of no use here, are
// skipped. An event that the end of the stream cuts off is none.
func (e *events) next() (event, error) {
	var ev event
	some := false
	for e.lines.Scan() {
		line := e.lines.Bytes() // without \n or \r\n
		if len(line) == 0 {
			if some {
				return ev, nil
			}
			ev = event{}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(name) {
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				ev.id = string(value)
			}
		case "event":
			ev.kind = string(value)
		case "data":
			if some {
				ev.data = append(ev.data, '\n')
			}
			if len(ev.data)+len(value) > maxLine {
				return event{}, errStream
			}
			ev.data, some = append(ev.data, value...), true
		}
	}
	if err := e.lines.Err(); err != nil {
		return event{}, err
	}
	return event{}, io.EOF
}

// errStream means that what came is no stream of a flakepass server.
var errStream = errors.New("flakepass: the stream of revocations is not understood")

// What the events of a stream say.
type (
	startEvent struct {
		resumed bool
		covers  time.Duration
		bound   time.Duration
		every   time.Duration
	}
	endEvent struct {
		user, floor ID
		why         *Refusal
	}
	floorEvent ID
	ignored    struct{} // an event that is not known here
	beatEvent  struct {
		elapsed time.Duration
		known   bool // there is a horizon
		age     time.Duration
		now     int64 // Unix milliseconds
	}
)

// read is what an event says: one of the above, a *rule, or ignored.
func (ev *event) read() (any, error) {
	switch ev.kind {
	case "reset", "resumed":
		return ev.start()
	case "end":
		var w struct {
			UserID string `json:"user_id"`
			Floor  string `json:"floor"`
			Code   string `json:"code"`
		}
		bad := json.Unmarshal(ev.data, &w)
		user, worse := ParseID(w.UserID)
		floor, worst := ParseID(w.Floor)
		if bad != nil || worse != nil || worst != nil {
			return nil, errStream
		}
		return endEvent{user, floor, refusalOf(w.Code)}, nil
	case "floor":
		var w struct {
			Floor string `json:"floor"`
		}
		bad := json.Unmarshal(ev.data, &w)
		floor, worse := ParseID(w.Floor)
		if bad != nil || worse != nil {
			return nil, errStream
		}
		return floorEvent(floor), nil
	case "policy":
		var w wireRule
		if json.Unmarshal(ev.data, &w) != nil {
			return nil, errStream
		}
		p, ok := w.rule()
		if !ok {
			return nil, errStream
		}
		return p, nil
	case "beat":
		return ev.beat()
	default:
		return ignored{}, nil
	}
}

func (ev *event) start() (any, error) {
	var w struct {
		CoversMS *int64 `json:"covers_ms"`
		BoundMS  int64  `json:"bound_ms"`
		EveryMS  int64  `json:"every_ms"`
	}
	if json.Unmarshal(ev.data, &w) != nil || w.CoversMS == nil || !sane(*w.CoversMS) || w.EveryMS <= 0 || !sane(w.EveryMS) {
		return nil, errStream
	}
	bound, ok := boundOf(w.BoundMS)
	if !ok {
		return nil, errStream
	}
	return startEvent{
		ev.kind == "resumed", time.Duration(*w.CoversMS) * time.Millisecond, bound,
		min(time.Duration(w.EveryMS)*time.Millisecond, time.Minute),
	}, nil
}

func (ev *event) beat() (any, error) {
	var w struct {
		ElapsedMS *int64    `json:"elapsed_ms"`
		Age       *int64    `json:"horizon_age_ms"`
		Now       time.Time `json:"now"`
	}
	if json.Unmarshal(ev.data, &w) != nil || w.ElapsedMS == nil || !sane(*w.ElapsedMS) || w.Age != nil && !sane(*w.Age) || w.Now.IsZero() {
		return nil, errStream
	}
	b := beatEvent{elapsed: time.Duration(*w.ElapsedMS) * time.Millisecond, now: w.Now.UnixMilli()}
	if w.Age != nil {
		b.known, b.age = true, time.Duration(*w.Age)*time.Millisecond
	}
	return b, nil
}
