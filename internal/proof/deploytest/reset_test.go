package deploytest

import (
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/e2e"
)

// TestPasswordReset is the life of a reset, over two instances and the command
// line, and what is left of it anywhere.
func TestPasswordReset(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]func(testing.TB) *e2e.Deployment{"SQLite": e2e.OnSQLite, "MySQL": e2e.OnMySQL, "MariaDB": e2e.OnMariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resetStory(t, kind(t))
		})
	}
}

func resetStory(t *testing.T, d *e2e.Deployment) {
	a, b := d.Start(t, "FLAKEPASS_PUBLIC_URL", "https://auth.example.org"), d.Start(t)
	here, there := e2e.NewClient(t, a.Public), e2e.NewClient(t, b.Public)
	password := e2e.NewPassword()
	e2e.Must(t, d.Vars, password+"\n", "user", "add", "root", "--role", "admin", "--password-stdin")
	admin := here.Login("root", password)
	var secrets []string
	start := func(c *e2e.Client, id string) string {
		t.Helper()
		r := c.Want(c.Do("POST", "/v1/admin/users/"+id+"/password-reset", "", e2e.Bearer(admin)), 201, "")
		secrets = append(secrets, r.Field("reset_token"))
		return r.Field("reset_token")
	}
	use := func(c *e2e.Client, token, password string) e2e.Answer {
		t.Helper()
		return c.Do("POST", "/v1/password-resets", e2e.Object("reset_token", token, "new_password", password))
	}

	// An account without a password is opened by none, and its owner sets the first.
	made := here.Want(here.Do("POST", "/v1/admin/users", `{"username":"Oscar","role":"user","reset_lifetime_seconds":86400}`, e2e.Bearer(admin)), 201, "")
	given, _ := made.Fields["password_reset"].(map[string]any)
	first := fmt.Sprint(given["reset_token"])
	secrets = append(secrets, first)
	if given["url"] != "https://auth.example.org/console/password#"+first {
		t.Errorf("the link: %v", given["url"])
	}
	id := made.Field("id")
	for _, p := range []string{"", first, e2e.NewPassword()} {
		here.Want(here.TryLogin("oscar", p), 401, "credentials_invalid")
	}
	here.Want(use(here, first, "too short"), 422, "validation_failed")
	here.Want(use(here, first, "my name is oscar, and here I am"), 422, "validation_failed")
	old := e2e.NewPassword()
	there.Want(use(there, first, old), 204, "") // given out on one instance, used on another
	there.Want(use(there, first, e2e.NewPassword()), 403, "reset_token_invalid")
	token := here.Login("oscar", old)
	there.Alive(token)

	// A started reset changes nothing until it is used; then the login is over.
	second := start(here, id)
	third := start(there, id)
	here.Alive(token)
	there.Alive(here.Login("oscar", old))
	token = here.Login("oscar", old)
	here.Want(use(here, second, e2e.NewPassword()), 403, "reset_token_invalid") // replaced
	next := e2e.NewPassword()
	here.Want(use(here, third, next), 204, "")
	here.Dead(token, "token_revoked")
	e2e.Soon(t, there, token, "token_revoked", time.Now())
	here.Want(here.TryLogin("oscar", old), 401, "credentials_invalid")
	token = here.Login("oscar", next)

	// Another change of the password ends it, and so does a withdrawal.
	fourth := start(here, id)
	changed := e2e.NewPassword()
	here.Want(here.Do("PUT", "/v1/me/password", e2e.Object("current_password", next, "new_password", changed), e2e.Bearer(token)), 204, "")
	here.Want(use(here, fourth, e2e.NewPassword()), 403, "reset_token_invalid")
	fifth := start(here, id)
	for range 2 {
		there.Want(there.Do("DELETE", "/v1/admin/users/"+id+"/password-reset", `{"reason":"found it"}`, e2e.Bearer(admin)), 204, "")
	}
	here.Want(use(here, fifth, e2e.NewPassword()), 403, "reset_token_invalid")
	here.Want(here.Do("POST", "/v1/admin/users/12345/password-reset", "", e2e.Bearer(admin)), 404, "not_found")
	here.Want(here.Do("DELETE", "/v1/admin/users/12345/password-reset", "", e2e.Bearer(admin)), 404, "not_found")
	here.Want(here.Do("POST", "/v1/admin/users/"+id+"/password-reset", `{"reset_lifetime_seconds":599}`, e2e.Bearer(admin)), 422, "validation_failed")
	here.Want(here.Do("POST", "/v1/admin/users/"+id+"/password-reset", "", e2e.Bearer(here.Login("oscar", changed))), 403, "forbidden")

	// A disabled account stays so.
	e2e.Must(t, d.Vars, "", "user", "disable", "oscar")
	sixth := e2e.ResetText.FindString(e2e.Must(t, d.Vars, "", "user", "reset", "oscar").Out)
	secrets = append(secrets, sixth)
	here.Want(use(here, sixth, e2e.NewPassword()), 403, "account_disabled")
	e2e.Must(t, d.Vars, "", "user", "enable", "oscar")

	// Of several at once one wins; sqlstore holds that of fifty, without their hashes.
	passwords := make([]string, 4)
	statuses := make([]int, len(passwords))
	var all sync.WaitGroup
	for i := range passwords {
		passwords[i] = e2e.NewPassword()
		all.Go(func() {
			c := []*e2e.Client{here, there}[i%2]
			for r := use(c, sixth, passwords[i]); ; r = use(c, sixth, passwords[i]) {
				if statuses[i] = r.Status; r.Status != 503 { // busy: the queue for hashes is short
					return
				}
			}
		})
	}
	all.Wait()
	won := -1
	for i, status := range statuses {
		switch {
		case status == 204 && won >= 0:
			t.Errorf("%d and %d have both won", won, i)
		case status == 204:
			won = i
		case status != 403:
			t.Errorf("%d: %d", i, status)
		}
	}
	if won < 0 {
		t.Fatalf("no request has won: %v", statuses)
	}
	here.Alive(here.Login("oscar", passwords[won]))

	resetsAreRecorded(t, d.SQL(t))
	for _, place := range []struct {
		name string
		text []byte
	}{{"the log", []byte(a.Log.String() + b.Log.String())}, {"the metrics", e2e.Metrics(t, a.Ops)}, {"the files", e2e.Files(t, d.Vars["FLAKEPASS_DATA_DIR"])}} {
		for _, s := range secrets {
			if strings.Contains(string(place.text), s) {
				t.Errorf("%s has a token", place.name)
			}
		}
	}
}

