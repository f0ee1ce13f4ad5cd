package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
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
	r := command(t, vars, "", append([]string{"user", "second-factor", "rekey", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(r.out), &out); err != nil || r.code != 0 {
		t.Errorf("rekey: exit code %d, %v: %s%s", r.code, err, r.out, r.errs)
	}
	return out
}

// with is vars with another value of one.
func with(vars map[string]string, name, value string) map[string]string {
	all := map[string]string{name: value}
	for k, v := range vars {
		if k != name {
			all[k] = v
		}
	}
	return all
}

// TestAnOldKeyIsRetired: a new key goes in front on a running instance, the command
// moves every secret, begun ones too, beside people who log in, and an instance
// without the old key takes everybody's codes.
func TestAnOldKeyIsRetired(t *testing.T) {
	t.Parallel()
	const key = "FLAKEPASS_SECOND_FACTOR_KEY"
	older, newer := strings.Repeat("5a", 32), strings.Repeat("6b", 32)
	for kind, on := range map[string]func(testing.TB) *deployment{"SQLite": onSQLite, "MySQL": onMySQLAlone} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			d := on(t)
			password := newPassword()
			secrets := map[string]string{}
			var begun, waiting string
			t.Run("before", func(t *testing.T) {
				c := newClient(t, d.start(t, key, older).public)
				for i := range 4 {
					name := fmt.Sprintf("user%d", i)
					c.want(c.register(name, password), 201, "")
					token := c.login(name, password)
					if i == 3 {
						waiting = token
						begun = c.do("POST", "/v1/me/second-factor", object("current_password", password), bearer(token)).field("secret")
						continue
					}
					secrets[name], _ = enrolByAPI(t, c, token, password)
				}
			})
			both := with(d.vars, key, newer+","+older)
			if dry := rekey(t, both, "--dry-run"); dry.Changed != 4 || len(dry.Keys) != 2 || dry.Keys[1].Secrets != 4 {
				t.Errorf("a dry run: %+v", dry)
			}
			t.Run("beside", func(t *testing.T) {
				c := newClient(t, d.start(t, key, newer+","+older).public)
				var all sync.WaitGroup
				var changed atomic.Int64
				for range 2 {
					all.Go(func() { changed.Add(int64(rekey(t, both, "--reason", "a new key").Changed)) })
				}
				for name, secret := range secrets {
					all.Go(func() {
						c.want(c.do("POST", "/v1/login", object("username", name, "password", password, "code", nextCode(t, secret, 1))), 200, "")
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
			record := must(t, d.vars, "", "audit", "--action", "second_factors.rekeyed", "--json").out
			if !strings.Contains(record, done.Keys[0].Key) || !strings.Contains(record, "a new key") || strings.Contains(record, newer) {
				t.Errorf("the record has %s", record)
			}
			c := newClient(t, d.start(t, key, newer).public)
			c.want(c.do("POST", "/v1/me/second-factor/confirm", object("code", nextCode(t, begun, 0)), bearer(waiting)), 200, "")
			for name := range secrets {
				// Its codes of now are used up: the answer says that they were looked at.
				c.want(c.do("POST", "/v1/login", object("username", name, "password", password, "code", "000000")), 401, "second_factor_invalid")
			}
		})
	}
}

// What the command cannot do it says, and a script stops.
func TestRekeySaysWhatIsMissing(t *testing.T) {
	const key = "FLAKEPASS_SECOND_FACTOR_KEY"
	d := onSQLite(t)
	t.Run("before", func(t *testing.T) {
		c := newClient(t, d.start(t).public)
		password := newPassword()
		c.want(c.register("alice", password), 201, "")
		enrolByAPI(t, c, c.login("alice", password), password)
	})
	rekey := []string{"user", "second-factor", "rekey"}
	if out := must(t, d.vars, "", rekey...).out; !strings.Contains(out, "the newest") || !strings.Contains(out, "0 secrets encrypted anew") {
		t.Errorf("with the one key that there is: %s", out)
	}
	if r := command(t, with(d.vars, key, strings.Repeat("6b", 32)), "", rekey...); r.code == 0 || !strings.Contains(r.errs, "add that behind the first") ||
		!strings.Contains(r.out, "not configured") {
		t.Errorf("without the key that the server made: %d %s%s", r.code, r.out, r.errs)
	}
	file := filepath.Join(d.vars["FLAKEPASS_DATA_DIR"], "second-factor.key")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	made := strings.TrimSpace(string(text))
	if out := must(t, with(d.vars, key, strings.Repeat("6b", 32)+","+made), "", rekey...).out; !strings.Contains(out, "can be taken out") || strings.Contains(out, made) {
		t.Errorf("with both: %s", out)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if r := command(t, d.vars, "", append(rekey, "--dry-run")...); r.code == 0 || !strings.Contains(r.errs, "there is no key") {
		t.Errorf("without any: %d %s", r.code, r.errs)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the command made a key")
	}
}
