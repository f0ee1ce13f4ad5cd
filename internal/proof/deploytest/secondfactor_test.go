package deploytest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/server/run"
)

// TestAnAdminGetsBackWhoLostTheSecondFactor: the removal ends the login and is in
// the record; a password that was too short to stand alone opens nothing until an
// admin has set another.
func TestAnAdminGetsBackWhoLostTheSecondFactor(t *testing.T) {
	t.Parallel()
	for kind, on := range map[string]func(testing.TB) *e2e.Deployment{"SQLite": e2e.OnSQLite, "MySQL": e2e.OnMySQLAlone} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			d := on(t)
			d.Vars["FLAKEPASS_SECOND_FACTOR_KEY"] = strings.Repeat("5a", 32)
			i := d.Start(t)
			c := e2e.NewClient(t, i.Public)
			password := e2e.NewPassword()
			const short = "xk7 Vrtl"
			c.Want(c.Register("alice", password), 201, "")
			token := c.Login("alice", password)
			secret, codes := e2e.EnrolByAPI(t, c, token, password)
			c.Want(c.Do("PUT", "/v1/me/password", e2e.Object("current_password", password, "new_password", short, "code", e2e.NextCode(t, secret, 1)), e2e.Bearer(token)), 204, "")
			again := c.Do("POST", "/v1/login", e2e.Object("username", "alice", "password", short, "code", codes[0].(string)))
			c.Want(again, 200, "")
			token = again.Field("token")

			out := e2e.Must(t, d.Vars, "", "user", "second-factor", "remove", "alice", "--reason", "lost phone").Out
			if !strings.Contains(out, `second factor of "alice" removed`) || !strings.Contains(out, "ended") {
				t.Errorf("the command says %q", out)
			}
			if out := e2e.Must(t, d.Vars, "", "user", "second-factor", "remove", "alice").Out; !strings.Contains(out, "has no second factor") {
				t.Errorf("the second time it says %q", out)
			}
			testenv.Eventually(t, e2e.Patience, func() bool { return c.Do("GET", "/v1/me", "", e2e.Bearer(token)).Status == 401 }, "the login has ended")
			c.Want(c.Do("POST", "/v1/login", e2e.Object("username", "alice", "password", short)), 403, "password_reset_required")
			c.Want(c.Do("POST", "/v1/login", e2e.Object("username", "alice", "password", password)), 401, "credentials_invalid")
			e2e.Must(t, d.Vars, password+"\n", "user", "passwd", "alice", "--password-stdin")
			c.Login("alice", password)

			record := e2e.Must(t, d.Vars, "", "audit", "--limit", "50").Out
			for _, action := range []string{"user.second_factor_enrolled", "user.recovery_code_used", "user.second_factor_removed", "lost phone"} {
				if !strings.Contains(record, action) {
					t.Errorf("the record lacks %s:\n%s", action, record)
				}
			}
		})
	}
}

// Without a key on MySQL no factor can be added, and the answer says what to set. With
// the key taken away, a user with a factor does not get in without it.
func TestWithoutAKeyNoFactorIsAddedAndNoneIsBypassed(t *testing.T) { //nolint:tparallel // what is in the subtest comes first
	t.Parallel()
	d := e2e.OnMySQLAlone(t)
	key := []string{"FLAKEPASS_SECOND_FACTOR_KEY", strings.Repeat("5a", 32)}
	password := e2e.NewPassword()
	var secret string
	var codes []any
	t.Run("with it", func(t *testing.T) {
		c := e2e.NewClient(t, d.Start(t, key...).Public)
		c.Want(c.Register("alice", password), 201, "")
		secret, codes = e2e.EnrolByAPI(t, c, c.Login("alice", password), password)
	})
	c := e2e.NewClient(t, d.StartLoud(t).Public)
	c.Want(c.Do("POST", "/v1/login", e2e.Object("username", "alice", "password", password)), 401, "second_factor_required")
	c.Want(c.Do("POST", "/v1/login", e2e.Object("username", "alice", "password", password, "code", e2e.NextCode(t, secret, 1))), 503, "unavailable")
	c.Want(c.Do("POST", "/v1/login", e2e.Object("username", "alice", "password", password, "code", codes[0].(string))), 200, "")
	c.Want(c.Register("bob", password), 201, "")
	off := c.Do("POST", "/v1/me/second-factor", e2e.Object("current_password", password), e2e.Bearer(c.Login("bob", password)))
	c.Want(off, 403, "second_factor_off")
	if !strings.Contains(string(off.Body), "FLAKEPASS_SECOND_FACTOR_KEY") {
		t.Errorf("%s does not say what to set", off.Body)
	}
}

