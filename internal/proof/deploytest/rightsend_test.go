package deploytest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
	"github.com/flakepass/flakepass/internal/proof/apitest"
	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// newRights starts an instance that goes on believing what it has read, for as
// long as the feed brings it nothing.
func newRights(t *testing.T, d *e2e.Deployment) *rightsTest {
	t.Helper()
	d.Vars["FLAKEPASS_SECOND_FACTOR_KEY"] = strings.Repeat("5a", 32)
	e2e.Must(t, d.Vars, "", "migrate", "up")
	db := d.SQL(t)
	// No sweeps but those that are asked for, and up to three logins of a user at a time.
	e2e.Execute(t, db, "UPDATE settings SET sweep_schedule = '@every 24h', max_sessions = 3, slots = 2")
	i := d.Start(t, "FLAKEPASS_REVOCATION_BOUND", "5m", "FLAKEPASS_SELF_DELETION", "on")
	hasher, err := account.NewHasher(account.Here{}, account.DefaultParams(), 1, 8)
	if err != nil {
		t.Fatal(err)
	}
	hash, err := hasher.Hash(t.Context(), account.Asker{}, account.NewPassword(e2e.Passphrase))
	if err != nil {
		t.Fatal(err)
	}
	return &rightsTest{
		t: t, d: d, db: db, c: e2e.NewClient(t, i.Public), users: &sqlstore.Users{DB: d.Open(t)}, hash: hash, ids: &e2e.OneByOne{},
	}
}

// next is a name that no account has.
func (f *rightsTest) next() string { f.serial++; return fmt.Sprintf("person%d", f.serial) }

// user makes one whose password is passphrase.
func (f *rightsTest) user(role account.Role) (idworker.ID, string) {
	f.t.Helper()
	id, _ := f.ids.Next(f.t.Context())
	name := f.next()
	u := account.User{ID: id, Username: name, Role: role, PasswordHash: f.hash, PasswordVersion: 1, CreatedAt: time.Now(), UpdatedAt: time.Now()}
	if err := f.users.Create(f.t.Context(), u); err != nil {
		f.t.Fatal(err)
	}
	return id, name
}

func (f *rightsTest) userID(role account.Role) string {
	id, _ := f.user(role)
	return id.String()
}

// login makes a user who is logged in.
func (f *rightsTest) login(role account.Role) *actor {
	f.t.Helper()
	id, name := f.user(role)
	return &actor{id: id, name: name, token: f.c.Login(name, e2e.Passphrase)}
}

// reset starts a reset of the password of that user.
func (f *rightsTest) reset(id idworker.ID) { f.t.Helper(); f.resetBy(0, id) }

// resetBy starts a reset of a user that can be used, which issuer made.
func (f *rightsTest) resetBy(issuer, id idworker.ID) {
	f.t.Helper()
	event, err := f.ids.Next(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	err = f.users.StartReset(f.t.Context(), account.Reset{
		ID: event, UserID: id, Hash: sha256.Sum256([]byte(id.String())), ExpiresAt: time.Now().Add(time.Hour),
		Issuer: account.Issuer{ID: issuer, Name: "x"},
	}, audit.Event{ID: event, By: audit.Actor{Name: "x", Via: audit.ViaCLI}, Action: audit.ResetStarted})
	if err != nil {
		f.t.Fatal(err)
	}
}

// version is the ETag of the policy in force.
func (f *rightsTest) version() string {
	return fmt.Sprintf("%q", fmt.Sprint(e2e.Count(f.t, f.db, "SELECT version FROM settings WHERE scope = 'global'")))
}

// actor logs in a user who may do m, and prepares what m needs of its actor.
func (f *rightsTest) actor(m mutation) *actor {
	f.t.Helper()
	role := map[string]account.Role{byLogin: account.RoleUser, byOwn: account.RoleUser, byService: account.RoleService}[m.needs]
	if role == "" {
		role = account.RoleAdmin
	}
	a := f.login(role)
	switch m.name {
	case "confirm a second factor":
		begun := f.c.Want(f.c.Do("POST", "/v1/me/second-factor", e2e.Object("current_password", e2e.Passphrase), e2e.Bearer(a.token)), 201, "")
		a.secret = begun.Field("secret")
	case "renew recovery codes", "remove the own second factor":
		a.secret, _ = e2e.EnrolByAPI(f.t, f.c, a.token, e2e.Passphrase)
	}
	return a
}

// made is everything that a mutation may change, except for times of last use and
// what is left by a code that was used.
func (f *rightsTest) made() string {
	f.t.Helper()
	h := sha256.New()
	for _, query := range []string{
		"SELECT id, username, role, password_version, password_hash, COALESCE(disabled_at, 0), COALESCE(deleted_at, 0), COALESCE(deletion_asked_at, 0), COALESCE(token_id, 0), COALESCE(ended_token_id, 0), COALESCE(token_proved_at, 0), " +
			"COALESCE(second_factor_at, 0), second_factor_secret, recovery_codes FROM users ORDER BY id",
		"SELECT id, COALESCE(revoked_at, 0) FROM service_keys ORDER BY id",
		"SELECT user_id, slot, COALESCE(token_id, 0), COALESCE(ended_token_id, 0) FROM user_slots ORDER BY user_id, slot",
		"SELECT user_id, token_hash, expires_at FROM password_resets ORDER BY user_id",
		"SELECT version, global_floor FROM settings",
		"SELECT COUNT(*) FROM policies",
		"SELECT COUNT(*) FROM sweeps WHERE requested_by <> ''",
	} {
		r, err := f.db.QueryContext(f.t.Context(), query) //nolint:rowserrcheck // Scan asks
		if err != nil {
			f.t.Fatal(err)
		}
		e2e.Scan(f.t, r, h)
		_ = r.Close()
	}
	return hex.EncodeToString(h.Sum(nil))
}

// TestARightThatHasEndedMakesNothing: an admin was disabled or demoted, or
// a login was ended, elsewhere. This instance has not read it and goes on
// believing the token, as it may for as long as the bound. It answers a question
// by that, and it makes and changes nothing.
func TestARightThatHasEndedMakesNothing(t *testing.T) {
	t.Parallel()
	for kind, on := range map[string]func(testing.TB) *e2e.Deployment{"SQLite": e2e.OnSQLite, "MySQL": e2e.OnMySQLAlone} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f := newRights(t, on(t))
			// The row alone, without the stamp by which the feed would find it.
			ways := map[string]string{
				"disabled": "UPDATE users SET disabled_at = 1700000000000 WHERE id = ?",
				"demoted":  "UPDATE users SET role = 'user' WHERE id = ?",
				"ended": "UPDATE users SET ended_token_id = token_id, ended_token_hash = token_hash, ended_reason = 'revoked', " +
					"token_id = NULL, token_hash = NULL, token_seen_at = NULL WHERE id = ?",
			}
			for _, m := range mutations() {
				for way, statement := range ways {
					if m.needs == byNothing || way == "demoted" && (m.needs == byLogin || m.needs == byOwn) {
						continue
					}
					a := f.actor(m)
					f.c.Alive(a.token)
					var before string
					got := m.do(f, a, func() {
						e2e.Execute(t, f.db, statement, int64(a.id))
						before = f.made()
					})
					if got.Status != 401 && (way != "demoted" || got.Status != 403 || got.Field("code") != "forbidden") {
						t.Errorf("%s, %s: answered with %d %q", m.name, way, got.Status, got.Field("code"))
					}
					if f.made() != before {
						t.Errorf("%s, %s: something was made or changed", m.name, way)
					}
				}
			}
		})
	}
}