func resetsAreRecorded(t *testing.T, db *sql.DB) {
	t.Helper()
	for action, want := range map[string]int{"user.reset_started": 6, "user.reset_used": 3, "user.reset_withdrawn": 1} {
		if n := e2e.Count(t, db, "SELECT COUNT(*) FROM audit_events WHERE action = ?", action); n != want {
			t.Errorf("%d events %s, want %d", n, action, want)
		}
	}
	if n := e2e.Count(t, db, "SELECT COUNT(*) FROM audit_events WHERE action = 'user.reset_used' AND actor = 'oscar' AND target = 'oscar' AND via = 'api'"); n != 3 {
		t.Errorf("%d of the uses are the user's", n)
	}
}

// TestResetForgetsFailures: a user who was kept waiting for guesses at the password
// of before gets in with the new one; and uses are limited by address.
func TestResetForgetsFailures(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	d.Vars["FLAKEPASS_THROTTLE"] = "on"
	i := d.Start(t)
	c := e2e.NewClient(t, i.Public)
	old, next := e2e.NewPassword(), e2e.NewPassword()
	e2e.Must(t, d.Vars, old+"\n", "user", "add", "alice", "--password-stdin")
	for c.TryLogin("alice", "not the right passphrase").Status != 429 {
	}
	c.Want(c.TryLogin("alice", old), 429, "rate_limited")
	token := e2e.ResetText.FindString(e2e.Must(t, d.Vars, "", "user", "reset", "alice").Out)
	c.Want(c.Do("POST", "/v1/password-resets", e2e.Object("reset_token", token, "new_password", next)), 204, "")
	c.Alive(c.Login("alice", next))

	for n := 0; ; n++ {
		r := c.Do("POST", "/v1/password-resets", e2e.Object("reset_token", account.NewResetToken().Reveal(), "new_password", next))
		if r.Status == 429 {
			if policy := r.Header.Get("RateLimit-Policy"); n < 25 || policy != `"reset";q=30;w=3600` {
				t.Errorf("after %d: %s", n, policy)
			}
			break
		}
		c.Want(r, 403, "reset_token_invalid")
		if n > 1000 {
			t.Fatal("no limit")
		}
	}
}

// TestRehashThroughALogin: a hash of cheaper parameters is renewed by the login
// that shows the password, and the login lives.
func TestRehashThroughALogin(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	password := e2e.NewPassword()
	cheaper, err := account.NewHasher(account.Here{}, account.Params{MemoryKiB: 7168, Iterations: 5, Parallelism: 1}, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	phc, err := cheaper.Hash(t.Context(), account.Asker{}, account.NewPassword(password))
	if err != nil {
		t.Fatal(err)
	}
	i := d.Start(t)
	c := e2e.NewClient(t, i.Public)
	c.Want(c.Register("alice", password), 201, "")
	db := d.SQL(t)
	e2e.Execute(t, db, "UPDATE users SET password_hash = ?", phc.Reveal())
	c.Want(c.TryLogin("alice", e2e.NewPassword()), 401, "credentials_invalid")
	kept := func() (hash string) {
		if err := db.QueryRowContext(t.Context(), "SELECT password_hash FROM users").Scan(&hash); err != nil {
			t.Fatal(err)
		}
		return hash
	}
	if kept() != phc.Reveal() {
		t.Error("a refused login renewed the hash")
	}
	token := c.Login("alice", password)
	if hash := kept(); !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("the hash is %s", hash)
	}
	c.Alive(token)
	if n := e2e.Count(t, db, "SELECT password_version FROM users"); n != 1 {
		t.Errorf("version %d", n)
	}
	c.Alive(c.Login("alice", password))
}
