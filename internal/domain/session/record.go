package session

import (
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// RevokedReason is the reason, in the record, of an end that a service asked for
// which was shown the token.
const RevokedReason = "the token was revoked"

// A Record is who begins or ends a session, for the event of it. The event is made
// of what the row was, and written in the transaction that changes the row: neither
// is there without the other.
type Record struct {
	By   audit.Actor
	Need audit.Need
	// ID is that of the event of an end. It is minted before the row is locked, for
	// that may wait. The event of a beginning has the ID of its session, which is as
	// new and as unique as any.
	ID     idworker.ID
	Reason string // what By gave as one
	// Policy is in force Now. It says whether what ends was over before, for the user who
	// begins or ends a session of their own.
	Policy *policy.Policy
	Now    time.Time
}

// overEntry is a session in the record that is over, and why.
type overEntry struct {
	ID     idworker.ID `json:"session_id"`
	Reason Reason      `json:"reason"`
}

// endedEntry is a session in the record that another than its holder has ended.
type endedEntry struct {
	ID       idworker.ID `json:"session_id"`
	UserID   idworker.ID `json:"user_id"`
	Username string      `json:"username"`
	Seen     time.Time   `json:"last_seen_at"`
}

// Event is the event of what came of o, whose Record is set. A session that ended for
// the new one is in the same event, with what the policy says of it.
func (o *Opening) Event(b Begun) (audit.Event, error) {
	r, now := o.Record, &b.Session
	by := r.By
	by.ID, by.Name = now.UserID, now.Username
	var before any
	if was := OverBefore(b.Replaced, r.Policy, r.Now); was.ID != 0 {
		before = overEntry{was.ID, was.Ended}
	}
	return audit.WithID(now.ID, by, r.Need, audit.LoginBegan, audit.AboutLogin(now.ID, now.Username), r.Reason, before, nil)
}

// Event is the event of the end of was, as it was before; the Record of e is set. A
// session that its holder ends, and that the policy had ended before, is on record
// as that.
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
		before = endedEntry{was.ID, was.UserID, was.Username, was.Seen}
		if e.ID == 0 {
			target = audit.AboutUser(was.UserID, was.Username)
		}
	}
	return audit.WithID(r.ID, by, r.Need, action, target, r.Reason, before, after)
}

// OverBefore is what [Writer].End returned, with what the policy says of it. The
// database keeps no deadlines, and ends for good what had expired or was idle since.
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
