//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package operator_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// gone are users who are to be deleted, and users who were deleted, by their IDs, the earliest first. Each takes
// some time. One that is stuck cannot be purged.
type gone struct {
	operator.AskedStore
	asked, deleted []account.User
	each           time.Duration
	stuck          map[idworker.ID]bool
}

func (g *gone) Clock(context.Context) (time.Time, error) { return time.Now(), nil }

func first(of []account.User, limit int) []account.User {
	return append([]account.User(nil), of[:min(limit, len(of))]...)
}

func (g *gone) DeletedBefore(_ context.Context, _ time.Time, limit int) ([]account.User, error) {
	return first(g.deleted, limit), nil
}

func (g *gone) AskedBefore(_ context.Context, _ time.Time, limit int) ([]account.User, error) {
	return first(g.asked, limit), nil
}

func (g *gone) without(of *[]account.User, id idworker.ID) {
	time.Sleep(g.each)
	*of = slices.DeleteFunc(*of, func(u account.User) bool { return u.ID == id })
}

func (g *gone) DeleteAsked(_ context.Context, id idworker.ID, _ time.Time, _ audit.Event) ([]session.Session, error) {
	g.without(&g.asked, id)
	return nil, nil
}

func (g *gone) Forget(context.Context, account.User, int) (int, error) { return 0, nil }

func (g *gone) Purge(_ context.Context, id idworker.ID, _ time.Time, _ audit.Event) error {
	if g.stuck[id] {
		time.Sleep(g.each)
		return errors.New("its row is damaged")
	}
	g.without(&g.deleted, id)
	return nil
}

func (g *gone) afterSweep(t *testing.T) {
	d := &operator.Deletions{Store: g, Asked: g, IDs: &counting{}, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	d.AfterSweep(t.Context())
}

func leavers(n int) (all []account.User) {
	for i := range n {
		all = append(all, account.User{ID: idworker.ID(i + 1)})
	}
	return all
}

// TestDeletionsGoOnWhileThereIsTime: with one sweep a day, a deployment that more people leave than one batch has would
// purge later and later.
func TestDeletionsGoOnWhileThereIsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gone{asked: leavers(250), deleted: leavers(350), each: time.Millisecond}
		if g.afterSweep(t); len(g.asked) != 0 || len(g.deleted) != 0 {
			t.Errorf("%d are not deleted and %d not purged, and there was time", len(g.asked), len(g.deleted))
		}
	})
}

// TestUsersWhoCannotBePurgedHoldUpNobody, also if they are more than one batch has.
func TestUsersWhoCannotBePurgedHoldUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gone{deleted: leavers(180), each: time.Millisecond, stuck: map[idworker.ID]bool{}}
		for id := range idworker.ID(130) {
			g.stuck[id+1] = true
		}
		if g.afterSweep(t); len(g.deleted) != 130 {
			t.Errorf("%d are left, want the 130 who cannot be purged", len(g.deleted))
		}
	})
}
