package session

import (
	"encoding/json"
	"slices"
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

// An OverEntry is an ended session in the record, with the reason.
type OverEntry struct {
	ID     idworker.ID `json:"session_id"`
	Reason Reason      `json:"reason"`
}

// RepeatedReason is the reason, in the record, of a login that an issuer has asked for again,
// and of the end of the one that its first request had opened, if that was there.
const RepeatedReason = "issue_repeated"

// issuedEntry is a login that an issuer has opened, in the record.
type issuedEntry struct {
	UserID idworker.ID `json:"user_id"`
	Method string      `json:"auth_method"`
	At     time.Time   `json:"auth_time"`
	Key    idworker.ID `json:"key_id"`
	deviceEntry
}

// deviceEntry is what a client said of its device, in the record.
type deviceEntry struct {
	Class string `json:"device_class"`
	Name  string `json:"device_name,omitempty"`
	New   bool   `json:"new_device,omitempty"`
}

// entry is the device in the record: nil if the client said nothing and it is not new.
func (d *Device) entry(isNew bool) any {
	if d == nil && !isNew {
		return nil
	}
	return deviceEntry{d.ClassName(), d.Label(), isNew}
}

// endedEntry is a session in the record that was ended without its token.
type endedEntry struct {
	ID       idworker.ID `json:"session_id,omitzero"`
	UserID   idworker.ID `json:"user_id,omitzero"`
	Username string      `json:"username,omitempty"`
	Seen     time.Time   `json:"last_seen_at,omitzero"`
	Class    string      `json:"device_class,omitempty"`
	Name     string      `json:"device_name,omitempty"`
	Act      idworker.ID `json:"act,omitzero"`
	More     int         `json:"more,omitempty"` // sessions that are not listed
}

func endedEntryOf(was *Session) endedEntry {
	return endedEntry{was.ID, was.UserID, was.Username, was.Seen, was.Device.ClassName(), was.Device.Label(), was.Act, 0}
}

// Event returns the event of the new session of o, whose Record is set. The sessions that
// ended for the new one are in the same event, with the reasons by the policy: one alone,
// several as a list.
func (o *Opening) Event(b Begun) (audit.Event, error) {
	r, now := o.Record, &b.Session
	by, reason, after := r.By, r.Reason, now.Device.entry(b.NewDevice)
	if issued := o.Place.Issued; issued != nil {
		after = issuedEntry{now.UserID, issued.Method, issued.At, by.Key, deviceEntry{now.Device.ClassName(), now.Device.Label(), b.NewDevice}}
	} else {
		by.ID, by.Name = now.UserID, now.Username
	}
	before := make([]OverEntry, len(b.Replaced))
	for i, old := range b.Replaced {
		was := OverBefore(old, r.Policy, r.Now)
		before[i] = OverEntry{was.ID, was.Ended}
		if was.ID == b.Repeats {
			before[i].Reason = RepeatedReason
		}
	}
	if b.Repeats != 0 {
		reason = RepeatedReason
	}
	if o.Act != 0 {
		return o.eventOfAct(now, alone(before))
	}
	return audit.WithID(now.ID, by, r.Need, audit.LoginBegan, audit.AboutLogin(now.ID, now.Username), reason, alone(before), after)
}

// alone is the entries of a list as the record has them: one as it is, and none as nil.
func alone[T any](list []T) any {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return list
}

// mostListed entries of two IDs each fit into a value of an event, with a number.
const mostListed = 50

// endedEntries are several sessions of one user, who is the target of the event, and those
// in which the user acts for others. Those others are there by their IDs only: a purge takes a
// name out of the events about its user. If they are
// too long for the record, the names of the devices are left out, then all but the IDs, then
// those above mostListed: an end must not fail for what a phone is called, or for its number.
func endedEntries(user idworker.ID, was []Session) any {
	list := make([]endedEntry, len(was))
	for i := range was {
		list[i] = endedEntryOf(&was[i])
		if was[i].UserID != user {
			list[i].Username = ""
		} else if len(was) > 1 {
			list[i].UserID, list[i].Username = 0, ""
		}
	}
	for _, shorten := range []func(*endedEntry){
		func(e *endedEntry) { e.Name = "" },
		func(e *endedEntry) { *e = endedEntry{ID: e.ID, UserID: e.UserID} },
	} {
		if text, err := json.Marshal(list); err != nil || len(text) <= audit.MaxValue {
			return alone(list)
		}
		for i := range list {
			shorten(&list[i])
		}
	}
	if more := len(list) - mostListed; more > 0 {
		list = append(list[:mostListed], endedEntry{More: more})
	}
	return alone(list)
}

// classEntry says, in the record, that only the sessions on devices of a class were to end.
type classEntry struct {
	Class string `json:"ended_device_class"`
}

// EventOfUser returns the event of the end of several sessions of a user: of all that lived, or of
// those on devices of one class. was has them as they were before the end. The sessions of other
// users in which this user acts come last in was. The Record of e must be set.
func (e *Ending) EventOfUser(was []Session) (audit.Event, error) {
	action := audit.LoginEnded
	if e.Reason == LoggedOut {
		action = audit.LoginLoggedOut
	}
	var after any
	if e.Class != "" {
		after = classEntry{e.Class}
	}
	return audit.WithID(e.Record.ID, e.Record.By, e.Record.Need, action,
		audit.AboutUser(e.UserID, nameOf(e.UserID, was)), e.Record.Reason, endedEntries(e.UserID, was), after)
}

// nameOf is the name of the user, if one of the sessions is of that user.
func nameOf(user idworker.ID, of []Session) string {
	if i := slices.IndexFunc(of, func(s Session) bool { return s.UserID == user }); i >= 0 {
		return of[i].Username
	}
	return ""
}

// Event returns the event of the end of was, which is the session before the end; the
// Record of e is set. If its holder ends a session that the policy had ended before,
// the reason in the record is that of the policy.
func (e *Ending) Event(was Session) (audit.Event, error) {
	if was.Act != 0 {
		return e.eventOfAct(&was)
	}
	r, by, action, target := e.Record, e.Record.By, audit.LoginEnded, audit.AboutLogin(was.ID, was.Username)
	var before, after any
	if (e.Hash == Hash{}) { // no token was shown: the record says what was ended
		before = endedEntryOf(&was)
	}
	if e.Reason == LoggedOut {
		by.ID, by.Name, action = was.UserID, was.Username, audit.LoginLoggedOut
		if over := OverBefore(was, r.Policy, r.Now); over.Before {
			action, after = audit.LoginExpired, OverEntry{over.ID, over.Ended}
		}
	}
	return audit.WithID(r.ID, by, r.Need, action, target, r.Reason, before, after)
}

// OverBefore corrects the result of [Writer].End by the policy. The database keeps no
// deadlines: it also ends a session that had expired or gone idle before.
func OverBefore(ended Session, rule *policy.Policy, now time.Time) Session {
	e := ended.Expiry(rule)
	switch {
	case ended.ID == 0 || ended.Before:
	case e.Expired(layout.Time(ended.ID), now):
		ended.Before, ended.Ended = true, Expired
	case e.Idled(ended.Seen, now):
		ended.Before, ended.Ended = true, Idle
	}
	return ended
}
