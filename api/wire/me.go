package wire

import (
	"encoding/json"
	"strconv"
)

// Me is whose token a caller has.
type Me struct {
	Username string  `json:"username"`
	Role     string  `json:"role"` // user, service or admin
	Session  Session `json:"session"`
}

// Complete is documented in the package.
func (m Me) Complete() bool { return m.Username != "" && m.Role != "" && m.Session.Complete() }

// An Act says who acts by a session in place of its user (RFC 8693 section 4.1): an admin, for
// support.
type Act struct {
	Sub ID `json:"sub"`
}

// ActOf is the act of that admin; nil for 0.
func ActOf(admin ID) *Act {
	if admin == 0 {
		return nil
	}
	return &Act{admin}
}

// Admin is who acts; 0 is nobody.
func (a *Act) Admin() ID {
	if a == nil {
		return 0
	}
	return a.Sub
}

// A MySession is a login of the caller that lives.
type MySession struct {
	Session
	Current bool `json:"current"` // the one that asks
}

// Registered is the account of somebody who has registered.
type Registered struct {
	Username string `json:"username"` // as the server keeps it
}

// Complete is documented in the package.
func (r Registered) Complete() bool { return r.Username != "" }

// A FactorState describes the second factor of the caller.
type FactorState struct {
	Enrolled *bool `json:"enrolled"`            // a login needs a code
	Left     *int  `json:"recovery_codes_left"` // those that were not used
}

// Complete is documented in the package.
func (f FactorState) Complete() bool { return f.Enrolled != nil && f.Left != nil }

// Pending says that what was done is not effective everywhere yet.
type Pending struct {
	Within Millis `json:"effective_within_ms"` // by when every instance acts by it
}

// Complete is documented in the package.
func (p Pending) Complete() bool { return p.Within > 0 && p.Within.Sane() }

// A LoggedOutOthers is what the end of the caller's other logins did.
type LoggedOutOthers struct {
	Ended  *int   `json:"ended"`                        // how many lived until then
	Within Millis `json:"effective_within_ms,omitzero"` // zero: at once, as after a logout
}

// Complete is documented in the package.
func (l LoggedOutOthers) Complete() bool { return l.Ended != nil && *l.Ended >= 0 && l.Within.Sane() }

// AppendJSON appends the bytes of [json.Marshal]. Apps ask for this document more often
// than for any other; without reflection it takes one allocation.
func (m *Me) AppendJSON(b []byte) []byte {
	b = appendString(append(b, `{"username":`...), m.Username)
	b = appendString(append(b, `,"role":`...), m.Role)
	b = strconv.AppendInt(append(b, `,"session":{"id":"`...), int64(m.Session.ID), 10)
	b = appendDevice(append(b, `","device":{`...), m.Session.Device)
	b = appendTime(append(b, `},"issued_at":"`...), m.Session.IssuedAt)
	b = appendTime(append(b, `","last_seen_at":"`...), m.Session.LastSeenAt)
	b = appendTime(append(b, `","expires_at":"`...), m.Session.ExpiresAt)
	b = appendTime(append(b, `","idle_expires_at":"`...), m.Session.IdleExpiresAt)
	if act := m.Session.Act.Admin(); act != 0 {
		b = strconv.AppendInt(append(b, `","act":{"sub":"`...), int64(act), 10)
		return append(b, `"}}}`...)
	}
	return append(b, `"}}`...)
}

// appendDevice appends the members of d.
func appendDevice(b []byte, d Device) []byte {
	if d.Class != "" {
		b = appendString(append(b, `"class":`...), d.Class)
	}
	if d.Name == "" {
		return b
	}
	if d.Class != "" {
		b = append(b, ',')
	}
	return appendString(append(b, `"name":`...), d.Name)
}

func appendTime(b []byte, t Time) []byte {
	b, _ = t.AppendText(b)
	return b
}

// appendString appends s as [json.Marshal] writes it.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			text, _ := json.Marshal(s) // a string never fails
			return append(b, text...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// MyData is what is kept of the caller.
type MyData struct {
	ExportedAt Time        `json:"exported_at"`
	Account    User        `json:"account"`
	FactorAt   Time        `json:"second_factor_since,omitzero"` // zero without a second factor
	Sessions   []MySession `json:"sessions"`
	// Events are what the record has of the caller, the newest first; EventsLeftOut says that
	// there are older ones.
	Events        []MyEvent `json:"events"`
	EventsLeftOut bool      `json:"events_left_out"`
}

// Complete is documented in the package.
func (d MyData) Complete() bool { return !d.ExportedAt.IsZero() && d.Account.Complete() }

// A MyEvent is an entry of the record that the caller made, or that is about the caller's
// account. It names nobody else.
type MyEvent struct {
	ID     ID     `json:"id"`
	At     Time   `json:"at"`
	Action string `json:"action"`
	Via    string `json:"via"`
	ByMe   bool   `json:"by_me"`
	// What the caller did to another has none of these.
	Reason  string          `json:"reason,omitempty"`
	Old     json.RawMessage `json:"old,omitempty"`
	New     json.RawMessage `json:"new,omitempty"`
	Address string          `json:"address,omitempty"`
}

// A DeletionAsked says when the account of the caller will be deleted.
type DeletionAsked struct {
	Due    Time   `json:"deletion_due_at"`
	Within Millis `json:"effective_within_ms,omitzero"` // of the end of the logins; zero: at once
}

// Complete is documented in the package.
func (d DeletionAsked) Complete() bool { return !d.Due.IsZero() && d.Within.Sane() }
