package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// proofs is how somebody sets a first password by a one-time link and adds a
// second factor, and puts what belongs to these into wrong places.
//
// A code of six digits is not looked for: there are numbers everywhere.
func proofs(t *testing.T, w *secretive, i *instance, admin, name string) {
	t.Helper()
	c, base := newClient(t, i.public), "http://"+i.public
	c.keep = w.keep
	problem := func(a answer) { w.answers = append(w.answers, a.body...) }
	root := c.login("root", admin)
	password := newPassword()
	w.keep.password(password)

	made := c.want(c.do("POST", "/v1/admin/users", object("username", name, "role", "user"), bearer(root)), 201, "")
	given, _ := made.fields["password_reset"].(map[string]any)
	reset := fmt.Sprint(given["reset_token"])
	again := resetText.FindString(must(t, w.vars, "", "user", "reset", name).out)
	if again == "" {
		t.Fatal("the command gives out no link")
	}
	for _, text := range []string{reset, again} {
		w.keep.add(text, "the token of a reset")
		w.keep.add(text[4:30], "the secret of the token of a reset")
	}
	use := func(token, password string) answer {
		return c.do("POST", "/v1/password-resets", object("reset_token", token, "new_password", password))
	}
	problem(use(reset, password)) // replaced
	problem(use(again, again[:9]))
	c.want(use(again, password), 204, "")
	problem(use(again, password))

	token := c.login(name, password)
	secret, codes := enrolByAPI(t, c, token, password)
	w.keep.add(secret, "the secret of a second factor")
	for _, code := range codes {
		w.keep.add(fmt.Sprint(code), "a recovery code")
		w.keep.add(strings.ReplaceAll(fmt.Sprint(code), "-", ""), "a recovery code")
	}
	recovery := fmt.Sprint(codes[0])
	for _, code := range []string{nextCode(t, secret, 1), recovery} {
		in := c.want(c.do("POST", "/v1/login", object("username", name, "password", password, "code", code)), 200, "")
		token = in.field("token")
		w.keep.token(token)
	}

	for _, text := range []string{reset, secret, recovery} {
		q := url.QueryEscape(text)
		problem(c.do("POST", "/v1/login", object("username", text, "password", text)))
		problem(c.do("POST", "/v1/login", object("username", name, "password", text, "code", text)))
		problem(c.do("DELETE", "/v1/me/second-factor", object("current_password", text, "code", text), bearer(token)))
		problem(use(text, text))
		for _, path := range []string{"/" + q, "/v1/me?code=" + q, "/v1/admin/users/" + q, "/console/password?reset_token=" + q, "/console/login/" + q} {
			w.send(t, "GET", base+path, "", "", header("Referer", base+"/console/password#"+q), header("User-Agent", text))
		}
		for path, form := range map[string]url.Values{
			"login": {"username": {text}, "password": {password}}, "login/code": {"ticket": {text}, "code": {text}},
			"password": {"reset_token": {text}, "password": {password}, "password_again": {text}},
		} {
			w.send(t, "POST", base+"/console/"+path, typed, form.Encode())
		}
		for _, edit := range []func(*http.Request){
			header("Authorization", "Bearer "+text), header("Cookie", "__Host-flakepass="+q), header("Origin", "https://"+q+".example"),
		} {
			w.send(t, "GET", base+"/v1/me", "", "", edit)
		}
	}
	for _, name := range []string{reset, "id-" + again} {
		w.send(t, "GET", base+"/v1/me", "", "", header("X-Request-Id", name))
	}
}
