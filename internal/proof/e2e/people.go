package e2e

import (
	"context"
	"regexp"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/accounttest"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// EnrolByAPI gives a user a second factor, and returns its secret, whose code of
// now is used up, and its recovery codes.
func EnrolByAPI(t testing.TB, c *Client, token, password string) (secret string, codes []any) {
	t.Helper()
	begun := c.Do("POST", "/v1/me/second-factor", Object("current_password", password), Bearer(token))
	c.Want(begun, 201, "")
	secret = begun.Field("secret")
	done := c.Do("POST", "/v1/me/second-factor/confirm", Object("code", NextCode(t, secret, 0)), Bearer(token))
	c.Want(done, 200, "")
	codes, _ = done.Fields["recovery_codes"].([]any)
	return secret, codes
}

// NextCode is what an authenticator app shows in that many steps from now. A code
// of 1 is good as well, for clocks that differ, and no test waits for it.
func NextCode(t testing.TB, secret string, steps int) string {
	t.Helper()
	code, err := totp.GenerateCode(secret, time.Now().Add(time.Duration(steps)*30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// Person registers a user and logs in, with that role.
func (d *Deployment) Person(t testing.TB, c *Client, name, role string) (token, password string) {
	t.Helper()
	password = NewPassword()
	c.Want(c.Register(name, password), 201, "")
	Execute(t, d.SQL(t), "UPDATE users SET role = ? WHERE username = ?", role, name)
	return c.Login(name, password), password
}

// IDOf is the ID of the login that the token opens.
func IDOf(token string) string {
	t, err := flakepass.ParseToken(token)
	if err != nil {
		panic(err)
	}
	return t.ID().String()
}

// SetupLink finds the link that creates the first admin.
var SetupLink = regexp.MustCompile(`/console/setup\?code=\S+`)

// NewAdmin makes an account beside the console.
func NewAdmin(t testing.TB, d *Deployment, name string, role account.Role) {
	t.Helper()
	db := d.Open(t)
	hasher, err := account.NewHasher(account.Here{}, account.DefaultParams(), 1, 8)
	if err != nil {
		t.Fatal(err)
	}
	ids := &OneByOne{}
	users := &sqlstore.Users{DB: db}
	s := &account.Service{Users: users, Hasher: hasher, IDs: ids, Now: time.Now}
	if _, err := accounttest.Register(t.Context(), s, users, name, account.NewPassword(Passphrase), role); err != nil {
		t.Fatal(err)
	}
}

// Passphrase is the password of users whose password is not tested.
const Passphrase = "violet tram sings at noon"

// OneByOne makes IDs for the users of a test.
type OneByOne struct{ last idworker.ID }

// Next is an ID of this moment, and larger than the one before.
func (o *OneByOne) Next(context.Context) (idworker.ID, error) {
	o.last = max(o.last+1, idworker.Default().Smallest(time.Now()))
	return o.last, nil
}

// someToken is how a token and a service key look, whosever it is, and the token of a reset.
var someToken = regexp.MustCompile(`fpk?_[0-9A-Za-z_-]{43}|` + ResetText.String())

// NoToken fails the test if there is a token in what a server has printed.
func NoToken(t testing.TB, where, printed string) {
	t.Helper()
	if at := someToken.FindStringIndex(printed); at != nil {
		t.Errorf("%s holds a token, in: %s", where, someToken.ReplaceAllString(printed[max(0, at[0]-200):at[1]], "[token]"))
	}
}
