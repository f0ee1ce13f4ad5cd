package sqlstore_test

import (
	"bytes"
	"sync/atomic"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/audit"
)

// A code of before a renewal is used before it or not at all, whatever the
// database, and the renewal is on record with it.
func TestARenewalLeavesNoCodeOfBefore(t *testing.T) {
	fresh := bytes.Repeat([]byte{7}, 320)
	onEach(t, func(t *testing.T, w *world) {
		ctx, s, user := t.Context(), w.factors(), w.user(t, "ada")
		renew := func(version int64) (bool, error) {
			return s.RenewRecovery(ctx, user, version, fresh, w.aboutFactor(user, audit.RecoveryCodesRenewed))
		}
		no(t, "without a factor")(renew(1))
		yes(t, "enrol")(s.Begin(ctx, shell, user, sealedTwo))
		no(t, "before it counts")(renew(1))
		w.confirmed(t, user)
		no(t, "with another version of the password")(renew(1))

		var renewed, used atomic.Int64
		atOnce(20, func(i int) {
			var ok bool
			var err error
			if i == 10 {
				if ok, err = renew(2); ok {
					renewed.Add(1)
				}
			} else if ok, err = s.UseRecovery(ctx, user, twoCodes, oneCode, w.aboutFactor(user, audit.RecoveryCodeUsed)); ok {
				used.Add(1)
			}
			if err != nil {
				t.Error(err)
			}
		})
		if renewed.Load() != 1 || used.Load() > 1 {
			t.Errorf("%d renewals, %d uses", renewed.Load(), used.Load())
		}
		no(t, "a code of before")(s.UseRecovery(ctx, user, twoCodes, oneCode, w.aboutFactor(user, audit.RecoveryCodeUsed)))
		if f, err := s.Factor(ctx, user); err != nil || !bytes.Equal(f.Recovery, fresh) || f.Step != 100 {
			t.Errorf("left: %d bytes, step %d, %v", len(f.Recovery), f.Step, err)
		}
		var events int
		if err := w.Gorm().Raw("SELECT COUNT(*) FROM audit_events WHERE action = ?", string(audit.RecoveryCodesRenewed)).Scan(&events).Error; err != nil || events != 1 {
			t.Errorf("%d renewals are on record, %v", events, err)
		}
		yes(t, "with no code left")(s.UseRecovery(ctx, user, fresh, nil, w.aboutFactor(user, audit.RecoveryCodeUsed)))
		yes(t, "renewed again")(renew(2))
	})
}
