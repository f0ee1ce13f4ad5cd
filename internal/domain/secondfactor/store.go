// Package secondfactor is what a person proves beside the password: a code of an
// authenticator app (TOTP, RFC 6238), or, where the app is lost, one of ten
// recovery codes.
//
// [Service.Begin] makes a secret, which counts once [Service.Confirm] was shown a
// code of it. [Service.Check] takes a code, and takes each once: the last time
// step is kept, and each write compares it. The secret is kept encrypted
// under [Keys], recovery codes as hashes.
//
// The package knows no password and no login; package login joins them.
package secondfactor

import (
	"context"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// A Factor is what is kept of one user's second factor.
type Factor struct {
	Sealed   []byte    // the secret, encrypted; nil if none
	At       time.Time // when it was confirmed; zero while it is not
	Step     int64     // the last time step whose code was used
	Recovery []byte    // hashes of the recovery codes that are left
}

// A Store keeps second factors with their users. Each method that writes is a
// compare-and-set, so that of two at the same time one finds the row changed.
type Store interface {
	// Factor is what is kept, or [account.ErrNotFound] where there is no such user.
	Factor(ctx context.Context, user idworker.ID) (Factor, error)
	// Begin keeps a secret that is not confirmed, in the place of any other that is
	// not. by needs a login. It returns false, and changes nothing, if one is confirmed.
	Begin(ctx context.Context, by audit.Actor, user idworker.ID, sealed []byte) (bool, error)
	// Confirm makes the kept secret count, if it is still sealed and not confirmed,
	// else it returns false. It raises the version of the password: a login that
	// had its password checked before does not begin without a code.
	Confirm(ctx context.Context, user idworker.ID, sealed []byte, f Factor, e audit.Event) (bool, error)
	// Remove forgets the factor and raises the version of the password, if that is
	// still version and there is a factor; else it returns false.
	Remove(ctx context.Context, user idworker.ID, version int64, e audit.Event) (bool, error)
}

// A CodeStore keeps which codes were used, in the same rows, and compares as a
// [Store] does.
type CodeStore interface {
	// UseStep notes that the code of step was used. It returns false if that or a
	// later one was, or if the secret is another.
	UseStep(ctx context.Context, user idworker.ID, sealed []byte, step int64) (bool, error)
	// UseRecovery leaves the codes left in the place of those in had. It returns
	// false if had is not what is kept.
	UseRecovery(ctx context.Context, user idworker.ID, had, left []byte, e audit.Event) (bool, error)
	// RenewRecovery leaves next in the place of all recovery codes, if the version of
	// the password is still version and there is a factor; else it returns false.
	RenewRecovery(ctx context.Context, user idworker.ID, version int64, next []byte, e audit.Event) (bool, error)
}
