package sqlstore

import (
	"context"
	"errors"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// RecordOverLimit has an event written with each session that a lower limit ends, in the
// transaction that ends it, whoever finds it: a check, a list or the sweep. ids mints their
// IDs; without one nothing ends, and the question fails. Call it before the database is used.
func (db *DB) RecordOverLimit(ids audit.IDs) { db.overLimit = ids }

// errUnrecorded means that there is no event yet for what is to end. How many end is known only
// with the row of the user locked, and minting may wait: so that is undone first.
var errUnrecorded = errors.New("sqlstore: what ends has no event yet")

// eventsOf makes the events of sessions that are too many, by the sessions.
func (db *DB) eventsOf(ctx context.Context, ends []session.Session) (map[idworker.ID]audit.Event, error) {
	events := make(map[idworker.ID]audit.Event, len(ends))
	for i := range ends {
		s := &ends[i]
		e, err := audit.New(ctx, db.overLimit, audit.Actor{Name: "flakepass", Via: audit.ViaServer}, audit.NeedsNothing, audit.LoginExpired,
			audit.AboutUser(s.UserID, s.Username), "", nil, session.OverEntry{ID: s.ID, Reason: session.OverLimit})
		if err != nil {
			return nil, err
		}
		events[s.ID] = e
	}
	return events, nil
}

// overLimitOf are the events of those sessions, or [errUnrecorded] if one has none. Where none is
// wanted there are none.
func (db *DB) overLimitOf(ends []session.Session, events map[idworker.ID]audit.Event) (of []audit.Event, err error) {
	if db.overLimit == nil {
		return nil, nil
	}
	for i := range ends {
		e, ok := events[ends[i].ID]
		if !ok {
			return nil, errUnrecorded
		}
		of = append(of, e)
	}
	return of, nil
}
