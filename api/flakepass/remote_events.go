package flakepass

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/flakepass/flakepass/api/wire"
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
		of    place
		floor ID
		why   *Refusal
	}
	renameEvent ID // of the user
	floorEvent  ID
	// ignored is an event that is not known here. It does no harm: the server lets a
	// client repeat only answers whose end the client understands.
	ignored   struct{}
	beatEvent struct {
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
		var w wire.End
		if json.Unmarshal(ev.data, &w) != nil || w.UserID == 0 || w.Floor == 0 || w.Code == "" {
			return nil, errStream
		}
		return endEvent{place{w.UserID, 0}, w.Floor, refusalOf(w.Code)}, nil
	case "slot_end":
		var w wire.SlotEnd
		if json.Unmarshal(ev.data, &w) != nil || w.UserID == 0 || w.Slot == 0 || w.Floor == 0 || w.Code == "" {
			return nil, errStream
		}
		return endEvent{place{w.UserID, w.Slot}, w.Floor, refusalOf(w.Code)}, nil
	case "renamed":
		var w wire.Renamed
		if json.Unmarshal(ev.data, &w) != nil || w.UserID == 0 {
			return nil, errStream
		}
		return renameEvent(w.UserID), nil
	case "floor":
		var w wire.Floor
		if json.Unmarshal(ev.data, &w) != nil || w.Floor == 0 {
			return nil, errStream
		}
		return floorEvent(w.Floor), nil
	case "policy":
		var w wire.Rule
		if json.Unmarshal(ev.data, &w) != nil || !w.Complete() {
			return nil, errStream
		}
		return ruleOf(&w), nil
	case "beat":
		return ev.beat()
	default:
		return ignored{}, nil
	}
}

func (ev *event) start() (any, error) {
	var w wire.Start
	if json.Unmarshal(ev.data, &w) != nil || !w.Complete() {
		return nil, errStream
	}
	return startEvent{ev.kind == "resumed", time.Duration(*w.Covers), boundOf(w.Bound), min(time.Duration(w.Every), time.Minute)}, nil
}

func (ev *event) beat() (any, error) {
	var w wire.Beat
	if json.Unmarshal(ev.data, &w) != nil || !w.Complete() {
		return nil, errStream
	}
	b := beatEvent{elapsed: time.Duration(*w.Elapsed), now: w.Now.UnixMilli()}
	if w.Horizon != nil {
		b.known, b.age = true, time.Duration(*w.Horizon)
	}
	return b, nil
}
