package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Delete deletes a user: ends the logins, and removes the password, the second factor, the
// one-time links and the service keys. No verb finds the user any more. What is left goes
// with the purge: see [Deletions]. The name has to be that of the user, so that a mistaken ID
// deletes nobody. To delete a user again is no error, and tells other instances of the ends
// once more.
//
// It returns the sessions that ended. It fails with [account.ErrNotFound],
// [account.ErrLastAdmin], and an [*invalid.Error] about the name or the reason.
func (u *Users) Delete(ctx context.Context, by audit.Actor, id idworker.ID, username, reason string) ([]session.Session, error) {
	if err := CheckReason(reason); err != nil {
		return nil, err
	}
	name, err := account.NormalizeUsername(username)
	if err != nil {
		name = username // the store compares
	}
	e, err := audit.New(ctx, u.IDs, by, needs[deleteUser], audit.UserDeleted, audit.AboutUser(id, name), reason, nil, nil)
	if err != nil {
		return nil, err
	}
	ended, err := u.Store.Delete(ctx, id, name, e)
	if errors.Is(err, account.ErrNotNamed) {
		return nil, invalid.Of("username", "mismatch", "must be the name of the user with that ID")
	}
	if err != nil {
		return nil, fmt.Errorf("operator: delete user: %w", err)
	}
	ended, err = u.Sessions.publish(ctx, ended)
	logAct(ctx, u.Sessions.Log, by, err, "user deleted", "user_id", id, "event", audit.UserDeleted)
	return ended, err
}

// LeastRetention is how long the row of a deleted user stays at least. Until then it says
// that the logins have ended. What a memory or Redis may still hold of one that lived is gone
// much earlier: a tombstone lives for twice [session.Life], 30 seconds and the difference of
// the clocks, which is minutes. An instance that was away longer than that believes nothing
// of before; neither does one believe Redis within a day after a start or a lower limit. The
// feed reads ends of the last minutes. A day covers all of it, and clocks that are hours apart.
const LeastRetention = 24 * time.Hour

// A DeletionStore has the users who were deleted and those who have asked for it.
//
// Forget takes the name of a user out of at most limit entries of the record; fewer than
// limit means that none is left. Purge deletes the rows of a user who was deleted before that
// time, with its event; it does nothing where there is none.
type DeletionStore interface {
	Clock(ctx context.Context) (time.Time, error)
	DeletedBefore(ctx context.Context, before time.Time, limit int) ([]account.User, error)
	Forget(ctx context.Context, user account.User, limit int) (int, error)
	Purge(ctx context.Context, id idworker.ID, before time.Time, e audit.Event) error
}

// An AskedStore has the users who have asked for their account to be deleted. DeleteAsked
// deletes one who did so before that time and has not logged in since, and returns the
// sessions that ended; it fails with [account.ErrNotFound], [account.ErrLastAdmin], and [audit.ErrRole] for a service.
// KeepAsked cancels the deletion of such a user.
type AskedStore interface {
	AskedBefore(ctx context.Context, before time.Time, limit int) ([]account.User, error)
	DeleteAsked(ctx context.Context, id idworker.ID, before time.Time, e audit.Event) ([]session.Session, error)
	KeepAsked(ctx context.Context, id idworker.ID, before time.Time, e audit.Event) error
}

// Deletions does what is due about accounts: it deletes those whose owners have asked for it
// and did not log in within the grace period, and purges those that were deleted long enough
// ago. Set the fields once, before use.
type Deletions struct {
	Store DeletionStore
	Asked AskedStore
	Ends  session.Publisher // gets each login that ends by that; nil for a command
	// Keep is how long the row of a deleted user stays, at least [LeastRetention]; Grace is
	// how long a person can come back.
	Keep, Grace time.Duration
	IDs         audit.IDs
	Now         func() time.Time
	Log         *slog.Logger
}

// The limits of one call of [Deletions.AfterSweep].
const (
	deletionBatch = 100              // users, at a time
	forgetBatch   = 200              // entries of the record
	deletionTime  = 10 * time.Second // the next sweep goes on
)

// bySweep acts for the people whose time is over.
var bySweep = audit.Actor{Name: "flakepass", Via: audit.ViaSweep}

// AfterSweep does what is due, in small batches with as long a pause after each as it took,
// for some ten seconds. What it leaves then, or when it fails, the next sweep does. Any
// number of instances may call it at the same time.
//
// What is purged is gone: so the time is that of this machine or that of the database,
// whichever is behind.
func (d *Deletions) AfterSweep(ctx context.Context) {
	if err := d.due(ctx); err != nil && ctx.Err() == nil {
		d.Log.WarnContext(ctx, "deleted accounts not purged; the next sweep tries again", "err", err)
	}
}

