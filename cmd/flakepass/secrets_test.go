package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// A secretive is a deployment on a MySQL and a Redis of its own, with all their
// logs on, and the secrets of a test.
type secretive struct {
	*deployment
	keep    *canaries
	mysql   *testenv.MySQLServer
	general string // the path of MySQL's general log
	redis   *testenv.Journal
	printed []byte // by commands
	answers []byte // problems; a page of the console has the address that was typed
}

func newSecretive(t *testing.T) *secretive {
	t.Helper()
	redis := testenv.Redis(t)
	w := &secretive{keep: &canaries{}, mysql: testenv.OwnMySQL(t), redis: monitor(t, redis.Addr)}
	dbPassword, forward := "canary.of.the.database", "a canary signs what proxies are told"
	w.keep.add(dbPassword, "the password of the database")
	w.keep.add(forward, "the key of what proxies are told")
	factorKey := make([]byte, secondfactor.KeyLength)
	_, _ = rand.Read(factorKey) // never fails
	w.keep.add(string(factorKey), "the key of second factors")
	for _, statement := range []string{"CREATE USER app IDENTIFIED BY '" + dbPassword + "'", "GRANT ALL ON *.* TO app"} {
		execute(t, w.mysql.DB(), statement)
	}
	dir := t.TempDir()
	w.general = filepath.Join(dir, "general.log")
	execute(t, w.mysql.DB(), "SET PERSIST general_log_file = '"+w.general+"'")
	execute(t, w.mysql.DB(), "SET PERSIST general_log = ON")
	w.deployment = newDeployment(map[string]string{
		"FLAKEPASS_DATA_DIR": t.TempDir(), "FLAKEPASS_REDIS": redis.URL(), "FLAKEPASS_FORWARD_KEY": forward,
		"FLAKEPASS_SECOND_FACTOR_KEY": hex.EncodeToString(factorKey),
		"FLAKEPASS_DATABASE":          "mysql://app:" + dbPassword + "@" + w.mysql.Addr + "/" + w.mysql.Name,
	}, &deployment{redis: redis})
	return w
}

func (w *secretive) command(t *testing.T, in string, args ...string) {
	t.Helper()
	r := command(t, w.vars, in, args...)
	w.printed = append(w.printed, r.out+r.errs...)
}

