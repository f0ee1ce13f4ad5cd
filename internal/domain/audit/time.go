package audit

import (
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// A Time is a time in JSON as the API has it: RFC 3339 in UTC, always with three
// digits of milliseconds. encoding/json drops zeros at the end of a [time.Time].
type Time struct{ time.Time }

// String is the time as JSON has it, without the quotes.
func (t Time) String() string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// MarshalJSON never fails.
func (t Time) MarshalJSON() ([]byte, error) { return []byte(`"` + t.String() + `"`), nil }

// At is when the event was made.
func (e *Event) At() Time { return Time{idworker.Default().Time(e.ID)} }
