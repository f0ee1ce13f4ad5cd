package flakepass

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

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

// read is what an event says: a document of package wire in which all is there, or nil
// for an event that is not known here. That does no harm: the server lets a client repeat
// only answers whose end the client understands.
func (ev *event) read() (any, error) {
	switch ev.kind {
	case "reset", "resumed":
		return said(ev, (*wire.Start).Complete)
	case "end":
		return said(ev, func(w *wire.End) bool { return w.UserID != 0 && w.Floor != 0 && w.Code != "" })
	case "slot_end":
		return said(ev, func(w *wire.SlotEnd) bool { return w.UserID != 0 && w.Slot != 0 && w.Floor != 0 && w.Code != "" })
	case "renamed":
		return said(ev, func(w *wire.Renamed) bool { return w.UserID != 0 })
	case "floor":
		return said(ev, func(w *wire.Floor) bool { return w.Floor != 0 })
	case "policy":
		return said(ev, (*wire.Rule).Complete)
	case "beat":
		return said(ev, (*wire.Beat).Complete)
	default:
		return nil, nil //nolint:nilnil // nothing that is known here
	}
}

func said[T any](ev *event, whole func(*T) bool) (any, error) {
	w := new(T)
	if json.Unmarshal(ev.data, w) != nil || !whole(w) {
		return nil, errStream
	}
	return w, nil
}
