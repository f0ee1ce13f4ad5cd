package render

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// MyEvent is an entry of the record for the user with that ID and name, who made it or whom
// it is about. It has no name, reason, value or address of anybody else: a reason may name
// others, and who failed to log in may be somebody else.
func MyEvent(e *audit.Event, me idworker.ID, name string) wire.MyEvent {
	out := wire.MyEvent{ID: wire.ID(e.ID), At: e.At(), Action: string(e.Action), Via: e.By.Via, ByMe: e.By.ID == me}
	mine := e.Target.ID == 0 || e.Target.Kind == "user" && e.Target.ID == me || e.Target.Kind == "login" && e.Target.Name == name
	if mine {
		out.Old, out.New = owned(e.Old), owned(e.New)
	}
	if mine && (out.ByMe || e.Action.Coded()) {
		out.Reason, _, _ = strings.Cut(e.Reason, ": issued by")
	}
	if out.ByMe || mine && e.Action.ByTarget() {
		out.Address = e.By.Address
	}
	return out
}

// own are the members of values in the record that are of the user whom the event is about,
// and have no text of an operator.
var own = []string{
	"session_id", "user_id", "username", "aliases", "last_seen_at", "device_class", "device_name", "new_device", "ended_device_class", "reason",
	"key_id", "scopes", "expires_at", "role", "disabled_at", "count", "first_at", "last_at", "left",
}

// owned is a value with these members only; nil if it cannot be read.
func owned(value json.RawMessage) json.RawMessage {
	var v any
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	leaveOwn(v)
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return text
}

func leaveOwn(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if !slices.Contains(own, name) {
				delete(v, name)
			}
			leaveOwn(inner)
		}
	case []any:
		for _, inner := range v {
			leaveOwn(inner)
		}
	}
}
