package sqlstore

import (
	"slices"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// room asks [session.Room] about the sessions of rows by the policy of now. It fails if the
// session cannot have its ID, or if the policy refuses it.
func room(rows []tokenRow, now ruleRow, o session.Opening, asOf time.Time) ([]session.Session, session.Slot, error) {
	var last idworker.ID
	for i := range rows {
		last = max(last, rows[i].highest())
	}
	switch {
	case o.ID <= last:
		return nil, 0, &session.IDError{Above: last}
	case o.Place.Last != 0 && o.Place.Last != last:
		return nil, 0, session.ErrMoved
	}
	rule := now.Rule.of
	if rule == nil {
		rule = &policy.Policy{} // one session a user: nothing more was asked
	}
	over := overBy(now)
	ends, slot, full := session.Room(held(rows, asOf), rule, o.Device, o.Place.Instead, over)
	switch {
	case !full:
		return ends, slot, nil
	case len(session.Excess(held(rows, asOf), rule, over)) > 0:
		return nil, 0, errBeyond
	}
	choices := slices.DeleteFunc(held(rows, asOf), func(one session.Session) bool {
		_, _, full := session.Room(held(rows, asOf), rule, o.Device, one.ID, over)
		return full
	})
	newestFirst(choices)
	return nil, 0, &session.LimitError{Choices: choices, Last: last}
}

// lastDevices are the devices of the last session in each row that has had one.
func lastDevices(rows []tokenRow) []*session.Device {
	last := make([]*session.Device, 0, len(rows))
	for i := range rows {
		r := &rows[i]
		if id := max(r.TokenID.Int64, r.EndedTokenID.Int64); id != 0 {
			last = append(last, r.session(id, nil, time.Time{}).Device)
		}
	}
	return last
}

// held are the sessions that rows have.
func held(rows []tokenRow, asOf time.Time) []session.Session {
	list := make([]session.Session, 0, len(rows))
	for i := range rows {
		if rows[i].TokenID.Valid {
			list = append(list, rows[i].current(asOf))
		}
	}
	return list
}

// overBy reports whether a floor, or the policy of now, has ended a session.
func overBy(now ruleRow) func(*session.Session) bool {
	return func(s *session.Session) bool {
		if !s.Alive() {
			return true
		}
		why, _ := now.judge(s)
		return why != ""
	}
}

// inSlot is the row of a slot, or nil if there is none yet.
func inSlot(rows []tokenRow, slot session.Slot) *tokenRow {
	for i := range rows {
		if rows[i].Slot == slot {
			return &rows[i]
		}
	}
	return nil
}
