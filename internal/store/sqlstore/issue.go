package sqlstore

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A keptRequest is a request that has opened a session, or has made its user for one.
type keptRequest struct {
	Body      []byte
	TokenID   int64 // 0: no session was opened yet
	UserID    int64
	FactorAt  int64 // 0: no code was accepted
	CreatedAt int64
	Age       int64
}

// request is what is kept of a request by a key, also if that is too old; nil if nothing is. It
// fails with [session.ErrRequestReused].
func (db *DB) request(tx *gorm.DB, by idworker.ID, r *session.Request) (*keptRequest, error) {
	var rows []keptRequest
	err := tx.Raw("SELECT body, token_id, user_id, factor_at, created_at, "+db.d.now+" - created_at AS age FROM issue_requests WHERE key_id = ? AND request = ?", int64(by), r.Name[:]).Scan(&rows).Error
	switch {
	case err != nil || len(rows) == 0:
		return nil, err
	case !rows[0].old() && !bytes.Equal(rows[0].Body, r.Body[:]):
		return nil, session.ErrRequestReused
	}
	return &rows[0], nil
}

// old reports whether the request is not known again any more.
func (k *keptRequest) old() bool { return k.Age >= session.RequestLife.Milliseconds() }

// forget deletes what is kept of a request as it was read, and nothing that another transaction
// has put in its place meanwhile.
func (db *DB) forget(tx *gorm.DB, by idworker.ID, r *session.Request, kept *keptRequest) error {
	return tx.Exec("DELETE FROM issue_requests WHERE key_id = ? AND request = ? AND created_at = ?", int64(by), r.Name[:], kept.CreatedAt).Error
}

// keep keeps that a request has opened a session of a user, or with token 0 that it has made the
// user. If another request has the same name at the same time, the key is a duplicate for one of
// the two.
func (db *DB) keep(tx *gorm.DB, by idworker.ID, r *session.Request, token, user idworker.ID, factor int64) error {
	return tx.Exec("INSERT INTO issue_requests (key_id, request, body, token_id, user_id, factor_at, created_at) VALUES (?, ?, ?, ?, ?, ?, "+db.d.now+")",
		int64(by), r.Name[:], r.Body[:], int64(token), int64(user), factor).Error
}

// CreateBy is Create for a request by a key, which is kept in the same transaction. So of requests
// with one name and other bodies at the same time one makes a user, and the others fail with
// [session.ErrRequestReused]. If the process stops before the login begins, the same request
// finds its user. The request comes first: who waits for it has made nothing yet.
func (u *Users) CreateBy(ctx context.Context, by idworker.ID, r *session.Request, user account.User, events ...audit.Event) error {
	return created("create user", u.DB.write(ctx, func(tx *gorm.DB) error {
		kept, err := u.DB.request(tx, by, r)
		if kept != nil && kept.old() {
			err = u.DB.forget(tx, by, r, kept)
			kept = nil
		}
		if err == nil && kept == nil {
			err = u.DB.keep(tx, by, r, 0, user.ID, 0)
		}
		if err != nil {
			return err
		}
		return u.create(tx, user)
	}, events...))
}

// ByRequest finds the user for whom a request by a key has opened a session, or whom it has made
// for one, and since when the user had the second factor of which a code was accepted for it, if
// one was; 0 if it is not known, or not any more. It fails with [session.ErrRequestReused] if that
// had another body.
func (u *Users) ByRequest(ctx context.Context, by idworker.ID, r *session.Request) (user idworker.ID, factor time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	kept, err := u.DB.request(u.DB.gorm.WithContext(ctx), by, r)
	if err != nil {
		return 0, factor, fmt.Errorf("sqlstore: request of an issuer: %w", err)
	}
	if kept == nil || kept.old() {
		return 0, factor, nil
	}
	if kept.FactorAt != 0 {
		factor = fromMillis(kept.FactorAt)
	}
	return idworker.ID(kept.UserID), factor, nil
}

