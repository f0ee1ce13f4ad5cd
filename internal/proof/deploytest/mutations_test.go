package deploytest

import (
	"database/sql"
	"fmt"
	"net/http"
	"testing"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// What a route needs of its caller. TestEveryRouteIsHeldToItsRight has one
// of these for each route that changes something.
const (
	byNothing = "nothing" // what it changes proves itself, or it changes nothing
	byLogin   = "login"   // a login that lives, of an enabled account
	byService = "service" // the same, of a service or an admin
	byAdmin   = "admin"   // the same, of an admin
	byProof   = "proof"   // the same, which has shown password and code lately
	byOwn     = "own"     // a login that lives, of any role, which has shown password and code lately
)

// A mutation is one request that changes something.
type mutation struct {
	name          string
	method, route string
	needs         string
	// do prepares what the request is about, calls ready, and sends it.
	do func(f *rightsTest, a *actor, ready func()) e2e.Answer
}

// An actor is a user whose right is about to end.
type actor struct {
	id          idworker.ID
	name, token string
	secret      string // of the second factor; empty without one
}

// A rightsTest is one deployment with an instance, on which actors act.
type rightsTest struct {
	t      *testing.T
	d      *e2e.Deployment
	db     *sql.DB
	c      *e2e.Client
	users  *sqlstore.Users
	hash   account.PHC
	ids    *e2e.OneByOne
	serial int
}

const policyBodyText = `{"idle_timeout_seconds":86400,"absolute_lifetime_seconds":2592000,"touch_interval_seconds":60,"sweep_schedule":"@every 24h","confirm":true`

// mutations are one request of every kind that changes something.
func mutations() []mutation {
	users := func(path string) string { return "/v1/admin/users/" + path }
	return []mutation{
		{name: "register", method: "POST", route: "/v1/register", needs: byNothing},
		{name: "login", method: "POST", route: "/v1/login", needs: byNothing},
		{name: "use a reset", method: "POST", route: "/v1/password-resets", needs: byNothing},
		{name: "logout", method: "POST", route: "/v1/logout", needs: byNothing},
		{name: "introspect", method: "POST", route: "/v1/introspect", needs: byNothing},
		{name: "verify many", method: "POST", route: "/v1/verifications", needs: byNothing},
		// These take service keys only: TestKeyOpensOnlyWhatItsScopeNames and the tests of each.
		{name: "issue", method: "POST", route: "/v1/issue", needs: byNothing},
		{name: "change names by key", method: "PATCH", route: "/v1/users/{id}", needs: byNothing},

		{name: "change the own password", method: "PUT", route: "/v1/me/password", needs: byLogin, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			ready()
			return f.c.Do("PUT", "/v1/me/password", e2e.Object("current_password", e2e.Passphrase, "new_password", e2e.NewPassword()), e2e.Bearer(a.token))
		}},
		{name: "begin a second factor", method: "POST", route: "/v1/me/second-factor", needs: byLogin, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			ready()
			return f.c.Do("POST", "/v1/me/second-factor", e2e.Object("current_password", e2e.Passphrase), e2e.Bearer(a.token))
		}},
		{name: "confirm a second factor", method: "POST", route: "/v1/me/second-factor/confirm", needs: byLogin, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			ready()
			return f.c.Do("POST", "/v1/me/second-factor/confirm", e2e.Object("code", e2e.NextCode(f.t, a.secret, 0)), e2e.Bearer(a.token))
		}},
		{name: "renew recovery codes", method: "POST", route: "/v1/me/second-factor/recovery-codes", needs: byLogin, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			ready()
			return f.c.Do("POST", "/v1/me/second-factor/recovery-codes", e2e.Object("current_password", e2e.Passphrase, "code", e2e.NextCode(f.t, a.secret, 1)), e2e.Bearer(a.token))
		}},
		{name: "remove the own second factor", method: "DELETE", route: "/v1/me/second-factor", needs: byLogin, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			ready()
			return f.c.Do("DELETE", "/v1/me/second-factor", e2e.Object("current_password", e2e.Passphrase, "code", e2e.NextCode(f.t, a.secret, 1)), e2e.Bearer(a.token))
		}},
		{name: "reauthenticate", method: "POST", route: "/v1/me/reauthenticate", needs: byLogin, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			ready()
			return f.c.Do("POST", "/v1/me/reauthenticate", e2e.Object("password", e2e.Passphrase), e2e.Bearer(a.token))
		}},
		{name: "log out everywhere", method: "POST", route: "/v1/logout", needs: byLogin, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			ready()
			return f.c.Do("POST", "/v1/logout", `{"everywhere":true}`, e2e.Bearer(a.token))
		}},
		{name: "end the own login", method: "DELETE", route: "/v1/me/sessions/{id}", needs: byLogin, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			ready()
			return f.c.Do("DELETE", "/v1/me/sessions/"+e2e.IDOf(a.token), "", e2e.Bearer(a.token))
		}},
		{name: "end another own login", method: "DELETE", route: "/v1/me/sessions/{id}", needs: byOwn, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			other := f.c.Login(a.name, e2e.Passphrase)
			ready()
			return f.c.Do("DELETE", "/v1/me/sessions/"+e2e.IDOf(other), "", e2e.Bearer(a.token))
		}},
		{name: "end the other own logins", method: "POST", route: "/v1/me/sessions/logout-others", needs: byOwn, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			f.c.Login(a.name, e2e.Passphrase)
			ready()
			return f.c.Do("POST", "/v1/me/sessions/logout-others", "", e2e.Bearer(a.token))
		}},
		{name: "delete the own account", method: "DELETE", route: "/v1/me", needs: byOwn, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			ready()
			return f.c.Do("DELETE", "/v1/me", "", e2e.Bearer(a.token))
		}},
		{name: "revoke a token", method: "POST", route: "/v1/revoke", needs: byService, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			token := f.login(account.RoleUser).token
			ready()
			return f.c.Post("/v1/revoke", "token="+token, "Authorization", "Bearer "+a.token)
		}},

		{name: "create a user", method: "POST", route: "/v1/admin/users", needs: byAdmin, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			ready()
			return f.c.Do("POST", "/v1/admin/users", e2e.Object("username", f.next(), "password", e2e.NewPassword(), "role", "user"), e2e.Bearer(a.token))
		}},
		{name: "create an admin", method: "POST", route: "/v1/admin/users", needs: byProof, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			ready()
			return f.c.Do("POST", "/v1/admin/users", e2e.Object("username", f.next(), "password", e2e.NewPassword(), "role", "admin"), e2e.Bearer(a.token))
		}},
		{name: "create a service", method: "POST", route: "/v1/admin/users", needs: byProof, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			ready()
			return f.c.Do("POST", "/v1/admin/users", e2e.Object("username", f.next(), "password", e2e.NewPassword(), "role", "service"), e2e.Bearer(a.token))
		}},
		{name: "invite a user", method: "POST", route: "/v1/admin/users", needs: byProof, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			ready()
			return f.c.Do("POST", "/v1/admin/users", e2e.Object("username", f.next(), "role", "user"), e2e.Bearer(a.token))
		}},
		{name: "change a role", method: "PATCH", route: "/v1/admin/users/{id}", needs: byProof, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			id := f.userID(account.RoleUser)
			ready()
			return f.c.Do("PATCH", users(id), `{"role":"admin"}`, e2e.Bearer(a.token))
		}},
		{name: "disable", method: "PATCH", route: "/v1/admin/users/{id}", needs: byAdmin, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			id := f.userID(account.RoleUser)
			ready()
			return f.c.Do("PATCH", users(id), `{"disabled":true}`, e2e.Bearer(a.token))
		}},
		{name: "enable", method: "PATCH", route: "/v1/admin/users/{id}", needs: byProof, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			id, _ := f.user(account.RoleAdmin)
			if _, err := f.db.ExecContext(f.t.Context(), "UPDATE users SET disabled_at = 1 WHERE id = "+id.String()); err != nil {
				f.t.Fatal(err)
			}
			ready()
			return f.c.Do("PATCH", users(id.String()), `{"disabled":false}`, e2e.Bearer(a.token))
		}},
		{name: "delete a user", method: "DELETE", route: "/v1/admin/users/{id}", needs: byProof, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			id, name := f.user(account.RoleUser)
			ready()
			return f.c.Do("DELETE", users(id.String()), e2e.Object("username", name), e2e.Bearer(a.token))
		}},
		{name: "log a user out", method: "POST", route: "/v1/admin/users/{id}/logout", needs: byAdmin, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			id := f.login(account.RoleUser).id.String()
			ready()
			return f.c.Do("POST", users(id+"/logout"), "", e2e.Bearer(a.token))
		}},
		{name: "start a reset", method: "POST", route: "/v1/admin/users/{id}/password-reset", needs: byProof, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			id := f.userID(account.RoleUser)
			ready()
			return f.c.Do("POST", users(id+"/password-reset"), "", e2e.Bearer(a.token))
		}},
		{name: "withdraw a reset", method: "DELETE", route: "/v1/admin/users/{id}/password-reset", needs: byAdmin, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			id, _ := f.user(account.RoleUser)
			f.reset(id)
			ready()
			return f.c.Do("DELETE", users(id.String()+"/password-reset"), "", e2e.Bearer(a.token))
		}},
		{name: "withdraw all resets that a user started", method: "DELETE", route: "/v1/admin/users/{id}/issued-password-resets", needs: byAdmin, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			issuer, _ := f.user(account.RoleAdmin)
			user, _ := f.user(account.RoleUser)
			f.resetBy(issuer, user)
			ready()
			return f.c.Do("DELETE", users(issuer.String()+"/issued-password-resets"), "", e2e.Bearer(a.token))
		}},
		{name: "remove the second factor of a user", method: "DELETE", route: "/v1/admin/users/{id}/second-factor", needs: byProof, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			id, _ := f.user(account.RoleUser)
			e2e.Execute(f.t, f.db, "UPDATE users SET second_factor_secret = x'78', second_factor_at = 1 WHERE id = ?", int64(id))
			ready()
			return f.c.Do("DELETE", users(id.String()+"/second-factor"), "", e2e.Bearer(a.token))
		}},
		{name: "make a service key", method: "POST", route: "/v1/admin/users/{id}/keys", needs: byProof, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			id := f.userID(account.RoleService)
			ready()
			return f.c.Do("POST", users(id+"/keys"), `{"name":"billing","scopes":["verify"]}`, e2e.Bearer(a.token))
		}},
		{name: "act for a user", method: "POST", route: "/v1/admin/users/{id}/impersonate", needs: byProof, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			id := f.userID(account.RoleUser)
			ready()
			return f.c.Do("POST", users(id+"/impersonate"), `{"reason":"ticket 7"}`, e2e.Bearer(a.token))
		}},
		{name: "revoke a service key", method: "DELETE", route: "/v1/admin/keys/{id}", needs: byAdmin, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			owner := f.userID(account.RoleService)
			key, err := f.ids.Next(f.t.Context())
			if err != nil {
				f.t.Fatal(err)
			}
			e2e.Execute(f.t, f.db, "INSERT INTO service_keys (id, user_id, name, hash, scopes, created_by) VALUES (?, ?, 'billing', x'78', 'verify', 0)", int64(key), owner)
			ready()
			return f.c.Do("DELETE", "/v1/admin/keys/"+key.String(), "", e2e.Bearer(a.token))
		}},
		{name: "end a login", method: "DELETE", route: "/v1/admin/sessions/{id}", needs: byAdmin, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			login, _ := f.c.Alive(f.login(account.RoleUser).token).Fields["session"].(map[string]any)
			ready()
			return f.c.Do("DELETE", fmt.Sprint("/v1/admin/sessions/", login["id"]), "", e2e.Bearer(a.token))
		}},
		{name: "end all logins", method: "POST", route: "/v1/admin/logout-all", needs: byProof, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			ready()
			return f.c.Do("POST", "/v1/admin/logout-all", "", e2e.Bearer(a.token))
		}},
		{name: "set the policy", method: "PUT", route: "/v1/admin/policy", needs: byProof, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			ready()
			return f.c.Do("PUT", "/v1/admin/policy", policyBodyText+"}", e2e.Bearer(a.token), e2e.Header("If-Match", f.version()))
		}},
		{name: "set limits", method: "PUT", route: "/v1/admin/policy", needs: byProof, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			ready()
			return f.c.Do("PUT", "/v1/admin/policy", policyBodyText+`,"limits":{"login_place":[{"count":5,"period_seconds":60},{"count":20,"period_seconds":3600},{"count":50,"period_seconds":86400}],"login_account":{"count":100,"period_seconds":2592000},`+
				`"login_address":{"count":60,"period_seconds":60},"register":{"count":30,"period_seconds":3600},"introspect":{"count":1000,"period_seconds":1}}}`, e2e.Bearer(a.token), e2e.Header("If-Match", f.version()))
		}},
		{name: "revert the policy", method: "POST", route: "/v1/admin/policy/revert", needs: byProof, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			ready()
			return f.c.Do("POST", "/v1/admin/policy/revert", `{"version":1}`, e2e.Bearer(a.token), e2e.Header("If-Match", f.version()))
		}},
		{name: "request a sweep", method: "POST", route: "/v1/admin/sweeps", needs: byAdmin, do: func(f *rightsTest, a *actor, ready func()) e2e.Answer {
			ready()
			return f.c.Do("POST", "/v1/admin/sweeps", "", e2e.Bearer(a.token))
		}},
	}
}

func changes(method string) bool { return method != http.MethodGet && method != http.MethodHead }
