//go:build unix

package sqlstore_test

import (
	"database/sql"
	"math"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// TestDeviceIsThatOfItsLogin: the row says what the client of this login has said, in lists
// and when it ends, and never what that of another login has said.
func TestDeviceIsThatOfItsLogin(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		begin := func(d *session.Device) session.Begun {
			o := w.opening(user)
			o.Device = d
			b, err := w.login(t.Context(), o)
			must(t, err)
			return b
		}
		is := func(what string, s session.Session, class, name string) {
			t.Helper()
			if s.Device.ClassName() != class || s.Device.Label() != name {
				t.Errorf("%s: %s %q, want %s %q", what, s.Device.ClassName(), s.Device.Label(), class, name)
			}
		}
		longest := strings.Repeat("😀", session.MaxDeviceName)
		phone := begin(session.DeviceOf("phone", longest))
		is("Begin", phone.Session, "phone", longest)
		got, err := w.sessions.Get(t.Context(), phone.Session.ID, session.Hash{})
		must(t, err)
		is("Get", got, "phone", longest)
		lists := sqlstore.Logins{Sessions: w.sessions}
		all, err := lists.Newest(t.Context(), 0, math.MaxInt64, 5)
		must(t, err)
		is("the list", all[0], "phone", longest)
		_, of, err := w.users.WithLogins(t.Context(), user)
		must(t, err)
		is("the user's page", of[0], "phone", longest)

		none := begin(nil)
		is("the login that was replaced", sqlstore.One(none.Replaced), "phone", longest)
		got, err = w.sessions.Get(t.Context(), none.Session.ID, session.Hash{})
		must(t, err)
		is("a login that said nothing", got, session.OtherDevice, "")

		web := begin(session.DeviceOf("web", ""))
		ended, err := w.sessions.End(t.Context(), session.Ending{ID: web.Session.ID, Hash: web.Session.Hash, Reason: session.LoggedOut})
		must(t, err)
		is("End", ended, "web", "")

		begin(session.DeviceOf("tv", "in the kitchen"))
		// What a release does that does not know the columns: another login, and they stay.
		w.exec(t, "UPDATE users SET token_id = token_id + 1 WHERE id = ?", int64(user))
		_, of, err = w.users.WithLogins(t.Context(), user)
		must(t, err)
		is("a login on an earlier release", of[0], session.OtherDevice, "")
		var class sql.NullString
		must(t, w.SQL().QueryRowContext(t.Context(), "SELECT device_class FROM users WHERE id = ?", int64(user)).Scan(&class))
		if class.String != "tv" {
			t.Fatalf("the row has the class %q; the test shows nothing", class.String)
		}
	})
}
