package commandtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/e2e"
)

type rekeyed struct {
	Changed int `json:"changed"`
	Keys    []struct {
		Key                string
		Secrets            int
		Configured, Newest bool
	}
}

func rekey(t *testing.T, vars map[string]string, args ...string) (out rekeyed) {
	t.Helper()
	r := e2e.Command(t, vars, "", append([]string{"user", "second-factor", "rekey", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(r.Out), &out); err != nil || r.Code != 0 {
		t.Errorf("rekey: exit code %d, %v: %s%s", r.Code, err, r.Out, r.Errs)
	}
	return out
}

// TestAnOldKeyIsRetired: a new key goes in front on a running instance, the command
// moves every secret, begun ones too, beside people who log in, and an instance
// without the old key takes the codes of all users.
func TestAnOldKeyIsRetired(t *testing.T) {
	t.Parallel()
	const key = "FLAKEPASS_SECOND_FACTOR_KEY"
	older, newer := strings.Repeat("5a", 32), strings.Repeat("6b", 32)
	for kind, on := range map[string]func(testing.TB) *e2e.Deployment{"SQLite": e2e.OnSQLite, "MySQL": e2e.OnMySQLAlone} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			d := on(t)
			password := e2e.NewPassword()
			secrets := map[string]string{}
			var begun, waiting string
			t.Run("before", func(t *testing.T) {
				c := e2e.NewClient(t, d.Start(t, key, older).Public)
				for i := range 4 {
					name := fmt.Sprintf("user%d", i)
					c.Want(c.Register(name, password), 201, "")
					token := c.Login(name, password)
					if i == 3 {
						waiting = token
						begun = c.Do("POST", "/v1/me/second-factor", e2e.Object("current_password", password), e2e.Bearer(token)).Field("secret")
						continue
					}
					secrets[name], _ = e2e.EnrolByAPI(t, c, token, password)
				}
			})
			both := e2e.With(d.Vars, key, newer+","+older)
			if dry := rekey(t, both, "--dry-run"); dry.Changed != 4 || len(dry.Keys) != 2 || dry.Keys[1].Secrets != 4 {
				t.Errorf("a dry run: %+v", dry)
			}
			t.Run("beside", func(t *testing.T) {
				c := e2e.NewClient(t, d.Start(t, key, newer+","+older).Public)
				var all sync.WaitGroup
				var changed atomic.Int64
				for range 2 {
					all.Go(func() { changed.Add(int64(rekey(t, both, "--reason", "a new key").Changed)) })
				}
				for name, secret := range secrets {
					all.Go(func() {
						c.Want(c.Do("POST", "/v1/login", e2e.Object("username", name, "password", password, "code", e2e.NextCode(t, secret, 1))), 200, "")
					})
				}
				all.Wait()
				if n := changed.Load(); n != 4 {
					t.Errorf("two commands at once changed %d of 4", n)
				}
			})
			done := rekey(t, both)
			if done.Changed != 0 || done.Keys[0].Secrets != 4 || !done.Keys[0].Newest || done.Keys[1].Secrets != 0 {
				t.Errorf("after it: %+v", done)
			}
			record := e2e.Must(t, d.Vars, "", "audit", "--action", "second_factors.rekeyed", "--json").Out
			if !strings.Contains(record, done.Keys[0].Key) || !strings.Contains(record, "a new key") || strings.Contains(record, newer) {
				t.Errorf("the record has %s", record)
			}
			c := e2e.NewClient(t, d.Start(t, key, newer).Public)
			c.Want(c.Do("POST", "/v1/me/second-factor/confirm", e2e.Object("code", e2e.NextCode(t, begun, 0)), e2e.Bearer(waiting)), 200, "")
			for name := range secrets {
				// Its codes of now are used up: the answer says that they were looked at.
				c.Want(c.Do("POST", "/v1/login", e2e.Object("username", name, "password", password, "code", "000000")), 401, "second_factor_invalid")
			}
		})
	}
}

// What the command cannot do it says, and a script stops.
func TestRekeySaysWhatIsMissing(t *testing.T) {
	const key = "FLAKEPASS_SECOND_FACTOR_KEY"
	d := e2e.OnSQLite(t)
	t.Run("before", func(t *testing.T) {
		c := e2e.NewClient(t, d.Start(t).Public)
		password := e2e.NewPassword()
		c.Want(c.Register("alice", password), 201, "")
		e2e.EnrolByAPI(t, c, c.Login("alice", password), password)
	})
	rekey := []string{"user", "second-factor", "rekey"}
	if out := e2e.Must(t, d.Vars, "", rekey...).Out; !strings.Contains(out, "the newest") || !strings.Contains(out, "0 secrets encrypted anew") {
		t.Errorf("with the one key that there is: %s", out)
	}
	if r := e2e.Command(t, e2e.With(d.Vars, key, strings.Repeat("6b", 32)), "", rekey...); r.Code == 0 || !strings.Contains(r.Errs, "add that behind the first") ||
		!strings.Contains(r.Out, "not configured") {
		t.Errorf("without the key that the server made: %d %s%s", r.Code, r.Out, r.Errs)
	}
	file := filepath.Join(d.Vars["FLAKEPASS_DATA_DIR"], "second-factor.key")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	made := strings.TrimSpace(string(text))
	if out := e2e.Must(t, e2e.With(d.Vars, key, strings.Repeat("6b", 32)+","+made), "", rekey...).Out; !strings.Contains(out, "can be taken out") || strings.Contains(out, made) {
		t.Errorf("with both: %s", out)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if r := e2e.Command(t, d.Vars, "", append(rekey, "--dry-run")...); r.Code == 0 || !strings.Contains(r.Errs, "there is no key") {
		t.Errorf("without any: %d %s", r.Code, r.Errs)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the command made a key")
	}
}
