package sqlstore

import (
	"context"
	"slices"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// SecondFactors keeps second factors in the rows of their users. Each statement
// compares as it writes.
type SecondFactors struct{ DB *DB }

var (
	_ secondfactor.Store     = (*SecondFactors)(nil)
	_ secondfactor.CodeStore = (*SecondFactors)(nil)
)

// Factor is what is kept of a user, or [account.ErrNotFound]. It fails if the server takes no writes, as
// [DB.find] does: it may not have heard of the factor, or of the recovery codes, whose code was sent.
func (s *SecondFactors) Factor(ctx context.Context, user idworker.ID) (secondfactor.Factor, error) {
	r, err := ask[struct {
		ID                 int64
		SecondFactorSecret []byte
		SecondFactorAt     *int64
		SecondFactorStep   int64
		RecoveryCodes      []byte
		ReadOnly           bool
	}](ctx, s.DB, account.ErrNotFound, "SELECT u.id, u.second_factor_secret, u.second_factor_at, u.second_factor_step, u.recovery_codes, "+
		s.DB.d.readOnly+" AS read_only FROM (SELECT 1 AS one) o LEFT JOIN users u ON u.id = ?", int64(user))
	switch {
	case err != nil:
	case r.ReadOnly:
		err = s.DB.demoted(ErrReadOnly)
	case r.ID == 0:
		err = account.ErrNotFound
	}
	if err != nil {
		return secondfactor.Factor{}, failed("second factor", err)
	}
	return secondfactor.Factor{Sealed: r.SecondFactorSecret, At: timeOrZero(r.SecondFactorAt), Step: r.SecondFactorStep, Recovery: r.RecoveryCodes}, nil
}

// Begin keeps a secret that does not count yet, for by, who needs a login. It
// returns false if one counts.
func (s *SecondFactors) Begin(ctx context.Context, by audit.Actor, user idworker.ID, sealed []byte) (bool, error) {
	return s.set(ctx, &by, nil, "second_factor_secret = ?", []any{sealed}, "id = ? AND second_factor_at IS NULL", int64(user))
}

// Confirm makes the secret count and raises the version of the password, so that
// no login begins whose password was checked before. What was proven in another login
// than that of e counts no more. It returns false if the
// secret is another by now, or counts already.
func (s *SecondFactors) Confirm(ctx context.Context, user idworker.ID, sealed []byte, f secondfactor.Factor, e audit.Event) (bool, error) {
	return s.replace(ctx, user, e, "second_factor_at = ?, second_factor_step = ?, recovery_codes = ?, password_version = password_version + 1, "+s.DB.d.changed(),
		[]any{f.At.UnixMilli(), f.Step, f.Recovery},
		"id = ? AND second_factor_secret = ? AND second_factor_at IS NULL", int64(user), sealed)
}

// UseStep notes the use of a code. It returns false if that code, or a later one,
// was used before.
func (s *SecondFactors) UseStep(ctx context.Context, user idworker.ID, sealed []byte, step int64) (bool, error) {
	return s.set(ctx, nil, nil, "second_factor_step = ?", []any{step},
		"id = ? AND second_factor_secret = ? AND second_factor_at IS NOT NULL AND second_factor_step < ?", int64(user), sealed, step)
}

// UseRecovery replaces the recovery codes. It returns false if they are not had.
func (s *SecondFactors) UseRecovery(ctx context.Context, user idworker.ID, had, left []byte, e audit.Event) (bool, error) {
	return s.set(ctx, nil, &e, "recovery_codes = ?", []any{left},
		"id = ? AND recovery_codes = ? AND second_factor_at IS NOT NULL", int64(user), had)
}

// RenewRecovery replaces the recovery codes of a user whose password has that
// version, whichever they are: a use of one of them at the same time finds it gone,
// or was before. It returns false if the version is another, or if there is no
// factor.
func (s *SecondFactors) RenewRecovery(ctx context.Context, user idworker.ID, version int64, next []byte, e audit.Event) (bool, error) {
	return s.set(ctx, nil, &e, "recovery_codes = ?", []any{next},
		"id = ? AND password_version = ? AND second_factor_at IS NOT NULL", int64(user), version)
}

// noPending makes a row one without a secret that does not count yet: it was asked for with
// the password of before.
const noPending = "second_factor_secret = CASE WHEN second_factor_at IS NULL THEN NULL ELSE second_factor_secret END"

// noFactor makes a row one without a second factor.
const noFactor = "second_factor_secret = NULL, second_factor_at = NULL, second_factor_step = 0, recovery_codes = NULL, " +
	"password_version = password_version + 1"

// Remove forgets the factor of a user whose password has that version, and raises
// that: a change of password that was allowed beside the factor is stale then, and so is
// what was proven in another login than that of e. It
// returns false if the version is another, or if there is no factor.
func (s *SecondFactors) Remove(ctx context.Context, user idworker.ID, version int64, e audit.Event) (bool, error) {
	return s.replace(ctx, user, e, noFactor+", "+s.DB.d.changed(), nil,
		"id = ? AND password_version = ? AND second_factor_at IS NOT NULL", int64(user), version)
}

// RemoveAndEnd is Remove by another actor than the user. It ends the logins in the
// same transaction, and returns the sessions that ended. It fails with [account.ErrStale] if the version is another.
func (s *SecondFactors) RemoveAndEnd(ctx context.Context, user idworker.ID, version int64, e audit.Event) ([]session.Session, error) {
	ended, err := s.DB.change(ctx, user, func(row tokenRow) (accountChange, error) {
		if row.PasswordVersion != version {
			return accountChange{}, account.ErrStale
		}
		return accountChange{set: noFactor, reason: session.Revoked, events: []audit.Event{e}}, nil
	})
	return ended, failed("remove second factor", err)
}

// Any reports whether any user has a second factor. It may read all users.
func (s *SecondFactors) Any(ctx context.Context) (bool, error) {
	var ids []int64
	err := s.DB.gorm.WithContext(ctx).Raw("SELECT id FROM users WHERE second_factor_at IS NOT NULL LIMIT 1").Scan(&ids).Error
	return len(ids) > 0, failed("look for second factors", err)
}

// set writes columns of a row that is as where says, with an event or without, and
// reports whether there was one. Without an event, by needs a login; nil is for
// what proves itself.
func (s *SecondFactors) set(ctx context.Context, by *audit.Actor, e *audit.Event, columns string, values []any, where string, args ...any) (bool, error) {
	var events []audit.Event
	if e != nil {
		events = append(events, *e)
	}
	return s.write(ctx, func(tx *gorm.DB) error {
		if by != nil {
			if _, err := s.DB.authorize(tx, *by, audit.NeedsLogin); err != nil {
				return err
			}
		}
		return found(tx.Exec("UPDATE users SET "+columns+" WHERE "+where, slices.Concat(values, args)...), errAlready)
	}, events...)
}

// replace is set for what changes the factor itself. Proofs in other logins of the user than
// that of e count no more: the new factor was not shown in them.
func (s *SecondFactors) replace(ctx context.Context, user idworker.ID, e audit.Event, columns string, values []any, where string, args ...any) (bool, error) {
	own := int64(e.By.Session)
	return s.write(ctx, func(tx *gorm.DB) error {
		columns, values := columns+", token_proved_id = CASE WHEN token_id = ? THEN token_proved_id END", slices.Concat(values, []any{own}, args)
		if err := found(tx.Exec("UPDATE users SET "+columns+" WHERE "+where, values...), errAlready); err != nil {
			return err
		}
		return tx.Exec("UPDATE user_slots SET token_proved_id = NULL WHERE user_id = ? AND token_id <> ?", int64(user), own).Error
	}, e)
}

// write reports false for a change that returns errAlready.
func (s *SecondFactors) write(ctx context.Context, change func(tx *gorm.DB) error, events ...audit.Event) (done bool, err error) {
	err = s.DB.write(ctx, func(tx *gorm.DB) error {
		err := change(tx)
		done = err == nil
		return err
	}, events...)
	return done, failed("write second factor", err)
}