// TestATokenAloneIsNotEnough: by a login in which password and code were shown
// eleven minutes ago no user does what is sensitive, until they are shown once more;
// all else goes on without.
func TestATokenAloneIsNotEnough(t *testing.T) {
	t.Parallel()
	for kind, on := range map[string]func(testing.TB) *e2e.Deployment{"SQLite": e2e.OnSQLite, "MySQL": e2e.OnMySQLAlone} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f := newRights(t, on(t))
			for _, m := range mutations() {
				if m.needs == byNothing {
					continue
				}
				a := f.actor(m)
				var before string
				old := func() {
					e2e.Execute(t, f.db, "UPDATE users SET token_proved_at = token_proved_at - 660000 WHERE id = ?", int64(a.id))
					before = f.made()
				}
				if m.needs == byProof || m.needs == byOwn {
					got := m.do(f, a, old)
					if got.Status != 403 || got.Field("code") != "reauthentication_required" || !strings.Contains(got.Field("detail"), "/v1/me/reauthenticate") {
						t.Errorf("%s: answered with %d %s", m.name, got.Status, got.Body)
					}
					if f.made() != before {
						t.Errorf("%s: something was made or changed", m.name)
					}
					f.c.Want(f.c.Do("POST", "/v1/me/reauthenticate", e2e.Object("password", e2e.NewPassword()), e2e.Bearer(a.token)), 403, "current_password_invalid")
					f.c.Want(f.c.Do("POST", "/v1/me/reauthenticate", e2e.Object("password", e2e.Passphrase), e2e.Bearer(a.token)), 204, "")
					old = func() { before = f.made() }
				}
				if got := m.do(f, a, old); got.Status >= 300 || f.made() == before {
					t.Errorf("%s: answered with %d %q, and it has to be done", m.name, got.Status, got.Field("code"))
				}
			}
		})
	}
}

// TestEveryRouteIsHeldToItsRight: every route that changes something is among the
// mutations, so that the tests about rights have looked at it.
func TestEveryRouteIsHeldToItsRight(t *testing.T) {
	t.Parallel()
	h, err := httpapi.New(httpapi.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	routes := apitest.Served(t, h)
	for _, r := range routes {
		if changes(r[0]) && !slices.ContainsFunc(mutations(), func(m mutation) bool { return m.method == r[0] && m.route == r[1] }) {
			t.Errorf("%s %s changes something, and no test says who may", r[0], r[1])
		}
	}
	for _, m := range mutations() {
		if !slices.Contains(routes, [2]string{m.method, m.route}) {
			t.Errorf("%s: there is no route %s %s", m.name, m.method, m.route)
		}
		if strings.HasPrefix(m.route, "/v1/admin/") && m.needs != byAdmin && m.needs != byProof {
			t.Errorf("%s: is an operator's, and needs %q", m.name, m.needs)
		}
	}
}
