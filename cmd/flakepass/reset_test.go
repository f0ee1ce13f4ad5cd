package main

import (
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

var resetText = regexp.MustCompile(`fpr_[A-Z2-7]{26}[0-9a-f]{8}`)

// TestPasswordReset is the life of a reset, over two instances and the command
// line, and what is left of it anywhere.
func TestPasswordReset(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]func(testing.TB) *deployment{"SQLite": onSQLite, "MySQL": onMySQL, "MariaDB": onMariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resetStory(t, kind(t))
		})
	}
}

func resetStory(t *testing.T, d *deployment) {
	a, b := d.start(t, "FLAKEPASS_PUBLIC_URL", "https://auth.example.org"), d.start(t)
	here, there := newClient(t, a.public), newClient(t, b.public)
	password := newPassword()
	must(t, d.vars, password+"\n", "user", "add", "root", "--role", "admin", "--password-stdin")
	admin := here.login("root", password)
	var secrets []string
	start := func(c *client, id string) string {
		t.Helper()
		r := c.want(c.do("POST", "/v1/admin/users/"+id+"/password-reset", "", bearer(admin)), 201, "")
		secrets = append(secrets, r.field("reset_token"))
		return r.field("reset_token")
	}
	use := func(c *client, token, password string) answer {
		t.Helper()
		return c.do("POST", "/v1/password-resets", object("reset_token", token, "new_password", password))
	}

	// An account without a password is opened by none, and its owner sets the first.
	made := here.want(here.do("POST", "/v1/admin/users", `{"username":"Oscar","role":"user","reset_lifetime_seconds":86400}`, bearer(admin)), 201, "")
	given, _ := made.fields["password_reset"].(map[string]any)
	first := fmt.Sprint(given["reset_token"])
	secrets = append(secrets, first)
	if given["url"] != "https://auth.example.org/console/password#"+first {
		t.Errorf("the link: %v", given["url"])
	}
	id := made.field("id")
	for _, p := range []string{"", first, newPassword()} {
		here.want(here.tryLogin("oscar", p), 401, "credentials_invalid")
	}
	here.want(use(here, first, "too short"), 422, "validation_failed")
	here.want(use(here, first, "my name is oscar, and here I am"), 422, "validation_failed")
	old := newPassword()
	there.want(use(there, first, old), 204, "") // given out on one instance, used on another
	there.want(use(there, first, newPassword()), 403, "reset_token_invalid")
	token := here.login("oscar", old)
	there.alive(token)

	// A started reset changes nothing until it is used; then the login is over.
	second := start(here, id)
	third := start(there, id)
	here.alive(token)
	there.alive(here.login("oscar", old))
	token = here.login("oscar", old)
	here.want(use(here, second, newPassword()), 403, "reset_token_invalid") // replaced
	next := newPassword()
	here.want(use(here, third, next), 204, "")
	here.dead(token, "token_revoked")
	soon(t, there, token, "token_revoked", time.Now())
	here.want(here.tryLogin("oscar", old), 401, "credentials_invalid")
	token = here.login("oscar", next)

	// Another change of the password ends it, and so does a withdrawal.
	fourth := start(here, id)
	changed := newPassword()
	here.want(here.do("PUT", "/v1/me/password", object("current_password", next, "new_password", changed), bearer(token)), 204, "")
	here.want(use(here, fourth, newPassword()), 403, "reset_token_invalid")
	fifth := start(here, id)
	for range 2 {
		there.want(there.do("DELETE", "/v1/admin/users/"+id+"/password-reset", `{"reason":"found it"}`, bearer(admin)), 204, "")
	}
	here.want(use(here, fifth, newPassword()), 403, "reset_token_invalid")
	here.want(here.do("POST", "/v1/admin/users/12345/password-reset", "", bearer(admin)), 404, "not_found")
	here.want(here.do("DELETE", "/v1/admin/users/12345/password-reset", "", bearer(admin)), 404, "not_found")
	here.want(here.do("POST", "/v1/admin/users/"+id+"/password-reset", `{"reset_lifetime_seconds":599}`, bearer(admin)), 422, "validation_failed")
	here.want(here.do("POST", "/v1/admin/users/"+id+"/password-reset", "", bearer(here.login("oscar", changed))), 403, "forbidden")

	// A disabled account stays so.
	must(t, d.vars, "", "user", "disable", "oscar")
	sixth := resetText.FindString(must(t, d.vars, "", "user", "reset", "oscar").out)
	secrets = append(secrets, sixth)
	here.want(use(here, sixth, newPassword()), 403, "account_disabled")
	must(t, d.vars, "", "user", "enable", "oscar")

	// Of several at once one wins; gormstore holds that of fifty, without their hashes.
	passwords := make([]string, 4)
	statuses := make([]int, len(passwords))
	var all sync.WaitGroup
	for i := range passwords {
		passwords[i] = newPassword()
		all.Go(func() {
			c := []*client{here, there}[i%2]
			for r := use(c, sixth, passwords[i]); ; r = use(c, sixth, passwords[i]) {
				if statuses[i] = r.status; r.status != 503 { // busy: the queue for hashes is short
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
		t.Fatalf("nobody has won: %v", statuses)
	}
	here.alive(here.login("oscar", passwords[won]))

	resetsAreRecorded(t, d.sql(t))
	for _, place := range []struct {
		name string
		text []byte
	}{{"the log", []byte(a.log.String() + b.log.String())}, {"the metrics", metrics(t, a.ops)}, {"the files", files(t, d.vars["FLAKEPASS_DATA_DIR"])}} {
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
		if n := count(t, db, "SELECT COUNT(*) FROM audit_events WHERE action = ?", action); n != want {
			t.Errorf("%d events %s, want %d", n, action, want)
		}
	}
	if n := count(t, db, "SELECT COUNT(*) FROM audit_events WHERE action = 'user.reset_used' AND actor = 'oscar' AND target = 'oscar' AND via = 'api'"); n != 3 {
		t.Errorf("%d of the uses are the user's", n)
	}
}

// TestResetForgetsFailures: whoever was kept waiting for guesses at the password
// of before gets in with the new one; and uses are limited by address.
func TestResetForgetsFailures(t *testing.T) {
	t.Parallel()
	d := onSQLite(t)
	d.vars["FLAKEPASS_THROTTLE"] = "on"
	i := d.start(t)
	c := newClient(t, i.public)
	old, next := newPassword(), newPassword()
	must(t, d.vars, old+"\n", "user", "add", "alice", "--password-stdin")
	for c.tryLogin("alice", "not the right passphrase").status != 429 {
	}
	c.want(c.tryLogin("alice", old), 429, "rate_limited")
	token := resetText.FindString(must(t, d.vars, "", "user", "reset", "alice").out)
	c.want(c.do("POST", "/v1/password-resets", object("reset_token", token, "new_password", next)), 204, "")
	c.alive(c.login("alice", next))

	for n := 0; ; n++ {
		r := c.do("POST", "/v1/password-resets", object("reset_token", account.NewResetToken().Reveal(), "new_password", next))
		if r.status == 429 {
			if policy := r.header.Get("RateLimit-Policy"); n < 25 || policy != `"reset";q=30;w=3600` {
				t.Errorf("after %d: %s", n, policy)
			}
			break
		}
		c.want(r, 403, "reset_token_invalid")
		if n > 1000 {
			t.Fatal("no limit")
		}
	}
}

// TestRehashThroughALogin: a hash of cheaper parameters is renewed by the login
// that shows the password, and the login lives.
func TestRehashThroughALogin(t *testing.T) {
	t.Parallel()
	d := onSQLite(t)
	password := newPassword()
	cheaper, err := account.NewHasher(account.Params{MemoryKiB: 7168, Iterations: 5, Parallelism: 1}, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	phc, err := cheaper.Hash(t.Context(), account.Asker{}, account.NewPassword(password))
	if err != nil {
		t.Fatal(err)
	}
	i := d.start(t)
	c := newClient(t, i.public)
	c.want(c.register("alice", password), 201, "")
	db := d.sql(t)
	execute(t, db, "UPDATE users SET password_hash = ?", phc.Reveal())
	c.want(c.tryLogin("alice", newPassword()), 401, "credentials_invalid")
	kept := func() (hash string) {
		if err := db.QueryRowContext(t.Context(), "SELECT password_hash FROM users").Scan(&hash); err != nil {
			t.Fatal(err)
		}
		return hash
	}
	if kept() != phc.Reveal() {
		t.Error("a refused login renewed the hash")
	}
	token := c.login("alice", password)
	if hash := kept(); !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("the hash is %s", hash)
	}
	c.alive(token)
	if n := count(t, db, "SELECT password_version FROM users"); n != 1 {
		t.Errorf("version %d", n)
	}
	c.alive(c.login("alice", password))
}

// A person opens the link that an admin gave, in a browser of their own, and sets
// a passphrase; with and without scripts.
func TestConsoleOneTimeLink(t *testing.T) {
	t.Parallel()
	d := onSQLite(t)
	i := d.start(t)
	newAdmin(t, d, "ada", account.RoleAdmin)
	newAdmin(t, d, "grace", account.RoleUser)
	b := newBrowser(t, i)
	give := func() (link, token string) {
		b.open("/console/users?name=grace")
		if strings.HasPrefix(b.path(), "/console/login") {
			b.login("ada")
		}
		b.press(`td a[href^="/console/users/"]`)
		b.press(`form[action$="/reset"] button`)
		b.sees("One-time link", "grace")
		return b.value("#link"), b.value("#token")
	}
	link, token := give()
	if link != "http://"+i.public+"/console/password#"+token || !resetText.MatchString(token) {
		t.Fatalf("the link is %s", link)
	}
	c := newClient(t, i.public)

	grace := b.other()
	grace.open(strings.TrimPrefix(link, grace.at))
	grace.sees("Set a new passphrase", "At least 15 characters.")
	if at := evaluate[string](grace, "location.href"); at != "http://"+i.public+"/console/password" {
		t.Errorf("the address bar says %s", at)
	}
	grace.fill("#password", "an entirely new passphrase")
	grace.sees("Long enough.")
	grace.fill("#password-again", "an entirely newer passphrase")
	grace.press(`main button[type="submit"]`)
	grace.sees("The two passphrases are not the same.")
	grace.fill("#password", "an entirely new passphrase")
	grace.fill("#password-again", "an entirely new passphrase")
	grace.press(`main button[type="submit"]`)
	grace.sees("The passphrase is set")
	c.alive(c.login("grace", "an entirely new passphrase"))

	_, token = give()
	plain := b.other()
	plain.scripts(false)
	plain.open("/console/password")
	plain.fill("#token", token)
	plain.fill("#password", "typed without any script")
	plain.fill("#password-again", "typed without any script")
	plain.press(`main button[type="submit"]`)
	plain.sees("The passphrase is set")
	c.alive(c.login("grace", "typed without any script"))
	plain.open("/console/password")
	plain.fill("#token", token)
	plain.fill("#password", "typed without any script")
	plain.fill("#password-again", "typed without any script")
	plain.press(`main button[type="submit"]`)
	plain.sees("This one-time code does not work")

	_, token = give()
	b.press(`form[action$="/withdraw"] button`)
	b.sees("it works no longer")
	c.want(c.do("POST", "/v1/password-resets", object("reset_token", token, "new_password", newPassword())), 403, "reset_token_invalid")
	b.press(`a[href^="/console/audit?target="]`)
	b.sees("One-time link given", "Password set by one-time link", "One-time link withdrawn")
	if strings.Contains(i.log.String(), token) {
		t.Error("the log has a token")
	}
	testenv.Eventually(t, patience, func() bool { return strings.Contains(i.log.String(), "password reset") }, "the log tells of it")
}
