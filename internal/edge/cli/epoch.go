package cli

import (
	"fmt"
	"strconv"
	"time"
)

// An epoch is where the time of a layout begins.
type epoch struct{ time.Time }

// UnmarshalText reads an instant as RFC 3339 has it, or a number of
// milliseconds since 1970.
func (e *epoch) UnmarshalText(text []byte) error {
	if ms, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		e.Time = time.UnixMilli(ms).UTC()
		return nil
	}
	t, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		return fmt.Errorf("%q is no epoch; write an instant such as 2020-01-01T00:00:00Z, or milliseconds since 1970 such as 1577836800000", text)
	}
	e.Time = t.UTC()
	return nil
}
