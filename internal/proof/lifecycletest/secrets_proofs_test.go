package lifecycletest

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/e2e"
)

// proofs is how a user sets a first password by a one-time link and adds a
// second factor, and puts what belongs to these into wrong places.
//
// A code of six digits is not looked for: there are numbers everywhere.
func proofs(t *testing.T, w *secretive, i *e2e.Instance, admin, name string) {
	t.Helper()
	c, base := e2e.NewClient(t, i.Public), "http://"+i.Public
	c.Keep = w.keep
	problem := func(a e2e.Answer) { w.answers = append(w.answers, a.Body...) }
	root := c.Login("root", admin)
	password := e2e.NewPassword()
	w.keep.Password(password)

	made := c.Want(c.Do("POST", "/v1/admin/users", e2e.Object("username", name, "role", "user"), e2e.Bearer(root)), 201, "")
	given, _ := made.Fields["password_reset"].(map[string]any)
	reset := fmt.Sprint(given["reset_token"])
	again := e2e.ResetText.FindString(e2e.Must(t, w.Vars, "", "user", "reset", name).Out)
	if again == "" {
		t.Fatal("the command gives out no link")
	}
	for _, text := range []string{reset, again} {
		w.keep.Add(text, "the token of a reset")
		w.keep.Add(text[4:30], "the secret of the token of a reset")
	}
	use := func(token, password string) e2e.Answer {
		return c.Do("POST", "/v1/password-resets", e2e.Object("reset_token", token, "new_password", password))
	}
	problem(use(reset, password)) // replaced
	problem(use(again, again[:9]))
	c.Want(use(again, password), 204, "")
	problem(use(again, password))

	token := c.Login(name, password)
	secret, codes := e2e.EnrolByAPI(t, c, token, password)
	w.keep.Add(secret, "the secret of a second factor")
	for _, code := range codes {
		w.keep.Add(fmt.Sprint(code), "a recovery code")
		w.keep.Add(strings.ReplaceAll(fmt.Sprint(code), "-", ""), "a recovery code")
	}
	recovery := fmt.Sprint(codes[0])
	for _, code := range []string{e2e.NextCode(t, secret, 1), recovery} {
		in := c.Want(c.Do("POST", "/v1/login", e2e.Object("username", name, "password", password, "code", code)), 200, "")
		token = in.Field("token")
		w.keep.Token(token)
	}

	for _, text := range []string{reset, secret, recovery} {
		q := url.QueryEscape(text)
		problem(c.Do("POST", "/v1/login", e2e.Object("username", text, "password", text)))
		problem(c.Do("POST", "/v1/login", e2e.Object("username", name, "password", text, "code", text)))
		problem(c.Do("DELETE", "/v1/me/second-factor", e2e.Object("current_password", text, "code", text), e2e.Bearer(token)))
		problem(use(text, text))
		for _, path := range []string{"/" + q, "/v1/me?code=" + q, "/v1/admin/users/" + q, "/console/password?reset_token=" + q, "/console/login/" + q} {
			w.send(t, "GET", base+path, "", "", e2e.Header("Referer", base+"/console/password#"+q), e2e.Header("User-Agent", text))
		}
		for path, form := range map[string]url.Values{
			"login": {"username": {text}, "password": {password}}, "login/code": {"ticket": {text}, "code": {text}},
			"password": {"reset_token": {text}, "password": {password}, "password_again": {text}},
		} {
			w.send(t, "POST", base+"/console/"+path, typed, form.Encode())
		}
		for _, edit := range []func(*http.Request){
			e2e.Header("Authorization", "Bearer "+text), e2e.Header("Cookie", "__Host-flakepass="+q), e2e.Header("Origin", "https://"+q+".example"),
		} {
			w.send(t, "GET", base+"/v1/me", "", "", edit)
		}
	}
	for _, name := range []string{reset, "id-" + again} {
		w.send(t, "GET", base+"/v1/me", "", "", e2e.Header("X-Request-Id", name))
	}
}