func (d *Deletions) due(ctx context.Context) error {
	now, err := d.Store.Clock(ctx)
	if err != nil {
		return fmt.Errorf("operator: purge: %w", err)
	}
	if mine := d.Now(); mine.Before(now) {
		now = mine
	}
	deadline := time.Now().Add(deletionTime)
	err = d.each(ctx, deadline, func(limit int) ([]account.User, error) {
		return d.Asked.AskedBefore(ctx, now.Add(-d.Grace), limit)
	}, func(u *account.User) error { return d.deleteAsked(ctx, u, now.Add(-d.Grace)) })
	before := now.Add(-max(d.Keep, LeastRetention))
	return errors.Join(err, d.each(ctx, deadline, func(limit int) ([]account.User, error) {
		return d.Store.DeletedBefore(ctx, before, limit)
	}, func(u *account.User) error { return d.purge(ctx, u, before, deadline) }))
}

// each does something with the users of a list, a batch at a time, until there is none more or the time is over, and
// pauses after each. One that fails does not keep the others from their turn: it stays in the list, which is then
// read beyond it.
func (d *Deletions) each(ctx context.Context, deadline time.Time, list func(limit int) ([]account.User, error), do func(*account.User) error) (failed error) {
	had, stay := map[idworker.ID]bool{}, 0
	for {
		limit := stay + deletionBatch
		users, err := list(limit)
		if err != nil {
			return errors.Join(failed, err)
		}
		last := len(users) < limit
		users = slices.DeleteFunc(users, func(u account.User) bool { return had[u.ID] })
		for i := range users {
			start := time.Now()
			if ctx.Err() != nil || start.After(deadline) {
				return failed
			}
			had[users[i].ID] = true
			if err := do(&users[i]); err != nil {
				stay++
				failed = cmp.Or(failed, err)
			}
			d.pause(ctx, time.Since(start))
		}
		if last || len(users) == 0 {
			return failed
		}
	}
}

func (d *Deletions) pause(ctx context.Context, as time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(as):
	}
}

// deleteAsked deletes a user who has asked for it and did not come back. If it would be the
// last admin, or is a service by now, the account stays.
func (d *Deletions) deleteAsked(ctx context.Context, u *account.User, before time.Time) error {
	e, err := audit.New(ctx, d.IDs, bySweep, audit.NeedsNothing, audit.UserDeleted, userTarget(u), "the grace period is over", nil, nil)
	if err != nil {
		return err
	}
	ended, err := d.Asked.DeleteAsked(ctx, u.ID, before, e)
	switch {
	case errors.Is(err, account.ErrNotFound), errors.Is(err, account.ErrLastAdmin), errors.Is(err, audit.ErrRole):
		reason := "logged in"
		switch {
		case errors.Is(err, account.ErrLastAdmin):
			reason = "the last enabled admin"
		case errors.Is(err, audit.ErrRole):
			reason = "a service by now"
		}
		e.Action, e.Reason = audit.DeletionOff, reason
		return d.Asked.KeepAsked(ctx, u.ID, before, e)
	case err != nil:
		return err
	}
	d.Log.InfoContext(ctx, "user deleted", "user_id", u.ID, "by", "grace period", "event", audit.UserDeleted)
	if d.Ends == nil {
		return nil
	}
	return d.Ends.Publish(ctx, ended...)
}

// purge takes the name of a user out of the record, and then deletes the rows.
func (d *Deletions) purge(ctx context.Context, u *account.User, before, deadline time.Time) error {
	for {
		start := time.Now()
		n, err := d.Store.Forget(ctx, *u, forgetBatch)
		switch {
		case err != nil:
			return err
		case n < forgetBatch:
			e, err := audit.New(ctx, d.IDs, bySweep, audit.NeedsNothing, audit.UserPurged, audit.AboutUser(u.ID, ""), "", nil, nil)
			if err == nil {
				err = d.Store.Purge(ctx, u.ID, before, e)
			}
			if err == nil {
				d.Log.InfoContext(ctx, "user purged", "user_id", u.ID, "event", audit.UserPurged)
			}
			return err
		case ctx.Err() != nil || time.Now().After(deadline):
			return ctx.Err()
		}
		d.pause(ctx, time.Since(start))
	}
}
