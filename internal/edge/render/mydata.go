package render

import (
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
		foreign := func(of map[string]any, name string) bool {
			return !slices.Contains(own, name) || name == "username" && of["user_id"] != nil && of["user_id"] != me.String()
		}
		out.Old, out.New = audit.Without(e.Old, foreign), audit.Without(e.New, foreign)
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
