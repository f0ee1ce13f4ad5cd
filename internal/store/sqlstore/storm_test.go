//go:build unix

package sqlstore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Everything at once, for every user, and the rows are sound at the end.
func TestStorm(t *testing.T) {
	const workers, steps = 12, 40
	onEach(t, func(t *testing.T, w *world) {
		var users []idworker.ID
		for i := range 4 {
			users = append(users, w.user(t, "user"+string(rune('a'+i))))
		}
		w.follow(t, policy.Policy{Idle: 5 * time.Millisecond, Absolute: 5 * time.Millisecond, Touch: time.Millisecond})
		stop := w.watch(t)
		var lasts sync.Map // user: the login that somebody saw begin
		expected := []error{nil, session.ErrNotFound, account.ErrStale, account.ErrDisabled}
		atOnce(workers, func(worker int) {
			random := rand.New(rand.NewPCG(1, uint64(worker)))
			for range steps {
				user := users[random.IntN(len(users))]
				last, _ := lasts.Load(user)
				s, _ := last.(session.Session)
				err := step(t.Context(), w, random.IntN(9), user, s, func(s session.Session) { lasts.Store(user, s) })
				if !slices.ContainsFunc(expected, func(e error) bool { return errors.Is(err, e) }) {
					t.Errorf("%v", err)
				}
			}
		})
		stop()
		w.sound(t)
		if n := w.number(t, "SELECT COUNT(*) FROM users WHERE token_floor > 0"); n != int64(len(users)) {
			t.Errorf("%d of %d users ever logged out; the storm was a calm", n, len(users))
		}
	})
}

func step(ctx context.Context, w *world, what int, user idworker.ID, last session.Session, began func(session.Session)) error {
	var err error
	switch what {
	case 0, 1, 2:
		var u account.User
		if u, err = w.users.ByID(ctx, user); err != nil {
			return err
		}
		o := w.opening(user)
		o.PasswordVersion, o.Seen = u.PasswordVersion, time.Now()
		var b session.Begun
		if b, err = w.login(ctx, o); err == nil {
			began(b.Session)
		}
	case 3:
		_, err = w.sessions.End(ctx, logout(last))
	case 4:
		_, err = w.sessions.EndUser(ctx, session.Ending{UserID: user, Reason: session.Revoked}, 0)
	case 5:
		var u account.User
		if u, err = w.users.ByID(ctx, user); err != nil {
			return err
		}
		_, err = w.newPassword(ctx, user, u.PasswordVersion, "$next")
	case 6:
		if _, err = w.users.Disable(ctx, user, start); err == nil {
			err = w.users.Enable(ctx, user)
		}
	case 7:
		_, err = w.clear(ctx, time.Now(), time.Now(), 100) // as far as the policy goes
	case 8:
		err = w.sessions.Touch(ctx, last.ID, time.Now())
	}
	return err
}
