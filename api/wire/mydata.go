package wire

import "encoding/json"

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
