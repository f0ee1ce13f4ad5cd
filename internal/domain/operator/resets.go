package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
)

// A ResetStore keeps started resets, at most one for each user, and writes the
// events of each verb in the transaction of the change.
//
// StartReset puts a reset in the place of the one before, or fails with
// [account.ErrNotFound]. CreateInvited adds a user together with a reset, or
// fails with [account.ErrExists]. WithdrawReset removes the reset that could be
// used at that time. If there is none, it does nothing and records nothing.
type ResetStore interface {
	StartReset(ctx context.Context, r account.Reset, e audit.Event) error
	CreateInvited(ctx context.Context, u account.User, r account.Reset, events ...audit.Event) error
	WithdrawReset(ctx context.Context, id idworker.ID, now time.Time, e audit.Event) error
}

// A StartedReset is what the issuer of a reset is shown, once.
type StartedReset struct {
	Token     account.ResetToken
	ExpiresAt time.Time
}

// resetState is a started reset as the record has it.
type resetState struct {
	ExpiresAt wire.Time `json:"expires_at"`
}

// StartReset gives out a token with which the user sets a password, once, within
// that time; 0 is [account.ResetLife]. No other person learns that password (OWASP
// ASVS 5.0, 6.4.6). Until it is used the password and the login are as they were.
// It replaces an earlier one. It fails with
// [account.ErrNotFound], and an [*invalid.Error] about the time or the reason.
//
// A reset can be started for a disabled account, and used after the account is enabled:
// it does not enable the account. It ends when by loses the right to start it, as
// [account.Reset] says.
func (u *Users) StartReset(ctx context.Context, by audit.Actor, id idworker.ID, life time.Duration, reason string) (StartedReset, error) {
	life, err := resetLife(life)
	if err == nil {
		err = CheckReason(reason)
	}
	if err != nil {
		return StartedReset{}, err
	}
	user, err := u.Known.ByID(ctx, id)
	if err != nil {
		return StartedReset{}, fmt.Errorf("operator: start reset: %w", err)
	}
	started, r, e, err := u.newReset(ctx, by, startReset, &user, life, reason)
	if err != nil {
		return StartedReset{}, err
	}
	if err := u.Resets.StartReset(ctx, r, e); err != nil {
		return StartedReset{}, fmt.Errorf("operator: start reset: %w", err)
	}
	logAct(ctx, u.Sessions.Log, by, nil, "password reset started", "user_id", id, "expires_at", started.ExpiresAt)
	return started, nil
}

// WithdrawReset ends the reset that was started for a user, or does nothing if
// there is none. It fails with [account.ErrNotFound] if there is no such user,
// and an [*invalid.Error] about the reason.
func (u *Users) WithdrawReset(ctx context.Context, by audit.Actor, id idworker.ID, reason string) error {
	if err := CheckReason(reason); err != nil {
		return err
	}
	user, err := u.Known.ByID(ctx, id)
	if err != nil {
		return fmt.Errorf("operator: withdraw reset: %w", err)
	}
	e, err := audit.New(ctx, u.IDs, by, needs[withdrawReset], audit.ResetWithdrawn, userTarget(&user), reason, nil, nil)
	if err != nil {
		return err
	}
	if err := u.Resets.WithdrawReset(ctx, id, u.Now(), e); err != nil {
		return fmt.Errorf("operator: withdraw reset: %w", err)
	}
	logAct(ctx, u.Sessions.Log, by, nil, "password reset withdrawn", "user_id", id)
	return nil
}

// Invite adds a user without a password, and gives out a token with which its
// owner sets the first one, as [Users.StartReset] does: no initial password goes
// through other hands (OWASP ASVS 5.0, 6.4.1). It fails as
// [account.Service.NewInvited] does, and with an [*invalid.Error] about the
// time or the reason.
func (u *Users) Invite(ctx context.Context, by audit.Actor, username string, role account.Role, life time.Duration, reason string) (account.User, StartedReset, error) {
	life, err := resetLife(life)
	if err == nil {
		err = CheckReason(reason)
	}
	if err != nil {
		return account.User{}, StartedReset{}, err
	}
	user, err := u.Making.NewInvited(ctx, username, role)
	if err != nil {
		return account.User{}, StartedReset{}, err
	}
	made, err := created(ctx, u.IDs, by, needs[inviteUser], &user, reason)
	if err != nil {
		return account.User{}, StartedReset{}, err
	}
	started, r, given, err := u.newReset(ctx, by, inviteUser, &user, life, reason)
	if err == nil {
		err = u.Resets.CreateInvited(ctx, user, r, made, given)
	}
	if err != nil {
		return account.User{}, StartedReset{}, fmt.Errorf("operator: invite: %w", err)
	}
	logAct(ctx, u.Sessions.Log, by, nil, "user invited", "user_id", user.ID, "role", user.Role, "expires_at", started.ExpiresAt)
	return user, started, nil
}

