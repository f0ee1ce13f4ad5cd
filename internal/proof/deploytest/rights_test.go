package deploytest

import (
	"context"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// leastRights are the lines of docs/rights.md that begin so, for a database of
// that name.
func leastRights(t *testing.T, begin, database string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/rights.md")
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
// instances serve, notify each other of logouts and count guesses together, once
// an operator with more has migrated; Redis has refused nothing.
func TestTheRightsOfServingAreEnough(t *testing.T) {
	d := e2e.OnMySQL(t)
	e2e.Must(t, d.Vars, "", "migrate", "up")
	c, err := mysql.ParseDSN(d.DSN)
	if err != nil {
		t.Fatal(err)
	}
	name, secret := "serving"+c.DBName[max(0, len(c.DBName)-16):], "a password for the test"
	root := d.SQL(t)
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
	for _, acl := range leastRights(t, "ACL SETUSER flakepass on", c.DBName) {
		d.Redis.Command(acl)
	}
	database := url.URL{Scheme: "mysql", User: url.UserPassword(name, secret), Host: c.Addr, Path: "/" + c.DBName}
	d.Vars = e2e.With(d.Vars, "FLAKEPASS_DATABASE", database.String())
	d.Vars["FLAKEPASS_REDIS"] = "redis://flakepass:secret@" + d.Redis.Addr

	password := e2e.NewPassword()
	e2e.Must(t, d.Vars, password+"\n", "user", "add", "root", "--role", "admin", "--password-stdin")
	a, b := e2e.NewClient(t, d.Start(t).Public), e2e.NewClient(t, d.Start(t).Public)
	admin := a.Login("root", password)
	b.Want(b.Register("ada", password), 201, "")
	token := a.Login("ada", password)
	b.Alive(token)
	a.Alive(token)
	b.Want(b.Logout(token), 204, "")
	testenv.Eventually(t, e2e.Patience, func() bool { return a.Do("GET", "/v1/me", "", e2e.Bearer(token)).Status == 401 }, "the other instance has received it")
	for range 4 {
		a.Want(a.TryLogin("ada", e2e.NewPassword()), 401, "credentials_invalid")
	}
	b.Want(b.Do("GET", "/v1/admin/instances", "", e2e.Bearer(admin)), 200, "")
	b.Want(b.Do("PUT", "/v1/admin/policy", `{"idle_timeout_seconds":86400,"absolute_lifetime_seconds":2592000,"touch_interval_seconds":60,"sweep_schedule":"@every 1m"}`,
		e2e.Bearer(admin), e2e.Header("If-Match", `"1"`)), 200, "")
	e2e.Must(t, d.Vars, "", "sweep")
	b.Want(b.Do("POST", "/v1/admin/logout-all", "", e2e.Bearer(admin)), 200, "")

	if log := d.Redis.Command("ACL LOG"); strings.Contains(log, "reason") {
		t.Errorf("Redis has refused something:\n%s", log)
	}
	if r := e2e.Command(t, d.Vars, "", "migrate", "down", "--yes"); r.Code == 0 {
		t.Error("who serves can take the tables away")
	}
}

// TestTheRightsInAClusterAreEnough: in a cluster that lends the worker numbers too, with what
// docs/rights.md names for both and no more, two instances get a number each, notify each
// other of a logout and count guesses together; no server has refused anything.
func TestTheRightsInAClusterAreEnough(t *testing.T) {
	t.Parallel()
	cluster := testenv.RedisCluster(t)
	for _, node := range cluster.Nodes {
		for _, acl := range leastRights(t, "ACL SETUSER", "") {
			node.Command(acl)
		}
	}
	d := e2e.OnSQLite(t)
	d.Vars = e2e.With(d.Vars, "FLAKEPASS_REDIS", "redis+cluster://flakepass:secret@"+strings.Join(cluster.Addrs(), ","))
	d.Vars["FLAKEPASS_WORKER"] = "redis"
	a, b := d.Start(t), d.Start(t)
	ada, other, password := e2e.NewClient(t, a.Public), e2e.NewClient(t, b.Public), e2e.NewPassword()
	ada.Want(ada.Register("ada", password), 201, "")
	token := other.Login("ada", password)
	ada.Alive(token)
	other.Want(other.Logout(token), 204, "")
	testenv.Eventually(t, e2e.Patience, func() bool { return ada.Do("GET", "/v1/me", "", e2e.Bearer(token)).Status == 401 }, "the other instance has received it")
	for range 4 {
		ada.Want(ada.TryLogin("ada", e2e.NewPassword()), 401, "credentials_invalid")
	}
	for _, i := range []*e2e.Instance{a, b} {
		if ready := e2e.NewClient(t, i.Ops).Do("GET", "/readyz", ""); ready.Status != 200 || strings.Contains(string(ready.Body), "warnings") {
			t.Errorf("/readyz: %d %s", ready.Status, ready.Body)
		}
		if err := i.Stop(); err != nil {
			t.Error(err)
		}
	}
	for _, node := range cluster.Nodes {
		if log := node.Command("ACL LOG"); strings.Contains(log, "reason") {
			t.Errorf("a server has refused something:\n%s", log)
		}
	}
}