// A lost key file is reported at the start, not to the next person who logs in.
func TestAMissingKeyFileStopsTheStart(t *testing.T) { //nolint:tparallel // what is in the subtest comes first
	t.Parallel()
	d := e2e.OnSQLite(t)
	password := e2e.NewPassword()
	t.Run("before", func(t *testing.T) {
		c := e2e.NewClient(t, d.Start(t).Public)
		c.Want(c.Register("alice", password), 201, "")
		e2e.EnrolByAPI(t, c, c.Login("alice", password), password)
	})
	path := filepath.Join(d.Vars["FLAKEPASS_DATA_DIR"], "second-factor.key")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	key, _ := hex.DecodeString(strings.TrimSpace(string(text)))
	sum := sha256.Sum256(append([]byte("flakepass second factor key "), key...))
	name := hex.EncodeToString(sum[:4]) // as the rekey command names it
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	err = run.Serve(context.Background(), d.Config(t), &bytes.Buffer{}, &bytes.Buffer{}, nil)
	if want := "under the keys " + name + "; restore the file, or set FLAKEPASS_SECOND_FACTOR_KEY to these keys"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("serve = %v, want %q", err, want)
	}
}

// TestKeyOfSecondFactorsIsRolledOutInstanceByInstance: on the way that docs/cryptography.md names, each
// instance checks the codes of users who have added a factor at any other, at every step. With the
// new key in front at once it cannot, and says 503, not that the code is wrong.
func TestKeyOfSecondFactorsIsRolledOutInstanceByInstance(t *testing.T) {
	t.Parallel()
	const key = "FLAKEPASS_SECOND_FACTOR_KEY"
	older, newer := strings.Repeat("5a", 32), strings.Repeat("6b", 32)
	d := e2e.OnSQLite(t)
	password := e2e.NewPassword()
	for step, c := range []struct {
		at, other string // the keys of the instance where a factor is added, and of the one where the user logs in
		status    int
	}{
		{older, older + "," + newer, 200}, {older + "," + newer, older, 200},
		{older + "," + newer, newer + "," + older, 200}, {newer + "," + older, older + "," + newer, 200},
		{newer + "," + older, older, 503},
	} {
		first, second := d.Start(t, key, c.at), d.StartLoud(t, key, c.other)
		name := "user" + string(rune('a'+step))
		at, other := e2e.NewClient(t, first.Public), e2e.NewClient(t, second.Public)
		at.Want(at.Register(name, password), 201, "")
		secret, _ := e2e.EnrolByAPI(t, at, at.Login(name, password), password)
		answer := other.Do("POST", "/v1/login", e2e.Object("username", name, "password", password, "code", e2e.NextCode(t, secret, 1)))
		if answer.Status != c.status {
			t.Errorf("step %d: %d %s; want %d", step, answer.Status, answer.Body, c.status)
		}
		for _, i := range []*e2e.Instance{first, second} {
			if err := i.Stop(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestInstancesOnOneFileShareTheKey: each has a data directory of its own. A factor that was added at
// one is checked at the other, also where each has a key of an earlier version there.
func TestInstancesOnOneFileShareTheKey(t *testing.T) {
	t.Parallel()
	for name, earlier := range map[string][2]string{
		"new": {}, "one had a key": {"", strings.Repeat("5a", 32)}, "both had a key": {strings.Repeat("6b", 32), strings.Repeat("5a", 32)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := e2e.OnSQLite(t)
			d.Vars["FLAKEPASS_DATABASE"] = "sqlite:" + d.File
			var clients []*e2e.Client
			for _, key := range earlier {
				data := t.TempDir()
				if key != "" {
					if err := os.WriteFile(filepath.Join(data, "second-factor.key"), []byte(key+"\n"), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				clients = append(clients, e2e.NewClient(t, d.Start(t, "FLAKEPASS_DATA_DIR", data).Public))
			}
			password := e2e.NewPassword()
			at, other := clients[1], clients[0]
			at.Want(at.Register("alice", password), 201, "")
			secret, _ := e2e.EnrolByAPI(t, at, at.Login("alice", password), password)
			other.Want(other.Do("POST", "/v1/login", e2e.Object("username", "alice", "password", password, "code", e2e.NextCode(t, secret, 1))), 200, "")
		})
	}
}