// newReset makes a reset of user that by starts, and the event of
// it, whose ID it has.
func (u *Users) newReset(ctx context.Context, by audit.Actor, v verb, user *account.User, life time.Duration, reason string) (StartedReset, account.Reset, audit.Event, error) {
	s := StartedReset{account.NewResetToken(), u.Now().UTC().Add(life).Truncate(time.Millisecond)}
	e, err := audit.New(ctx, u.IDs, by, needs[v], audit.ResetStarted, userTarget(user), reason, nil, resetState{wire.At(s.ExpiresAt)})
	return s, account.Reset{
		ID: e.ID, UserID: user.ID, Hash: s.Token.Hash(), ExpiresAt: s.ExpiresAt,
		Issuer: account.Issuer{ID: e.By.ID, Name: e.By.Name},
	}, e, err
}

// resetLife is the time that was asked for, if a reset may last for that long.
func resetLife(life time.Duration) (time.Duration, error) {
	bad := func(code, message string) (time.Duration, error) {
		return 0, invalid.Of("reset_lifetime_seconds", code, message)
	}
	switch {
	case life == 0:
		return account.ResetLife, nil
	case life < account.MinResetLife:
		return bad(account.CodeTooShort, "must be at least 600, ten minutes")
	case life > account.MaxResetLife:
		return bad(account.CodeTooLong, "must be at most 86400, a day")
	}
	return life, nil
}

// OpenResets are the started resets that can be used, by who started them.
//
// OpenResets returns at most limit of them, newest first: those that issuer started
// (0: any issuer), older than before (0: the newest). WithdrawResets removes those that
// are still there and writes the event of each, with the same index, in one
// transaction, and returns how many it removed.
type OpenResets interface {
	OpenResets(ctx context.Context, issuer, before idworker.ID, limit int, now time.Time) ([]account.OpenReset, error)
	WithdrawResets(ctx context.Context, resets []account.OpenReset, events []audit.Event) (int, error)
}

// atATime is how many resets are withdrawn in one transaction: so many fit into the
// time that one has.
const atATime = 200

// ListResets returns at most limit resets that can be used now, newest first: those
// that issuer started (0: any issuer), older than before (0: the newest). What could
// be used is not in them.
func (u *Users) ListResets(ctx context.Context, issuer, before idworker.ID, limit int) ([]account.OpenReset, error) {
	open, err := u.Open.OpenResets(ctx, issuer, before, limit, u.Now())
	if err != nil {
		return nil, fmt.Errorf("operator: list resets: %w", err)
	}
	return open, nil
}

// WithdrawIssued ends all resets that issuer has started so far and that can be
// used, and returns how many there were. Each ends with its event in one
// transaction; where there are more than 200, with several transactions: after an
// error some may have ended, and it helps to call it again. It fails with
// [account.ErrNotFound] if there is no such user, and an [*invalid.Error]
// about the reason.
func (u *Users) WithdrawIssued(ctx context.Context, by audit.Actor, issuer idworker.ID, reason string) (withdrawn int, err error) {
	if err := CheckReason(reason); err != nil {
		return 0, err
	}
	if _, err := u.Known.ByID(ctx, issuer); err != nil {
		return 0, fmt.Errorf("operator: withdraw resets: %w", err)
	}
	before := idworker.ID(0)
	defer func() {
		if err == nil || withdrawn > 0 {
			logAct(ctx, u.Sessions.Log, by, nil, "password resets withdrawn", "issuer_id", issuer, "withdrawn", withdrawn)
		}
	}()
	for {
		open, err := u.ListResets(ctx, issuer, before, atATime)
		if err == nil && len(open) == 0 && before == 0 {
			err = u.Sessions.unchanged(ctx, by, needs[withdrawReset])
		}
		if err != nil || len(open) == 0 {
			return withdrawn, err
		}
		events := make([]audit.Event, len(open))
		for i, r := range open {
			target := audit.AboutUser(r.UserID, r.Username)
			if events[i], err = audit.New(ctx, u.IDs, by, needs[withdrawReset], audit.ResetWithdrawn, target, reason, r.Issuer, nil); err != nil {
				return withdrawn, err
			}
		}
		n, err := u.Open.WithdrawResets(ctx, open, events)
		if err != nil {
			return withdrawn, fmt.Errorf("operator: withdraw resets: %w", err)
		}
		// Only older ones follow, so that an issuer who goes on making links does not keep
		// this loop running.
		withdrawn, before = withdrawn+n, open[len(open)-1].ID
	}
}
