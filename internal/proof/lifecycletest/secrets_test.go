package lifecycletest

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
	"strings"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// A secretive is a deployment on a MySQL and a Redis of its own, with all their
// logs on, and the secrets of a test.
type secretive struct {
	*e2e.Deployment
	keep    *e2e.Canaries
	mysql   *testenv.MySQLServer
	general string // the path of MySQL's general log
	redis   *testenv.Journal
	printed []byte // by commands
	answers []byte // problems; a page of the console has the address that was typed
}

func newSecretive(t *testing.T) *secretive {
	t.Helper()
	redis := testenv.Redis(t)
	w := &secretive{keep: &e2e.Canaries{}, mysql: testenv.OwnMySQL(t), redis: monitor(t, redis.Addr)}
	dbPassword, forward := "canary.of.the.database", "a canary signs what proxies receive"
	w.keep.Add(dbPassword, "the password of the database")
	w.keep.Add(forward, "the key of what proxies receive")
	factorKey := make([]byte, secondfactor.KeyLength)
	_, _ = rand.Read(factorKey) // never fails
	w.keep.Add(string(factorKey), "the key of second factors")
	for _, statement := range []string{"CREATE USER app IDENTIFIED BY '" + dbPassword + "'", "GRANT ALL ON *.* TO app"} {
		e2e.Execute(t, w.mysql.DB(), statement)
	}
	dir := t.TempDir()
	w.general = filepath.Join(dir, "general.log")
	e2e.Execute(t, w.mysql.DB(), "SET PERSIST general_log_file = '"+w.general+"'")
	e2e.Execute(t, w.mysql.DB(), "SET PERSIST general_log = ON")
	w.Deployment = e2e.NewDeployment(map[string]string{
		"FLAKEPASS_DATA_DIR": t.TempDir(), "FLAKEPASS_REDIS": redis.URL(), "FLAKEPASS_FORWARD_KEY": forward,
		"FLAKEPASS_SECOND_FACTOR_KEY": hex.EncodeToString(factorKey),
		"FLAKEPASS_DATABASE":          "mysql://app:" + dbPassword + "@" + w.mysql.Addr + "/" + w.mysql.Name,
	}, &e2e.Deployment{Redis: redis})
	return w
}

