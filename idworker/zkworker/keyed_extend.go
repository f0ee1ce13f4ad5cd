package zkworker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/internal/lend"
)

// Extend implements [idworker.Lender]. It lends from the reserve, without a
// question to ZooKeeper as long as there is enough. It is [ErrReserveUsed] if
// there is not and ZooKeeper does not answer.
func (k *Keyed) Extend(ctx context.Context, g idworker.Grant, until time.Time) (idworker.Grant, error) {
	fence := until.UnixMilli()
	if err := k.extend(ctx, g, fence); err != nil {
		return idworker.Grant{}, fmt.Errorf("zkworker: extend: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.owner != g.Token:
		return idworker.Grant{}, fmt.Errorf("zkworker: extend: %w", idworker.ErrLost)
	case fence > k.kept.until:
		return idworker.Grant{}, fmt.Errorf("zkworker: extend: %w", ErrReserveUsed)
	case fence > k.kept.used:
		to := k.kept
		to.used = fence
		if err := k.write(to); err != nil {
			return idworker.Grant{}, fmt.Errorf("zkworker: extend: %w", err)
		}
	}
	g.Until = time.UnixMilli(k.kept.used)
	return g, nil
}

// extend makes sure that the reserve reaches to the fence.
func (k *Keyed) extend(ctx context.Context, g idworker.Grant, fence int64) error {
	reaches, err := k.reaches(g, fence) //nolint:contextcheck // a renewal aside outlives the call
	if reaches || err != nil {
		return err
	}
	unlock, err := k.lock(ctx)
	if err != nil {
		return reserveUsed(err)
	}
	defer unlock()
	// The call before may have done it.
	if reaches, err = k.reaches(g, fence); reaches || err != nil { //nolint:contextcheck // as above
		return err
	}
	k.mu.Lock()
	more := time.Duration(fence-max(lend.Now(k.Now), k.kept.used)) * time.Millisecond
	k.mu.Unlock()
	if err := k.renew(ctx, more); err != nil {
		if errors.Is(err, idworker.ErrLost) {
			return err
		}
		return reserveUsed(err)
	}
	return nil
}

// reaches reports whether the reserve goes up to the fence, and sees to it that
// it is filled up in good time.
func (k *Keyed) reaches(g idworker.Grant, fence int64) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.closed:
		return false, ErrClosed
	case g.Token == "" || k.owner != g.Token:
		return false, idworker.ErrLost
	case fence > k.kept.until:
		return false, nil
	}
	now, pause := lend.Now(k.Now), k.offline()/64
	session := k.Client.session()
	// In another session ZooKeeper may have forgotten whose the number is.
	other := session != 0 && session != k.session
	if other {
		pause = min(pause, time.Second)
		k.notYet = min(k.notYet, now+pause.Milliseconds())
	}
	if (other || k.kept.until-now < k.offline().Milliseconds()*7/8) && now >= k.notYet {
		k.notYet = now + pause.Milliseconds()
		k.renewAside()
	}
	return true, nil
}

// Release implements [idworker.Lender]. The reserve stays in the file, for the
// next start.
func (k *Keyed) Release(_ context.Context, g idworker.Grant, used time.Time) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if g.Token == "" || k.owner != g.Token {
		return fmt.Errorf("zkworker: release: %w", idworker.ErrLost)
	}
	if back := max(lend.CeilMilli(used), g.From.UnixMilli()); back < k.kept.used {
		to := k.kept
		to.used = back
		if err := k.write(to); err != nil {
			return fmt.Errorf("zkworker: release: %w", err)
		}
	}
	k.owner = ""
	return nil
}

func reserveUsed(err error) error {
	if errors.Is(err, idworker.ErrNoNumber) || errors.Is(err, ErrClosed) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrReserveUsed, err)
}
