package render

import (
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
		out.Old, out.New = e.Old, e.New
	}
	if mine && (out.ByMe || e.Action.Coded()) {
		out.Reason = e.Reason
	}
	if out.ByMe {
		out.Address = e.By.Address
	}
	return out
}