func (w *secretive) command(t *testing.T, in string, args ...string) {
	t.Helper()
	r := e2e.Command(t, w.Vars, in, args...)
	w.printed = append(w.printed, r.Out+r.Errs...)
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
	client := &http.Client{Timeout: e2e.Patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
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

// TestNoSecretIsWrittenAnywhere runs a story with every secret in the right
// place and in many wrong ones, while everything is logged that can be, by us, by
// MySQL and by Redis; also when these are gone. Then all that was written is
// searched for every secret, in every spelling.
func TestNoSecretIsWrittenAnywhere(t *testing.T) {
	t.Parallel()
	w := newSecretive(t)
	text := w.StartLoud(t, "FLAKEPASS_TOKEN_HEADER", "X-Auth-Token", "FLAKEPASS_REVOCATION_BOUND", "2s")
	lines := w.StartLoud(t, "FLAKEPASS_LOG_FORMAT", "json")
	admin := e2e.NewPassword()
	w.keep.Password(admin)
	w.command(t, admin+"\n", "user", "add", "root", "--role", "admin", "--password-stdin")
	w.command(t, admin+"\n", "user", "add", "gateway", "--role", "service", "--password-stdin")

	var last string
	for n, i := range []*e2e.Instance{text, lines} {
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
	next := e2e.NewPassword()
	w.keep.Password(next)
	w.command(t, next+"\n", "user", "passwd", "eve", "--password-stdin")
	if bytesHave(w.printed, "eve") == 0 {
		t.Error("the commands have printed nothing about the story")
	}

	for _, i := range []*e2e.Instance{text, lines} {
		w.keep.Absent(t, "/metrics", e2e.Metrics(t, i.Ops))
	}
	general, err := os.ReadFile(w.general)
	if err != nil || bytesHave(general, "eve") == 0 {
		t.Fatalf("MySQL's log has nothing about the story: %v", err)
	}
	w.keep.Absent(t, "the log of MySQL", general)
	w.keep.Absent(t, "the database", rows(t, "root@tcp("+w.mysql.Addr+")/"+w.mysql.Name))
	w.keep.Absent(t, "Redis", keys(t, w.Redis.Addr))

	// Nothing is there any more.
	w.Redis.Kill()
	w.mysql.Kill()
	for _, i := range []*e2e.Instance{text, lines} {
		c := e2e.NewClient(t, i.Public)
		c.Keep = w.keep
		for _, a := range []e2e.Answer{
			c.TryLogin("eve", next), c.TryLogin(next, next), c.Me(e2e.Forge(last)), c.Logout(last), c.Register("late", next),
			c.Do("POST", "/v1/login", e2e.Object("username", last, "password", last)),
		} {
			if a.Status < 400 {
				t.Errorf("without a database: %d", a.Status)
			}
			w.answers = append(w.answers, a.Body...)
		}
		w.send(t, "POST", "http://"+i.Public+"/console/login", typed, url.Values{"username": {last}, "password": {next}}.Encode())
	}
	w.command(t, next+"\n", "user", "passwd", "eve", "--password-stdin")
	for name, i := range map[string]*e2e.Instance{"text": text, "json": lines} {
		_ = i.Stop() // it has no database to say goodbye to
		log := i.Log.String()
		if !strings.Contains(log, "DEBUG") || !strings.Contains(log, "ERROR") {
			t.Errorf("the log in %s is not at level debug, or has none of the failures", name)
		}
		w.keep.Absent(t, "the log in "+name, []byte(log))
		w.keep.Absent(t, "standard output", []byte(i.Out.String()))
		e2e.NoToken(t, "the log in "+name, log)
	}
	w.keep.Absent(t, "a command to Redis", []byte(w.redis.String()))
	w.keep.Absent(t, "an answer", w.answers)
	w.keep.Absent(t, "what a command printed", w.printed)
}

func bytesHave(b []byte, part string) int { return strings.Count(string(b), part) }

// people is what apps and services do.
func people(t *testing.T, w *secretive, i *e2e.Instance, admin string) (token string) {
	t.Helper()
	c := e2e.NewClient(t, i.Public)
	c.Keep = w.keep
	password, next := e2e.NewPassword(), e2e.NewPassword()
	w.keep.Password(next)
	problem := func(a e2e.Answer) e2e.Answer { w.answers = append(w.answers, a.Body...); return a }
	c.Register("eve", password) // on the second instance the name is taken
	e2e.Must(t, w.Vars, password+"\n", "user", "passwd", "eve", "--password-stdin")
	problem(c.TryLogin("eve", e2e.NewPassword()))
	problem(c.TryLogin(password, password)) // the password as the name
	first := c.Login("eve", password)
	token = c.Login("eve", password)
	c.Alive(token)
	problem(c.Me(first))
	problem(c.Me(e2e.Forge(token)))
	c.Want(c.Do("GET", "/v1/verify", "", e2e.Bearer(token), e2e.Header("X-Forwarded-Method", "GET"), e2e.Header("X-Forwarded-Uri", "/x?token="+token)), 200, "")

	gateway := c.Login("gateway", admin)
	form := func(path string) {
		w.send(t, "POST", "http://"+i.Public+path, "application/x-www-form-urlencoded; charset=utf-8", url.Values{"token": {token}}.Encode(), e2e.Bearer(gateway))
	}
	form("/v1/introspect")
	c.Do("POST", "/v1/verifications", `{"tokens":["`+token+`","`+first+`"]}`, e2e.Bearer(gateway))
	form("/v1/revoke")
	form("/v1/introspect")
	token = c.Login("eve", password)

	root := c.Login("root", admin)
	for _, r := range []struct{ method, path, body string }{
		{"GET", "/users?name=eve", ""}, {"GET", "/sessions", ""}, {"GET", "/audit", ""}, {"GET", "/stats", ""},
		{"POST", "/users", e2e.Object("username", "mallory", "password", next, "role", "user", "reason", "new here")},
		{"POST", "/users", e2e.Object("username", next, "password", next, "role", "user")},
		{"POST", "/logout-all", `{"reason":`},
	} {
		problem(c.Do(r.method, "/v1/admin"+r.path, r.body, e2e.Bearer(root)))
	}
	problem(c.Do("GET", "/v1/admin/users", "", e2e.Bearer(token)))
	problem(c.Do("PUT", "/v1/me/password", e2e.Object("current_password", e2e.NewPassword(), "new_password", next), e2e.Bearer(token)))
	problem(c.Do("PUT", "/v1/me/password", e2e.Object("current_password", password, "new_password", password[:4]), e2e.Bearer(token)))
	c.Want(c.Do("PUT", "/v1/me/password", e2e.Object("current_password", password, "new_password", next), e2e.Bearer(token)), 204, "")
	token = c.Login("eve", next)
	c.Want(c.Logout(token), 204, "")
	problem(c.Me(token))
	return c.Login("eve", next)
}

// misplaced puts a token and a password wherever a client can put something.
func misplaced(t *testing.T, w *secretive, i *e2e.Instance, token, password string) {
	t.Helper()
	base := "http://" + i.Public
	for _, secret := range []string{token, password} {
		q := url.QueryEscape(secret)
		for _, path := range []string{"/v1/me?token=" + q, "/" + q, "/v1/admin/users/" + q, "/v1/admin/sessions/" + q, "/console/" + q, "/console/setup?code=" + q, "/console/login?next=" + q} {
			w.send(t, "GET", base+path, "", "")
		}
		for _, edit := range []func(*http.Request){
			e2e.Header("Authorization", "Bearer "+secret+"x"), e2e.Header("Authorization", secret), e2e.Header("Authorization", "Bearer "+secret, "Bearer "+secret),
			e2e.Header("Authorization", "Bearer "+token, "Bearer "+secret), e2e.Header("X-Auth-Token", secret, token),
			e2e.Header("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("eve:"+secret))),
			e2e.Header("X-Request-Id", secret), e2e.Header("User-Agent", secret), e2e.Header("Referer", base+"/?t="+q), e2e.Header("X-Forwarded-For", secret),
			e2e.Header("Cookie", "__Host-flakepass="+q+"; other="+q), e2e.Header("Content-Type", secret), e2e.Header("Origin", "https://"+q+".example"),
		} {
			w.send(t, "GET", base+"/v1/me", "", "", edit)
			w.send(t, "POST", base+"/v1/login", jsonKind, e2e.Object("username", "eve", "password", "wrong", "token", secret), edit)
			w.send(t, "POST", base+"/v1/introspect", "application/x-www-form-urlencoded; charset=utf-8", "token="+q, edit)
			w.send(t, "GET", base+"/console/", "", "", edit)
		}
		w.send(t, "POST", base+"/v1/login", jsonKind, e2e.Object("username", secret, "password", secret))
		w.send(t, "POST", base+"/v1/register", jsonKind, e2e.Object("username", secret, "password", "short"))
		w.send(t, "POST", base+"/v1/login", jsonKind, `{"username":"`+secret+`","password":"`+secret+`"`)
	}
}

// console is what an admin does with a browser.
func console(t *testing.T, w *secretive, i *e2e.Instance, admin string) {
	t.Helper()
	base := "http://" + i.Public + "/console/"
	w.send(t, "POST", base+"login", typed, url.Values{"username": {admin}, "password": {admin}}.Encode())
	cookies := w.send(t, "POST", base+"login", typed, url.Values{"username": {"root"}, "password": {admin}}.Encode())
	if len(cookies) == 0 || len(cookies[0].Value) != flakepass.TokenLen {
		t.Fatal("the console lets no user in")
	}
	w.keep.Token(cookies[0].Value)
	with := e2e.Header("Cookie", cookies[0].Name+"="+cookies[0].Value)
	for _, page := range []string{"", "expiry", "audit", "audit.csv", "audit.ndjson", "users", "logins", "nothing?token=" + cookies[0].Value} {
		w.send(t, "GET", base+page, "", "", with)
	}
	w.send(t, "POST", base+"users", typed, url.Values{"username": {"zoe"}, "password": {admin}, "role": {"admin"}, "confirm_password": {"wrong"}}.Encode(), with)
	w.send(t, "POST", base+"logout", typed, "", with)
	w.send(t, "GET", base, "", "", with)
}
