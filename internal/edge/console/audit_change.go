package console

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// An eventChange is one thing that an event made different.
type eventChange struct {
	Name     string
	From, To datum
}

// A datum is a value in words, or a moment.
type datum struct {
	Text string
	At   time.Time // zero if it is none
}

// eventChanges are the members that differ between two JSON objects. Lengths of
// time are in words. Of a list, such as of the logins that one act ended, each object is
// beside the one in its place on the other side, if there is one.
func (t *texts) eventChanges(before, after json.RawMessage) (all []eventChange) {
	a, b := objects(before), objects(after)
	for i := range max(len(a), len(b)) {
		var pair [2]map[string]any
		for side, list := range [][]map[string]any{a, b} {
			if i < len(list) {
				pair[side] = list[i]
			}
		}
		all = append(all, t.changesOf(pair[0], pair[1])...)
	}
	return all
}

// objects are the JSON object that a value is, or the objects of the list that it is.
func objects(value json.RawMessage) []map[string]any {
	var list []json.RawMessage
	if json.Unmarshal(value, &list) != nil {
		list = []json.RawMessage{value}
	}
	all := make([]map[string]any, len(list))
	for i, one := range list {
		_ = json.Unmarshal(one, &all[i]) // what is no object has no members
	}
	return all
}

// changesOf are the members that differ between two objects, in the order of their names.
func (t *texts) changesOf(a, b map[string]any) (all []eventChange) {
	names := map[string]bool{}
	for _, m := range []map[string]any{a, b} {
		for name := range m {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if name == "limits" {
			if changes, ok := t.limitChanges(a[name], b[name]); ok {
				all = append(all, changes...)
				continue
			}
		}
		from, to := t.datum(name, a[name]), t.datum(name, b[name])
		if from != to && name != "version" {
			all = append(all, eventChange{t.member(name), from, to})
		}
	}
	return all
}

// member is the name of a member of such an object.
func (t *texts) member(name string) string {
	if s, ok := t.byKey["value."+name]; ok {
		return s
	}
	return strings.ReplaceAll(strings.TrimSuffix(name, "_seconds"), "_", " ")
}

func (t *texts) datum(name string, v any) datum {
	switch v := v.(type) {
	case nil:
		return datum{}
	case string:
		if strings.HasSuffix(name, "_at") {
			if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
				return datum{At: at.UTC()}
			}
		}
		if name == "reason" {
			return datum{Text: t.reason(v)}
		}
		if name == "role" {
			return datum{Text: t.Name("role", v)}
		}
		if name == "device_class" || name == "ended_device_class" {
			return datum{Text: t.Name("device", v)}
		}
		return datum{Text: v}
	case float64:
		if strings.HasSuffix(name, "_seconds") {
			return datum{Text: t.span(time.Duration(v) * time.Second)}
		}
	}
	if list, ok := v.([]any); ok && (name == "targets" || name == "actors") {
		return datum{Text: parties(list)}
	}
	text, _ := json.Marshal(v)
	return datum{Text: string(text)}
}

// reason is a code of the record in words. A limit stands with its name.
func (t *texts) reason(code string) string {
	code, limit, limited := strings.Cut(code, ": ")
	if limited {
		limit = ": " + limit
	}
	return t.Name("reason", code) + limit
}

// parties are those that a sum in the record has, each with its count. It has names only where
// there is no ID, or if an earlier release wrote it.
func parties(list []any) string {
	var all []string
	for _, e := range list {
		p, _ := e.(map[string]any)
		name, _ := p["name"].(string)
		if name == "" {
			name, _ = p["id"].(string)
		}
		count, _ := p["count"].(float64)
		all = append(all, fmt.Sprintf("%s (%.0f)", name, count))
	}
	return strings.Join(all, ", ")
}
