package main

import (
	"context"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// leastRights are the lines of docs/rights.md that begin so, for a database of
// that name.
func leastRights(t *testing.T, begin, database string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/rights.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range regexp.MustCompile(`(?m)^`+begin+` .*$`).FindAllString(string(text), -1) {
		lines = append(lines, strings.TrimSuffix(strings.ReplaceAll(line, "flakepass.", "`"+database+"`."), ";"))
	}
	if len(lines) == 0 {
		t.Fatalf("docs/rights.md has no %s", begin)
	}
	return lines
}

// TestTheRightsOfServingAreEnough: with what docs/rights.md grants and no more two
// instances serve, tell each other of logouts and count guesses together, once
// somebody with more has migrated; Redis has refused nothing.
func TestTheRightsOfServingAreEnough(t *testing.T) {
	d := onMySQL(t)
	must(t, d.vars, "", "migrate", "up")
	c, err := mysql.ParseDSN(d.dsn)
	if err != nil {
		t.Fatal(err)
	}
	name, secret := "serving"+c.DBName[max(0, len(c.DBName)-16):], "a password for the test"
	root := d.sql(t)
	run := func(statement string) {
		t.Helper()
		if _, err := root.ExecContext(context.WithoutCancel(t.Context()), statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
	run("CREATE USER `" + name + "` IDENTIFIED BY '" + secret + "'")
	t.Cleanup(func() { run("DROP USER `" + name + "`") })
	for _, grant := range leastRights(t, "GRANT", c.DBName) {
		run(strings.ReplaceAll(grant, "TO flakepass", "TO `"+name+"`"))
	}
	for _, acl := range leastRights(t, "ACL SETUSER", c.DBName) {
		d.redis.Command(acl)
	}
	database := url.URL{Scheme: "mysql", User: url.UserPassword(name, secret), Host: c.Addr, Path: "/" + c.DBName}
	d.vars = with(d.vars, "FLAKEPASS_DATABASE", database.String())
	d.vars["FLAKEPASS_REDIS"] = "redis://flakepass:secret@" + d.redis.Addr

	password := newPassword()
	must(t, d.vars, password+"\n", "user", "add", "root", "--role", "admin", "--password-stdin")
	a, b := newClient(t, d.start(t).public), newClient(t, d.start(t).public)
	admin := a.login("root", password)
	b.want(b.register("ada", password), 201, "")
	token := a.login("ada", password)
	b.alive(token)
	a.alive(token)
	b.want(b.logout(token), 204, "")
	testenv.Eventually(t, patience, func() bool { return a.do("GET", "/v1/me", "", bearer(token)).status == 401 }, "the other instance has heard of it")
	for range 4 {
		a.want(a.tryLogin("ada", newPassword()), 401, "credentials_invalid")
	}
	b.want(b.do("GET", "/v1/admin/instances", "", bearer(admin)), 200, "")
	b.want(b.do("PUT", "/v1/admin/policy", `{"idle_timeout_seconds":86400,"absolute_lifetime_seconds":2592000,"touch_interval_seconds":60,"sweep_schedule":"@every 1m"}`,
		bearer(admin), header("If-Match", `"1"`)), 200, "")
	must(t, d.vars, "", "sweep")
	b.want(b.do("POST", "/v1/admin/logout-all", "", bearer(admin)), 200, "")

	if log := d.redis.Command("ACL LOG"); strings.Contains(log, "reason") {
		t.Errorf("Redis has refused something:\n%s", log)
	}
	if r := command(t, d.vars, "", "migrate", "down", "--yes"); r.code == 0 {
		t.Error("who serves can take the tables away")
	}
}
