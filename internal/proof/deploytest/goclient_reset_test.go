package deploytest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	apiclient "github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/internal/proof/e2e"
)

// callResets calls what is about one-time links, and leaves an account more.
func callResets(ctx context.Context, t *testing.T, admin *apiclient.Client) {
	invited := step[apiclient.Invited](t, "invite")(admin.InviteUser(ctx, apiclient.NewUser{Username: "Ursula", Role: "user", Reason: "new"}, 10*time.Minute))
	if invited.User.Username != "ursula" || invited.User.ID == 0 || invited.Reset.Token.Reveal() == "" || invited.Reset.URL() != "" {
		t.Errorf("invited: %+v", invited)
	}
	if text := fmt.Sprintf("%v %+v %#v", invited, invited.Reset, &invited); strings.Contains(text, invited.Reset.Token.Reveal()) {
		t.Errorf("a token shows in %s", text)
	}
	if left := time.Until(invited.Reset.ExpiresAt); left < 8*time.Minute || left > 11*time.Minute {
		t.Errorf("it lasts for %v", left)
	}
	_, err := admin.InviteUser(ctx, apiclient.NewUser{Username: "Ursula", Role: "user"}, 0)
	failsAs(t, "the name again", err, apiclient.UsernameTaken)
	_, err = admin.InviteUser(ctx, apiclient.NewUser{Username: "xaver", Role: "user"}, time.Minute)
	failsAs(t, "for a minute", err, apiclient.ValidationFailed)

	id := invited.User.ID
	again := step[apiclient.PasswordReset](t, "start")(admin.StartPasswordReset(ctx, id, apiclient.ResetHow{Life: time.Hour, Reason: "lost it"}))
	password := apiclient.NewPassword(e2e.NewPassword())
	failsAs(t, "one that was replaced", admin.ResetPassword(ctx, invited.Reset.Token, password), apiclient.ResetTokenInvalid)
	failsAs(t, "a short password", admin.ResetPassword(ctx, again.Token, apiclient.NewPassword("x")), apiclient.ValidationFailed)
	if err := admin.ResetPassword(ctx, again.Token, password); err != nil {
		t.Fatal(err)
	}
	failsAs(t, "one that is used", admin.ResetPassword(ctx, again.Token, password), apiclient.ResetTokenInvalid)
	ursula := admin.As(step[apiclient.Login](t, "login")(admin.Login(ctx, apiclient.Credentials{Username: "ursula", Password: password})).Token)
	_, err = ursula.StartPasswordReset(ctx, id, apiclient.ResetHow{})
	failsAs(t, "a reset by a user", err, apiclient.Forbidden)
	last := step[apiclient.PasswordReset](t, "start")(admin.StartPasswordReset(ctx, id, apiclient.ResetHow{}))
	open := 0
	for r, err := range admin.PasswordResets(ctx, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if r.UserID == id && r.Username == "ursula" && r.Issuer.ID != 0 && r.ExpiresAt.Equal(last.ExpiresAt) && !r.IssuedAt.IsZero() {
			open++
			if n, err := admin.WithdrawIssuedPasswordResets(ctx, r.Issuer.ID, "all of them"); err != nil || n != 1 {
				t.Errorf("withdrawn: %d, %v", n, err)
			}
		}
	}
	if open != 1 {
		t.Errorf("listed %d times", open)
	}
	failsAs(t, "one of all that were withdrawn", admin.ResetPassword(ctx, last.Token, password), apiclient.ResetTokenInvalid)
	_, err = admin.WithdrawIssuedPasswordResets(ctx, 1, "")
	failsAs(t, "by nobody", err, apiclient.NotFound)
	last = step[apiclient.PasswordReset](t, "start")(admin.StartPasswordReset(ctx, id, apiclient.ResetHow{}))
	for range 2 {
		if err := admin.WithdrawPasswordReset(ctx, id, "found it"); err != nil {
			t.Fatal(err)
		}
	}
	failsAs(t, "one that is withdrawn", admin.ResetPassword(ctx, last.Token, password), apiclient.ResetTokenInvalid)
	failsAs(t, "of nobody", admin.WithdrawPasswordReset(ctx, 1, ""), apiclient.NotFound)
	_, err = admin.StartPasswordReset(ctx, 1, apiclient.ResetHow{})
	failsAs(t, "for nobody", err, apiclient.NotFound)
	step[time.Duration](t, "logout")(admin.LogoutUser(ctx, id, ""))
}
