package session

import (
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// RevokedReason is the reason, in the record, of an end that a service asked for. The
// service had received the token.
const RevokedReason = "the token was revoked"

// A Record says who begins or ends a session, for its event. The event describes the
// row before the change, and is written in the transaction that changes the row. So
// there is no change without its event, and no event without its change.
type Record struct {
	By   audit.Actor
	Need audit.Need
	// ID is the ID of the event of an end. It is minted before the row is locked,
	// because minting may wait. The event of a beginning has the ID of its session,
	// which is new and unique, too.
	ID     idworker.ID
	Reason string // that By gave
	// Policy is in force at Now. If users begin or end their own session, it decides
	// whether the session that ends was over before.
	Policy *policy.Policy
	Now    time.Time
}

// overEntry is an ended session in the record, with the reason.
type overEntry struct {
	ID     idworker.ID `json:"session_id"`
	Reason Reason      `json:"reason"`
}

// deviceEntry is what a client said of its device, in the record.
type deviceEntry struct {
	Class string `json:"device_class"`
	Name  string `json:"device_name,omitempty"`
}

// entry is the device in the record: nil if the client said nothing.
func (d *Device) entry() any {
	if d == nil {
		return nil
	}
	return deviceEntry{d.Class, d.Name}
}

// endedEntry is a session in the record that not its holder, but another has ended.
type endedEntry struct {
	ID       idworker.ID `json:"session_id"`
	UserID   idworker.ID `json:"user_id"`
	Username string      `json:"username"`
	Seen     time.Time   `json:"last_seen_at"`
	Class    string      `json:"device_class"`
	Name     string      `json:"device_name,omitempty"`
}

// Event returns the event of the new session of o, whose Record is set. The session that
// ended for the new one is in the same event, with the reason by the policy.
func (o *Opening) Event(b Begun) (audit.Event, error) {
	r, now := o.Record, &b.Session
	by := r.By
	by.ID, by.Name = now.UserID, now.Username
	var before any
	if was := OverBefore(b.Replaced, r.Policy, r.Now); was.ID != 0 {
		before = overEntry{was.ID, was.Ended}
	}
	return audit.WithID(now.ID, by, r.Need, audit.LoginBegan, audit.AboutLogin(now.ID, now.Username), r.Reason, before, now.Device.entry())
}

// Event returns the event of the end of was, which is the session before the end; the
// Record of e is set. If its holder ends a session that the policy had ended before,
// the reason in the record is that of the policy.
func (e *Ending) Event(was Session) (audit.Event, error) {
	r, by, action, target := e.Record, e.Record.By, audit.LoginEnded, audit.AboutLogin(was.ID, was.Username)
	var before, after any
	switch {
	case e.Reason == LoggedOut:
		by.ID, by.Name, action = was.UserID, was.Username, audit.LoginLoggedOut
		if over := OverBefore(was, r.Policy, r.Now); over.Before {
			action, after = audit.LoginExpired, overEntry{over.ID, over.Ended}
		}
	case e.Hash == Hash{}: // no token was shown: the record says what was ended
		before = endedEntry{was.ID, was.UserID, was.Username, was.Seen, was.Device.ClassName(), was.Device.Label()}
		if e.ID == 0 {
			target = audit.AboutUser(was.UserID, was.Username)
		}
	}
	return audit.WithID(r.ID, by, r.Need, action, target, r.Reason, before, after)
}

// OverBefore corrects the result of [Writer].End by the policy. The database keeps no
// deadlines: it also ends a session that had expired or gone idle before.
func OverBefore(ended Session, rule *policy.Policy, now time.Time) Session {
	switch {
	case ended.ID == 0 || ended.Before:
	case rule.Expired(layout.Time(ended.ID), now):
		ended.Before, ended.Ended = true, Expired
	case rule.Idled(ended.Seen, now):
		ended.Before, ended.Ended = true, Idle
	}
	return ended
}
