package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// settleTries is how often something is tried while the policy is being changed. A
// change takes milliseconds, unless its commit hangs.
const settleTries = 5

// lostOrUnsettled is lost for one series of tries that a change of the policy stops
// as well, but for so many only.
func lostOrUnsettled() func(error) bool {
	tries := 0
	return func(err error) bool {
		tries++
		return lost(err) || errors.Is(err, session.ErrUnsettled) && tries < settleTries
	}
}

// Settle decides about a session for good: see [session.Rows].
//
// The row is locked first and the policy read after, so that no use and no
// refusal of the same row rest on policies in another order than their own. It
// never waits for the policy, so it takes part in no deadlock.
func (s *Sessions) Settle(ctx context.Context, id idworker.ID, used time.Time) (session.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	var got session.Session
	if err := s.withinLimit(ctx, id); err != nil {
		return session.Session{}, fmt.Errorf("sqlstore: settle: %w", s.DB.demoted(err))
	}
	err := s.DB.retryIf(ctx, lostOrUnsettled(), func() error {
		asOf := s.now() // a node of Galera catches up when the transaction begins, and not later
		return s.DB.gorm.WithContext(ctx).Transaction(func(tx *gorm.DB) (err error) {
			got, err = s.settle(tx, id, used, asOf)
			return err
		})
	})
	if err != nil {
		return session.Session{}, fmt.Errorf("sqlstore: settle: %w", s.DB.demoted(err))
	}
	return got, nil
}

func (s *Sessions) settle(tx *gorm.DB, id idworker.ID, used, asOf time.Time) (session.Session, error) {
	found, ended, err := s.DB.findLogin(tx, id)
	switch {
	case err != nil:
		return session.Session{}, err
	case ended:
		return found.ended(asOf), nil
	}
	// By its key, as every other change locks it: by the index of tokens it would
	// lock that first and the row second, which a login does the other way round.
	row, err := one(tx, "SELECT "+columns(found.table())+" FROM "+found.table()+" WHERE id = ?"+s.DB.d.forRead, found.RowID)
	if err != nil {
		return session.Session{}, err
	}
	if row.TokenID != found.TokenID {
		return session.Session{}, errMoved
	}
	now, err := s.DB.rulesNow(tx, "")
	if err != nil {
		return session.Session{}, err
	}
	row.GlobalFloor = now.GlobalFloor
	got := row.current(asOf)
	if !got.Alive() {
		return got, nil
	}
	why, certain := now.judge(&got)
	switch {
	case !certain:
		return session.Session{}, session.ErrUnsettled
	case why != "":
		got.Ended = why
		// A use that is being written on another server must not be committed after this.
		return got, s.DB.lockRow(tx, row.table(), row.RowID)
	}
	if at := now.use(&got, used); at.After(got.Seen) {
		if err := tx.Exec("UPDATE "+row.table()+" SET token_seen_at = ? WHERE "+unmoved, at.UnixMilli(), row.RowID, row.TokenID.Int64).Error; err != nil {
			return session.Session{}, err
		}
		got.Seen = at
	}
	return got, nil
}
