package sqlstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// TestReplacedServerRefusesNoRight: a primary that was replaced while it stood still takes no commit, and
// says nowhere that it was replaced. It does not know the login and the link that the next one has
// acknowledged since. So it neither refuses what acts by them, nor says that nothing was to do.
func TestReplacedServerRefusesNoRight(t *testing.T) {
	onSQLite(t, func(t *testing.T, w *world) {
		ada, root := w.begin(t, w.user(t, "ada")), w.begin(t, w.admin(t, "root"))
		fresh := ada // the login that began on the next server
		fresh.ID = w.ids.next(0)
		w.SetReplaced()
		event := func(by session.Session, need audit.Need, action audit.Action) audit.Event {
			return audit.Event{ID: w.ids.next(0), By: acts(by), Need: need, Action: action, Target: audit.AboutUser(ada.UserID, "ada")}
		}
		for name, act := range map[string]func() error{
			"the right of a login that it lacks": func() error { return w.users.Authorize(t.Context(), acts(fresh), audit.NeedsLogin) },
			"a proof in a login that it lacks": func() error {
				return w.sessions.Prove(t.Context(), 1, event(fresh, audit.NeedsLogin, audit.Reauthenticated))
			},
			"nothing to do": func() error { return w.users.Authorize(t.Context(), acts(ada), audit.NeedsLogin) },
			"no link to withdraw": func() error {
				return w.users.WithdrawReset(t.Context(), ada.UserID, time.Now(), event(root, audit.NeedsAdmin, audit.ResetWithdrawn))
			},
			"a link that it lacks": func() error {
				_, _, err := w.users.ByReset(t.Context(), account.NewResetToken().Hash(), time.Now())
				return err
			},
		} {
			err := act()
			_, refused := errors.AsType[*session.RefusedError](err)
			if err == nil || refused || errors.Is(err, account.ErrReset) {
				t.Errorf("%s: %v; want that the server cannot decide", name, err)
			}
		}
	})
}

// TestServerThatMayBeReplacedRefusesAsOneAlone: while it takes commits.
func TestServerThatMayBeReplacedRefusesAsOneAlone(t *testing.T) {
	onServers(t, func(t *testing.T, w *world) {
		ada, root := w.begin(t, w.user(t, "ada")), w.begin(t, w.admin(t, "root"))
		none := ada
		none.ID = w.ids.next(0)
		w.ReplaceableFlag().Store(true)
		if _, refused := errors.AsType[*session.RefusedError](w.users.Authorize(t.Context(), acts(none), audit.NeedsLogin)); !refused {
			t.Error("a login that is none is not refused")
		}
		if err := w.users.Authorize(t.Context(), acts(ada), audit.NeedsLogin); err != nil {
			t.Errorf("nothing to do: %v", err)
		}
		e := audit.Event{ID: w.ids.next(0), By: acts(root), Need: audit.NeedsAdmin, Action: audit.ResetWithdrawn, Target: audit.AboutUser(ada.UserID, "ada")}
		if err := w.users.WithdrawReset(t.Context(), ada.UserID, time.Now(), e); err != nil {
			t.Errorf("no link to withdraw: %v", err)
		}
		if _, _, err := w.users.ByReset(t.Context(), account.NewResetToken().Hash(), time.Now()); !errors.Is(err, account.ErrReset) {
			t.Errorf("a link that is none: %v", err)
		}
		if !w.Replaceable() {
			t.Error("a new connection has said otherwise")
		}
	})
}
