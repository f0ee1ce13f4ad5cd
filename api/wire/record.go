package wire

import "encoding/json"

// An Event is an entry of the record.
type Event struct {
	ID        ID              `json:"id"`
	At        Time            `json:"at"`
	Action    string          `json:"action"`
	Actor     Party           `json:"actor"`
	Via       string          `json:"via"` // api, cli or another way in
	Target    Target          `json:"target"`
	Reason    string          `json:"reason"`
	Old       json.RawMessage `json:"old,omitempty"` // nil where there is none
	New       json.RawMessage `json:"new,omitempty"`
	RequestID string          `json:"request_id,omitempty"` // empty where there is none
	Address   string          `json:"address,omitempty"`    // of the caller; empty where there is none
}

// Complete is documented in the package.
func (e Event) Complete() bool { return e.ID != 0 && !e.At.IsZero() && e.Action != "" }

// A Party is who did something, or what it was done to. Its ID is 0 for what has none.
type Party struct {
	ID   ID     `json:"id,omitzero"`
	Name string `json:"name"`
}

// A Target is to whom or what something was done.
type Target struct {
	Kind string `json:"kind"`
	Party
}

// A Sweep is a pass that clears logins that are over off the users' rows. No answer
// about a token depends on it.
type Sweep struct {
	ID           ID     `json:"id"`
	Instance     string `json:"instance"`
	RequestedBy  string `json:"requested_by,omitempty"` // empty for one that came by its schedule
	StartedAt    Time   `json:"started_at"`
	FinishedAt   Time   `json:"finished_at,omitzero"` // zero while it runs
	Outcome      string `json:"outcome"`              // running; or done, ceiling, slow, failed, stopped, lost or abandoned
	Cleared      int64  `json:"cleared"`              // logins
	FailedRows   int64  `json:"failed_rows"`          // rows that refused to be cleared
	LongestBatch Millis `json:"longest_batch_ms"`
	Detail       string `json:"detail"` // for people
}

// Complete is documented in the package.
func (s Sweep) Complete() bool {
	return s.ID != 0 && s.Outcome != "" && !s.StartedAt.IsZero() && s.Cleared >= 0 && s.FailedRows >= 0 && s.LongestBatch.Sane()
}
