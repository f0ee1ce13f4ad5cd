package apitest_test

import (
	"context"
	"time"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/flakepass"
)

// calls are the methods of the client that read an answer, by operation.
func calls() map[string][]called {
	type c = *client.Client
	type x = context.Context
	is := func(all ...called) []called { return all }
	token, how, secret := flakepass.NewToken(sampleID), client.PolicyHow{Version: 1, DryRun: true}, client.NewPassword("x")
	const id = flakepass.ID(7)
	return map[string][]called{
		"POST /v1/register": is(func(ctx x, c c) (any, error) { return got(c.Register(ctx, "x", secret)) }),
		"POST /v1/login":    is(func(ctx x, c c) (any, error) { return got(c.Login(ctx, client.Credentials{Username: "x"})) }),
		"POST /v1/issue":    is(func(ctx x, c c) (any, error) { return got(c.Issue(ctx, client.Issue{UserID: id, Method: "sms"})) }),
		"POST /v1/logout":   is(func(ctx x, c c) (any, error) { return got(c.Logout(ctx)) }, func(ctx x, c c) (any, error) { return got(c.LogoutEverywhere(ctx)) }),
		"GET /readyz":       is(func(ctx x, c c) (any, error) { return nil, c.Ready(ctx) }),

		"GET /v1/me":                  is(func(ctx x, c c) (any, error) { return got(c.Me(ctx)) }),
		"DELETE /v1/me":               is(func(ctx x, c c) (any, error) { return got(c.DeleteMe(ctx)) }),
		"GET /v1/me/export":           is(exported),
		"GET /v1/me/sessions":         is(func(ctx x, c c) (any, error) { return got(c.MySessions(ctx)) }),
		"DELETE /v1/me/sessions/{id}": is(func(ctx x, c c) (any, error) { return got(c.EndMySession(ctx, id)) }),
		"POST /v1/me/sessions/logout-others": is(func(ctx x, c c) (any, error) {
			ended, within, err := c.LogoutOthers(ctx)
			return []any{ended, within}, err
		}),
		"GET /v1/me/second-factor":                 is(func(ctx x, c c) (any, error) { return got(c.SecondFactor(ctx)) }),
		"POST /v1/me/second-factor":                is(func(ctx x, c c) (any, error) { return got(c.EnrolSecondFactor(ctx, secret)) }),
		"POST /v1/me/second-factor/confirm":        is(func(ctx x, c c) (any, error) { return got(c.ConfirmSecondFactor(ctx, "1")) }),
		"POST /v1/me/second-factor/recovery-codes": is(func(ctx x, c c) (any, error) { return got(c.RenewRecoveryCodes(ctx, secret, "1")) }),

		"POST /v1/introspect":       is(func(ctx x, c c) (any, error) { return got(c.Introspect(ctx, token)) }),
		"GET /v1/users":             is(func(ctx x, c c) (any, error) { return got(c.FindUser(ctx, client.UserQuery{Username: "x"})) }),
		"GET /v1/users/{id}":        is(func(ctx x, c c) (any, error) { return got(c.FindUser(ctx, client.UserQuery{ID: id})) }),
		"PATCH /v1/users/{id}":      is(func(ctx x, c c) (any, error) { return got(c.ChangeNamesByKey(ctx, id, client.NameChange{})) }),
		"GET /v1/admin/instances":   is(func(ctx x, c c) (any, error) { return got(c.Instances(ctx)) }),
		"GET /v1/admin/sweeps":      is(func(ctx x, c c) (any, error) { return listed(c.Sweeps(ctx)) }),
		"POST /v1/admin/sweeps":     is(func(ctx x, c c) (any, error) { return got(c.StartSweep(ctx)) }),
		"GET /v1/admin/audit":       is(func(ctx x, c c) (any, error) { return listed(c.Audit(ctx, client.AuditFilter{})) }),
		"GET /v1/admin/stats":       is(func(ctx x, c c) (any, error) { return got(c.Stats(ctx)) }),
		"POST /v1/admin/logout-all": is(func(ctx x, c c) (any, error) { return got(c.LogoutAll(ctx, "")) }),

		"GET /v1/admin/users": is(func(ctx x, c c) (any, error) { return listed(c.Users(ctx, "")) }),
		"POST /v1/admin/users": is(func(ctx x, c c) (any, error) { return got(c.CreateUser(ctx, client.NewUser{Username: "x"})) },
			func(ctx x, c c) (any, error) { return got(c.InviteUser(ctx, client.NewUser{Username: "x"}, time.Hour)) }),
		"GET /v1/admin/users/{id}":                           is(func(ctx x, c c) (any, error) { return got(c.User(ctx, id)) }),
		"PATCH /v1/admin/users/{id}":                         is(func(ctx x, c c) (any, error) { return got(c.ChangeUser(ctx, id, client.UserChange{})) }),
		"DELETE /v1/admin/users/{id}":                        is(func(ctx x, c c) (any, error) { return got(c.DeleteUser(ctx, id, "x", "")) }),
		"POST /v1/admin/users/{id}/logout":                   is(func(ctx x, c c) (any, error) { return got(c.LogoutUser(ctx, id, client.LogoutHow{})) }),
		"DELETE /v1/admin/users/{id}/second-factor":          is(func(ctx x, c c) (any, error) { return got(c.RemoveUsersSecondFactor(ctx, id, "")) }),
		"POST /v1/admin/users/{id}/impersonate":              is(func(ctx x, c c) (any, error) { return got(c.Impersonate(ctx, id, "x")) }),
		"POST /v1/admin/users/{id}/password-reset":           is(func(ctx x, c c) (any, error) { return got(c.StartPasswordReset(ctx, id, client.ResetHow{})) }),
		"DELETE /v1/admin/users/{id}/issued-password-resets": is(func(ctx x, c c) (any, error) { return got(c.WithdrawIssuedPasswordResets(ctx, id, "")) }),
		"GET /v1/admin/password-resets":                      is(func(ctx x, c c) (any, error) { return listed(c.PasswordResets(ctx, 0)) }),
		"POST /v1/admin/users/{id}/keys": is(func(ctx x, c c) (any, error) {
			return got(c.CreateServiceKey(ctx, id, client.NewServiceKey{Name: "x"}))
		}),
		"GET /v1/admin/users/{id}/keys": is(func(ctx x, c c) (any, error) { return listed(c.ServiceKeys(ctx, id)) }),
		"DELETE /v1/admin/keys/{id}":    is(func(ctx x, c c) (any, error) { return got(c.RevokeServiceKey(ctx, id, "")) }),

		"GET /v1/admin/sessions":         is(func(ctx x, c c) (any, error) { return listed(c.Sessions(ctx, "")) }),
		"GET /v1/admin/sessions/{id}":    is(func(ctx x, c c) (any, error) { return got(c.Session(ctx, id)) }),
		"DELETE /v1/admin/sessions/{id}": is(func(ctx x, c c) (any, error) { return got(c.EndSession(ctx, id, "")) }),
		"GET /v1/admin/policy":           is(func(ctx x, c c) (any, error) { return got(c.Policy(ctx)) }),
		"PUT /v1/admin/policy":           is(func(ctx x, c c) (any, error) { return got(c.SetPolicy(ctx, client.PolicyChange{PolicyHow: how})) }),
		"POST /v1/admin/policy/revert":   is(func(ctx x, c c) (any, error) { return got(c.RevertPolicy(ctx, 1, how)) }),
		"GET /v1/admin/policy/history":   is(func(ctx x, c c) (any, error) { return listed(c.PolicyHistory(ctx)) }),
	}
}
