package console

import (
	"encoding/json"

	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// limitChanges are what differs between the limits of two policies in the record;
// ok is false if they cannot be read, and are to be shown as they are.
func (t *texts) limitChanges(before, after any) (all []eventChange, ok bool) {
	var of [2]policy.Policy
	for i, v := range []any{before, after} {
		if v == nil { // an event of before there were any
			of[i].Limits = limit.Default()
			continue
		}
		text, err := json.Marshal(v)
		if err == nil {
			of[i].Limits, err = limit.Decode(text)
		}
		if err != nil {
			return nil, false
		}
	}
	for _, c := range differing(t.limits(&of[0], &of[1])) {
		all = append(all, eventChange{c.Name, datum{Text: c.From}, datum{Text: c.To}})
	}
	return all, true
}
