package deploytest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/proof/e2e"
)

func callSecondFactors(ctx context.Context, t *testing.T, admin *client.Client) {
	password, short := client.NewPassword(e2e.NewPassword()), client.NewPassword("xk7 Vrtl")
	made := step[wire.User](t, "create")(admin.CreateUser(ctx, client.NewUser{Username: "fay", Password: password, Role: "user"}))
	who := client.Credentials{Username: "fay", Password: password}
	login := func() *client.Client {
		t.Helper()
		return admin.As(step[client.Login](t, "login")(admin.Login(ctx, who)).Token)
	}
	fay := login()
	if step[client.FactorState](t, "second factor")(fay.SecondFactor(ctx)) != (client.FactorState{}) {
		t.Error("a second factor that was not added")
	}
	_, err := fay.EnrolSecondFactor(ctx, short)
	failsAs(t, "with a wrong password", err, client.CurrentPasswordInvalid)
	begun := step[client.Enrolment](t, "enrol")(fay.EnrolSecondFactor(ctx, password))
	if s := fmt.Sprintf("%v %+v", begun, begun); s != "{[redacted] [redacted]} {Secret:[redacted] URI:[redacted]}" {
		t.Errorf("an enrolment prints itself: %s", s)
	}
	secret := begun.Secret.Reveal()
	_, err = fay.ConfirmSecondFactor(ctx, "000")
	failsAs(t, "with no code", err, client.CurrentCodeInvalid)
	used := e2e.NextCode(t, secret, 0)
	codes := step[[]client.Secret](t, "confirm")(fay.ConfirmSecondFactor(ctx, used))
	if has := step[client.FactorState](t, "second factor")(fay.SecondFactor(ctx)); len(codes) != 10 || has != (client.FactorState{Enrolled: true, Left: 10}) {
		t.Fatalf("%d recovery codes, and %+v", len(codes), has)
	}
	_, err = fay.EnrolSecondFactor(ctx, password)
	failsAs(t, "a second one", err, client.SecondFactorEnrolled)

	_, err = admin.Login(ctx, who)
	failsAs(t, "without a code", err, client.SecondFactorRequired)
	who.Code = used
	_, err = admin.Login(ctx, who)
	failsAs(t, "with the code that was used", err, client.SecondFactorInvalid)
	who.Code = e2e.NextCode(t, secret, 1)
	fay = login()
	codes = callRenewal(ctx, t, fay, password, codes)
	failsAs(t, "a change without a code", fay.ChangePassword(ctx, password, short), client.CurrentCodeInvalid)
	if err := fay.ChangePasswordWithCode(ctx, password, short, codes[0].Reveal()); err != nil {
		t.Fatalf("8 characters beside a second factor: %v", err)
	}
	who.Password, who.Code = short, codes[1].Reveal()
	fay = login()
	failsAs(t, "removed with a short password", fay.RemoveSecondFactor(ctx, short, codes[2].Reveal()), client.PasswordTooShort)
	if err := fay.ChangePasswordWithCode(ctx, short, password, codes[2].Reveal()); err != nil {
		t.Fatal(err)
	}
	who.Password, who.Code = password, codes[3].Reveal()
	fay = login()
	if err := fay.RemoveSecondFactor(ctx, password, codes[4].Reveal()); err != nil {
		t.Fatal(err)
	}
	failsAs(t, "removed twice", fay.RemoveSecondFactor(ctx, password, codes[5].Reveal()), client.SecondFactorNotEnrolled)
	_, err = fay.ConfirmSecondFactor(ctx, "123456")
	failsAs(t, "confirmed though none was begun", err, client.SecondFactorNotEnrolled)
	if p := step[wire.Person](t, "user")(admin.User(ctx, made.ID)); p.HasFactor {
		t.Error("the operator still sees a second factor")
	}
	step[time.Duration](t, "removed by an admin")(admin.RemoveUsersSecondFactor(ctx, made.ID, "lost phone"))
	step[time.Duration](t, "logout")(admin.LogoutUser(ctx, made.ID, client.LogoutHow{}))
}

// callRenewal spends one of a user's ten recovery codes on ten others, and returns
// those.
func callRenewal(ctx context.Context, t *testing.T, fay *client.Client, password client.Password, old []client.Secret) []client.Secret {
	t.Helper()
	_, err := fay.RenewRecoveryCodes(ctx, client.NewPassword("not the right one"), old[0].Reveal())
	failsAs(t, "renewed with a wrong password", err, client.CurrentPasswordInvalid)
	_, err = fay.RenewRecoveryCodes(ctx, password, "")
	failsAs(t, "renewed without a code", err, client.CurrentCodeInvalid)
	fresh := step[[]client.Secret](t, "renew")(fay.RenewRecoveryCodes(ctx, password, old[0].Reveal()))
	if left := step[client.FactorState](t, "second factor")(fay.SecondFactor(ctx)).Left; len(fresh) != 10 || left != 10 {
		t.Fatalf("%d new codes, and %d left", len(fresh), left)
	}
	_, err = fay.RenewRecoveryCodes(ctx, password, old[1].Reveal())
	failsAs(t, "renewed with a code of before", err, client.CurrentCodeInvalid)
	return fresh
}