// send sends what a client would not, keeps the answer if it is a problem, and
// returns the cookies.
func (w *secretive) send(t *testing.T, method, address, kind, body string, edits ...func(*http.Request)) []*http.Cookie {
	t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	for _, edit := range edits {
		edit(req)
	}
	client := &http.Client{Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Header.Get("Content-Type") == "application/problem+json" {
		w.answers = append(w.answers, text...)
	}
	return resp.Cookies()
}

// typed is the kind of the console's forms.
const typed = "application/x-www-form-urlencoded"

// TestNoSecretIsWrittenAnywhere tells a story with every secret in the right
// place and in many wrong ones, while everything is logged that can be, by us, by
// MySQL and by Redis; also when these are gone. Then all that was written is
// searched for every secret, in every spelling.
func TestNoSecretIsWrittenAnywhere(t *testing.T) {
	t.Parallel()
	w := newSecretive(t)
	text := w.startLoud(t, "FLAKEPASS_TOKEN_HEADER", "X-Auth-Token", "FLAKEPASS_REVOCATION_BOUND", "2s")
	lines := w.startLoud(t, "FLAKEPASS_LOG_FORMAT", "json")
	admin := newPassword()
	w.keep.password(admin)
	w.command(t, admin+"\n", "user", "add", "root", "--role", "admin", "--password-stdin")
	w.command(t, admin+"\n", "user", "add", "gateway", "--role", "service", "--password-stdin")

	var last string
	for n, i := range []*instance{text, lines} {
		last = people(t, w, i, admin)
		proofs(t, w, i, admin, []string{"faye", "fred"}[n])
		misplaced(t, w, i, last, admin)
		console(t, w, i, admin)
	}
	for _, args := range [][]string{
		{"user", "list"}, {"user", "disable", "eve"}, {"user", "enable", "eve"}, {"session", "list"}, {"audit"}, {"audit", "--json"},
		{"audit", "--csv"}, {"policy", "history"}, {"config"}, {"sweep"}, {"id", "decode", last}, {"user", "logout", last},
	} {
		w.command(t, "", args...)
	}
	next := newPassword()
	w.keep.password(next)
	w.command(t, next+"\n", "user", "passwd", "eve", "--password-stdin")
	if bytesHave(w.printed, "eve") == 0 {
		t.Error("the commands have printed nothing about the story")
	}

	for _, i := range []*instance{text, lines} {
		w.keep.absent(t, "/metrics", metrics(t, i.ops))
	}
	general, err := os.ReadFile(w.general)
	if err != nil || bytesHave(general, "eve") == 0 {
		t.Fatalf("MySQL's log has nothing about the story: %v", err)
	}
	w.keep.absent(t, "the log of MySQL", general)
	w.keep.absent(t, "the database", rows(t, "root@tcp("+w.mysql.Addr+")/"+w.mysql.Name))
	w.keep.absent(t, "Redis", keys(t, w.deployment.redis.Addr))

	// Nothing is there any more.
	w.deployment.redis.Kill()
	w.mysql.Kill()
	for _, i := range []*instance{text, lines} {
		c := newClient(t, i.public)
		c.keep = w.keep
		for _, a := range []answer{
			c.tryLogin("eve", next), c.tryLogin(next, next), c.me(forge(last)), c.logout(last), c.register("late", next),
			c.do("POST", "/v1/login", object("username", last, "password", last)),
		} {
			if a.status < 400 {
				t.Errorf("without a database: %d", a.status)
			}
			w.answers = append(w.answers, a.body...)
		}
		w.send(t, "POST", "http://"+i.public+"/console/login", typed, url.Values{"username": {last}, "password": {next}}.Encode())
	}
	w.command(t, next+"\n", "user", "passwd", "eve", "--password-stdin")
	for name, i := range map[string]*instance{"text": text, "json": lines} {
		_ = i.stop() // it has no database to say goodbye to
		log := i.log.String()
		if !strings.Contains(log, "DEBUG") || !strings.Contains(log, "ERROR") {
			t.Errorf("the log in %s is not at level debug, or has none of the failures", name)
		}
		w.keep.absent(t, "the log in "+name, []byte(log))
		w.keep.absent(t, "standard output", []byte(i.out.String()))
		noToken(t, "the log in "+name, log)
	}
	w.keep.absent(t, "a command to Redis", []byte(w.redis.String()))
	w.keep.absent(t, "an answer", w.answers)
	w.keep.absent(t, "what a command printed", w.printed)
}

func bytesHave(b []byte, part string) int { return strings.Count(string(b), part) }

// people is what apps and services do.
func people(t *testing.T, w *secretive, i *instance, admin string) (token string) {
	t.Helper()
	c := newClient(t, i.public)
	c.keep = w.keep
	password, next := newPassword(), newPassword()
	w.keep.password(next)
	problem := func(a answer) answer { w.answers = append(w.answers, a.body...); return a }
	c.register("eve", password) // on the second instance the name is taken
	must(t, w.vars, password+"\n", "user", "passwd", "eve", "--password-stdin")
	problem(c.tryLogin("eve", newPassword()))
	problem(c.tryLogin(password, password)) // the password as the name
	first := c.login("eve", password)
	token = c.login("eve", password)
	c.alive(token)
	problem(c.me(first))
	problem(c.me(forge(token)))
	c.want(c.do("GET", "/v1/verify", "", bearer(token), header("X-Forwarded-Method", "GET"), header("X-Forwarded-Uri", "/x?token="+token)), 200, "")

	gateway := c.login("gateway", admin)
	form := func(path string) {
		w.send(t, "POST", "http://"+i.public+path, "application/x-www-form-urlencoded; charset=utf-8", url.Values{"token": {token}}.Encode(), bearer(gateway))
	}
	form("/v1/introspect")
	c.do("POST", "/v1/verifications", `{"tokens":["`+token+`","`+first+`"]}`, bearer(gateway))
	form("/v1/revoke")
	form("/v1/introspect")
	token = c.login("eve", password)

	root := c.login("root", admin)
	for _, r := range []struct{ method, path, body string }{
		{"GET", "/users?name=eve", ""}, {"GET", "/sessions", ""}, {"GET", "/audit", ""}, {"GET", "/stats", ""},
		{"POST", "/users", object("username", "mallory", "password", next, "role", "user", "reason", "new here")},
		{"POST", "/users", object("username", next, "password", next, "role", "user")},
		{"POST", "/logout-all", `{"reason":`},
	} {
		problem(c.do(r.method, "/v1/admin"+r.path, r.body, bearer(root)))
	}
	problem(c.do("GET", "/v1/admin/users", "", bearer(token)))
	problem(c.do("PUT", "/v1/me/password", object("current_password", newPassword(), "new_password", next), bearer(token)))
	problem(c.do("PUT", "/v1/me/password", object("current_password", password, "new_password", password[:4]), bearer(token)))
	c.want(c.do("PUT", "/v1/me/password", object("current_password", password, "new_password", next), bearer(token)), 204, "")
	token = c.login("eve", next)
	c.want(c.logout(token), 204, "")
	problem(c.me(token))
	return c.login("eve", next)
}

// misplaced puts a token and a password wherever a client can put something.
func misplaced(t *testing.T, w *secretive, i *instance, token, password string) {
	t.Helper()
	base := "http://" + i.public
	for _, secret := range []string{token, password} {
		q := url.QueryEscape(secret)
		for _, path := range []string{"/v1/me?token=" + q, "/" + q, "/v1/admin/users/" + q, "/v1/admin/sessions/" + q, "/console/" + q, "/console/setup?code=" + q, "/console/login?next=" + q} {
			w.send(t, "GET", base+path, "", "")
		}
		for _, edit := range []func(*http.Request){
			header("Authorization", "Bearer "+secret+"x"), header("Authorization", secret), header("Authorization", "Bearer "+secret, "Bearer "+secret),
			header("Authorization", "Bearer "+token, "Bearer "+secret), header("X-Auth-Token", secret, token),
			header("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("eve:"+secret))),
			header("X-Request-Id", secret), header("User-Agent", secret), header("Referer", base+"/?t="+q), header("X-Forwarded-For", secret),
			header("Cookie", "__Host-flakepass="+q+"; other="+q), header("Content-Type", secret), header("Origin", "https://"+q+".example"),
		} {
			w.send(t, "GET", base+"/v1/me", "", "", edit)
			w.send(t, "POST", base+"/v1/login", jsonKind, object("username", "eve", "password", "wrong", "token", secret), edit)
			w.send(t, "POST", base+"/v1/introspect", "application/x-www-form-urlencoded; charset=utf-8", "token="+q, edit)
			w.send(t, "GET", base+"/console/", "", "", edit)
		}
		w.send(t, "POST", base+"/v1/login", jsonKind, object("username", secret, "password", secret))
		w.send(t, "POST", base+"/v1/register", jsonKind, object("username", secret, "password", "short"))
		w.send(t, "POST", base+"/v1/login", jsonKind, `{"username":"`+secret+`","password":"`+secret+`"`)
	}
}

// console is what an admin does with a browser.
func console(t *testing.T, w *secretive, i *instance, admin string) {
	t.Helper()
	base := "http://" + i.public + "/console/"
	w.send(t, "POST", base+"login", typed, url.Values{"username": {admin}, "password": {admin}}.Encode())
	cookies := w.send(t, "POST", base+"login", typed, url.Values{"username": {"root"}, "password": {admin}}.Encode())
	if len(cookies) == 0 || len(cookies[0].Value) != flakepass.TokenLen {
		t.Fatal("the console lets nobody in")
	}
	w.keep.token(cookies[0].Value)
	with := header("Cookie", cookies[0].Name+"="+cookies[0].Value)
	for _, page := range []string{"", "expiry", "audit", "audit.csv", "audit.ndjson", "users", "logins", "nothing?token=" + cookies[0].Value} {
		w.send(t, "GET", base+page, "", "", with)
	}
	w.send(t, "POST", base+"users", typed, url.Values{"username": {"zoe"}, "password": {admin}, "role": {"admin"}, "confirm_password": {"wrong"}}.Encode(), with)
	w.send(t, "POST", base+"logout", typed, "", with)
	w.send(t, "GET", base, "", "", with)
}

// someToken is how a token looks, whosever it is, and that of a reset.
var someToken = regexp.MustCompile(`fp_[0-9A-Za-z_-]{43}|` + resetText.String())

// noToken fails the test if there is a token in what a server has printed.
func noToken(t testing.TB, where, printed string) {
	t.Helper()
	if at := someToken.FindStringIndex(printed); at != nil {
		t.Errorf("%s holds a token, in: %s", where, someToken.ReplaceAllString(printed[max(0, at[0]-200):at[1]], "[token]"))
	}
}
