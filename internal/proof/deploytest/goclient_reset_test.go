package deploytest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/internal/proof/e2e"
)

// callResets calls what is about one-time links, and leaves an account more.
func callResets(ctx context.Context, t *testing.T, admin *client.Client) {
	invited := step[client.Invited](t, "invite")(admin.InviteUser(ctx, client.NewUser{Username: "Ursula", Role: "user", Reason: "new"}, 10*time.Minute))
	if invited.Username != "ursula" || invited.ID == 0 || invited.Reset.Token.Reveal() == "" || invited.Reset.URL() != "" {
		t.Errorf("invited: %+v", invited)
	}
	if text := fmt.Sprintf("%v %+v %#v", invited, invited.Reset, &invited); strings.Contains(text, invited.Reset.Token.Reveal()) {
		t.Errorf("a token shows in %s", text)
	}
	if left := time.Until(invited.Reset.ExpiresAt.Time); left < 8*time.Minute || left > 11*time.Minute {
		t.Errorf("it lasts for %v", left)
	}
	_, err := admin.InviteUser(ctx, client.NewUser{Username: "Ursula", Role: "user"}, 0)
	failsAs(t, "the name again", err, client.UsernameTaken)
	_, err = admin.InviteUser(ctx, client.NewUser{Username: "xaver", Role: "user"}, time.Minute)
	failsAs(t, "for a minute", err, client.ValidationFailed)

	id := invited.ID
	again := step[client.PasswordReset](t, "start")(admin.StartPasswordReset(ctx, id, client.ResetHow{Life: time.Hour, Reason: "lost it"}))
	password := client.NewPassword(e2e.NewPassword())
	failsAs(t, "one that was replaced", admin.ResetPassword(ctx, invited.Reset.Token, password), client.ResetTokenInvalid)
	failsAs(t, "a short password", admin.ResetPassword(ctx, again.Token, client.NewPassword("x")), client.ValidationFailed)
	if err := admin.ResetPassword(ctx, again.Token, password); err != nil {
		t.Fatal(err)
	}
	failsAs(t, "one that is used", admin.ResetPassword(ctx, again.Token, password), client.ResetTokenInvalid)
	ursula := admin.As(step[client.Login](t, "login")(admin.Login(ctx, client.Credentials{Username: "ursula", Password: password})).Token)
	_, err = ursula.StartPasswordReset(ctx, id, client.ResetHow{})
	failsAs(t, "a reset by a user", err, client.Forbidden)
	last := step[client.PasswordReset](t, "start")(admin.StartPasswordReset(ctx, id, client.ResetHow{}))
	open := 0
	for r, err := range admin.PasswordResets(ctx, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if r.UserID == id && r.Username == "ursula" && r.Issuer.ID != 0 && r.ExpiresAt.Equal(last.ExpiresAt.Time) && !r.IssuedAt.IsZero() {
			open++
			if n, err := admin.WithdrawIssuedPasswordResets(ctx, r.Issuer.ID, "all of them"); err != nil || n != 1 {
				t.Errorf("withdrawn: %d, %v", n, err)
			}
		}
	}
	if open != 1 {
		t.Errorf("listed %d times", open)
	}
	failsAs(t, "one of all that were withdrawn", admin.ResetPassword(ctx, last.Token, password), client.ResetTokenInvalid)
	_, err = admin.WithdrawIssuedPasswordResets(ctx, 1, "")
	failsAs(t, "by no user", err, client.NotFound)
	last = step[client.PasswordReset](t, "start")(admin.StartPasswordReset(ctx, id, client.ResetHow{}))
	for range 2 {
		if err := admin.WithdrawPasswordReset(ctx, id, "found it"); err != nil {
			t.Fatal(err)
		}
	}
	failsAs(t, "one that is withdrawn", admin.ResetPassword(ctx, last.Token, password), client.ResetTokenInvalid)
	failsAs(t, "of no user", admin.WithdrawPasswordReset(ctx, 1, ""), client.NotFound)
	_, err = admin.StartPasswordReset(ctx, 1, client.ResetHow{})
	failsAs(t, "for no user", err, client.NotFound)
	step[time.Duration](t, "logout")(admin.LogoutUser(ctx, id, client.LogoutHow{}))
}
