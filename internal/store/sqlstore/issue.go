package sqlstore

import (
	"bytes"
	"context"
	"fmt"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// opened is the session that the request of o has opened before; 0 if it has opened none that
// is still known, or has no name. The row of the user is locked, so the same request is not
// answered beside this one.
func (s *Sessions) opened(tx *gorm.DB, o *session.Opening) (idworker.ID, error) {
	r := o.Place.Issued.Request
	if r == nil {
		return 0, nil
	}
	var rows []struct {
		Body    []byte
		TokenID int64
		Age     int64
	}
	key, name := int64(o.Record.By.Key), r.Name[:]
	err := tx.Raw("SELECT body, token_id, "+s.DB.d.now+" - created_at AS age FROM issue_requests WHERE key_id = ? AND request = ?", key, name).Scan(&rows).Error
	switch {
	case err != nil || len(rows) == 0:
		return 0, err
	case rows[0].Age >= session.RequestLife.Milliseconds():
		return 0, tx.Exec("DELETE FROM issue_requests WHERE key_id = ? AND request = ?", key, name).Error
	case !bytes.Equal(rows[0].Body, r.Body[:]):
		return 0, session.ErrRequestReused
	}
	return idworker.ID(rows[0].TokenID), nil
}

// keepRequest keeps that the request of o has opened its session, and before that the one with
// the ID repeats, unless that is 0. If another request has the same name at the same time, the
// key is a duplicate for one of the two.
func (s *Sessions) keepRequest(tx *gorm.DB, o *session.Opening, repeats idworker.ID) error {
	r := o.Place.Issued.Request
	if r == nil {
		return nil
	}
	key, name := int64(o.Record.By.Key), r.Name[:]
	if repeats != 0 {
		return tx.Exec("UPDATE issue_requests SET token_id = ?, created_at = "+s.DB.d.now+" WHERE key_id = ? AND request = ?", int64(o.ID), key, name).Error
	}
	return tx.Exec("INSERT INTO issue_requests (key_id, request, body, token_id, created_at) VALUES (?, ?, ?, ?, "+s.DB.d.now+")", key, name, r.Body[:], int64(o.ID)).Error
}

// requestsPage is how many requests of issuers are deleted with one transaction.
const requestsPage = 1000

// ClearRequests deletes what is kept of requests of issuers that are not known again any more.
func (s *Sessions) ClearRequests(ctx context.Context) error {
	for n := requestsPage; n == requestsPage; {
		err := s.DB.transact(ctx, func(tx *gorm.DB) error {
			var old []struct {
				KeyID   int64
				Request []byte
			}
			err := tx.Raw("SELECT key_id, request FROM issue_requests WHERE created_at <= "+s.DB.d.now+" - ? ORDER BY created_at LIMIT ?",
				session.RequestLife.Milliseconds(), requestsPage).Scan(&old).Error
			for i := range old {
				if err == nil {
					err = tx.Exec("DELETE FROM issue_requests WHERE key_id = ? AND request = ? AND created_at <= "+s.DB.d.clock+" - ?",
						old[i].KeyID, old[i].Request, session.RequestLife.Milliseconds()).Error
				}
			}
			n = len(old)
			return err
		})
		if err != nil {
			return fmt.Errorf("sqlstore: clear requests of issuers: %w", err)
		}
	}
	return nil
}