// opened is the session, of those that the user has, that the request of o has opened before; 0
// if it has opened none that is still known, or has no name. It fails with
// [session.ErrRequestOver] if that session has ended, by the policy of now too: whatever ended it
// comes after the proofs of the request. So it does for a request that was known a moment ago, and
// is not any more. The row of the user is locked, so the same request is not
// answered beside this one.
func (s *Sessions) opened(tx *gorm.DB, o *session.Opening, has []session.Session, now ruleRow) (idworker.ID, error) {
	r := o.Place.Issued.Request
	if r == nil {
		return 0, nil
	}
	kept, err := s.DB.request(tx, o.Record.By.Key, r)
	switch {
	case err != nil:
		return 0, err
	case o.Place.Issued.Again && (kept == nil || kept.old()): // its ten minutes have ended since
		return 0, session.ErrRequestOver
	case kept == nil:
		return 0, nil
	case kept.old(), kept.TokenID == 0: // the ten minutes count from the first session
		return 0, s.DB.forget(tx, o.Record.By.Key, r, kept)
	}
	if now.Rule.of == nil { // there is one session a user, and nothing had to be known of the policy
		if now, err = s.DB.scanRules(tx, s.DB.ruleQuery("")); err != nil {
			return 0, err
		}
	}
	over := overBy(now)
	if !slices.ContainsFunc(has, func(one session.Session) bool { return int64(one.ID) == kept.TokenID && !over(&one) }) {
		return 0, session.ErrRequestOver
	}
	return idworker.ID(kept.TokenID), nil
}

// keepRequest keeps that the request of o has opened its session, and before that the one with
// the ID repeats, unless that is 0.
func (s *Sessions) keepRequest(tx *gorm.DB, o *session.Opening, repeats idworker.ID) error {
	r := o.Place.Issued.Request
	if r == nil {
		return nil
	}
	if repeats != 0 {
		return tx.Exec("UPDATE issue_requests SET token_id = ? WHERE key_id = ? AND request = ?", int64(o.ID), int64(o.Record.By.Key), r.Name[:]).Error
	}
	factor := int64(0)
	if at := o.Place.Issued.Factor; !at.IsZero() {
		factor = at.UnixMilli()
	}
	return s.DB.keep(tx, o.Record.By.Key, r, o.ID, o.UserID, factor)
}

// requestsPage is how many requests of issuers are looked for at a time, to be deleted.
const requestsPage = 1000

// An oldRequest is the key of a request that is not known again any more.
type oldRequest struct {
	KeyID   int64
	Request []byte
}

// ClearRequests deletes what is kept of requests of issuers that are not known again any more. It reads the time once: by
// the clock of the server alone, which may be behind, it would not delete what it has found. Each
// statement names one row by its key, forgetTogether in a transaction: one for many rows may walk, and
// lock, a small table to its end, where others write.
func (s *Sessions) ClearRequests(ctx context.Context) error {
	now, err := s.DB.Clock(ctx)
	before, n := now.Add(-session.RequestLife).UnixMilli(), requestsPage
	for err == nil && n == requestsPage {
		var old []oldRequest
		err = s.DB.query(ctx, &old, "SELECT key_id, request FROM issue_requests WHERE created_at <= ? ORDER BY created_at LIMIT ?", before, requestsPage)
		n = len(old)
		for together := range slices.Chunk(old, forgetTogether) {
			if err == nil {
				err = s.clearRequests(ctx, together, before)
			}
		}
	}
	return failed("clear requests of issuers", err)
}

// clearRequests deletes those of the requests that none of the same name has replaced since. "+ 0" hides the index of times, by
// which a small table could be walked.
func (s *Sessions) clearRequests(ctx context.Context, old []oldRequest, before int64) error {
	return s.DB.transact(ctx, func(tx *gorm.DB) error {
		for _, r := range old {
			if err := tx.Exec("DELETE FROM issue_requests WHERE key_id = ? AND request = ? AND created_at + 0 <= ?", r.KeyID, r.Request, before).Error; err != nil {
				return err
			}
		}
		return nil
	})
}
