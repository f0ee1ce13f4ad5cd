//go:build unix

package attack

import (
	"database/sql"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

const (
	formType = "application/x-www-form-urlencoded"
	cookie   = "__Host-flakepass="
)

// browse opens a page of the console as the holder of the token.
func (w *world) browse(token, at, path string, headers ...string) answer {
	w.t.Helper()
	return w.send("GET", at, path, "", append([]string{"Cookie", cookie + token}, headers...)...)
}

// consoleForms are what an admin may send, each of which does something.
func consoleForms(user, login string) map[string]url.Values {
	confirmed := func(v url.Values) url.Values {
		v.Set("confirm_password", password)
		v.Set("reason", "because")
		return v
	}
	return map[string]url.Values{
		"/console/users":          confirmed(url.Values{"username": {"mallory"}, "password": {"another violet tram at noon"}, "role": {"admin"}}),
		"/console/users/" + user:  confirmed(url.Values{"do": {"disabled"}}),
		"/console/logins/end":     {"id": {login}, "next": {"/console/logins"}},
		"/console/logins/end-all": confirmed(url.Values{"phrase": {"end all logins"}}),
		"/console/expiry":         {"do": {"save"}, "version": {"1"}, "idle": {"1h"}, "absolute": {"2h"}, "touch": {"1m"}, "schedule": {"@every 1m"}},
		"/console/expiry/revert":  {"to": {"1"}, "version": {"1"}},
		"/console/logout":         {},
		"/console/language":       {"lang": {"zh"}, "next": {"/console/"}},
	}
}

// TestOtherSitesDoNothingInTheConsole: with the cookie of an admin, which a
// browser would not even send, and right passwords.
func TestOtherSitesDoNothingInTheConsole(t *testing.T) { //nolint:tparallel // its parts take turns on one server
	t.Parallel()
	w := newWorld(t)
	root := w.admin("root")
	user, login := w.idsOf(w.register("alice"))
	before := w.dump(allTables...)
	const evil = "https://evil.example"
	crossing := map[string][]string{
		"another site":                  {"Sec-Fetch-Site", "cross-site", "Origin", evil},
		"another site, no origin":       {"Sec-Fetch-Site", "cross-site"},
		"another site, origin hidden":   {"Sec-Fetch-Site", "cross-site", "Origin", "null"},
		"a sibling":                     {"Sec-Fetch-Site", "same-site", "Origin", "http://x." + w.api},
		"an older browser":              {"Origin", evil},
		"an older browser, hidden":      {"Origin", "null"},
		"an older browser, sandboxed":   {"Origin", "null", "Referer", "http://" + w.api + "/console/"},
		"another port":                  {"Origin", "http://127.0.0.1:1"},
		"our name as a prefix":          {"Origin", "http://" + w.api + ".evil.example"},
		"our name as a user":            {"Origin", "http://" + w.api + "@evil.example"},
		"a fetch site of no known kind": {"Sec-Fetch-Site", "evil", "Origin", evil},
		"two origins":                   {"Origin", evil, "Origin", "http://" + w.api},
		"a host that a proxy claims":    {"Origin", evil, "X-Forwarded-Host", "evil.example", "Forwarded", "host=evil.example"},
	}
	w.directAndProxied(t, func(t *testing.T, at string) {
		for path, form := range consoleForms(user, login) {
			for name, headers := range crossing {
				all := append([]string{"Cookie", cookie + root, "Content-Type", formType}, headers...)
				if a := w.send("POST", at, path, form.Encode(), all...); a.status != 403 {
					t.Errorf("%s by %s: got %d to %q", path, name, a.status, a.header.Get("Location"))
				}
			}
			// What a form of another site can send without asking first, and what it cannot.
			for _, kind := range []string{"text/plain", "multipart/form-data; boundary=x", "application/json", "application/octet-stream"} {
				if a := w.send("POST", at, path, form.Encode(), "Cookie", cookie+root, "Content-Type", kind, "Sec-Fetch-Site", "same-origin"); a.status != 415 {
					t.Errorf("%s as %s: got %d", path, kind, a.status)
				}
			}
			if a := w.browse(root, at, path+"?"+form.Encode()); a.status >= 500 || a.header.Get("Set-Cookie") != "" {
				t.Errorf("%s by GET: got %d %v", path, a.status, a.header)
			}
		}
		// A page of another site that writes the cookie cannot make it two.
		if a := w.send("GET", at, "/console/users", "", "Cookie", cookie+root+"; "+cookie+root); a.status != 303 {
			t.Errorf("two cookies: got %d", a.status)
		}
		// A preflight is answered with nothing that a browser would take for leave.
		a := w.send("OPTIONS", at, "/v1/admin/users", "", "Origin", evil, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization")
		for name := range a.header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("a preflight is answered with %s", name)
			}
		}
	})
	if after := w.dump(allTables...); after != before {
		t.Errorf("the database was\n%s\nand is\n%s", before, after)
	}
	w.alive(root)
	// And of our own pages a form does something, or the rest would prove nothing.
	if a := w.send("POST", w.api, "/console/users/"+user, consoleForms(user, login)["/console/users/"+user].Encode(),
		"Cookie", cookie+root, "Content-Type", formType, "Sec-Fetch-Site", "same-origin", "Origin", "http://"+w.api); a.status != 303 || w.dump(allTables...) == before {
		t.Errorf("our own form: got %d\n%s", a.status, a.body)
	}
}

// payloads end whatever they stand in, and begin an element or an attribute whose
// name has planted in it.
var payloads = []string{
	`"><planted onplanted=1 planted>`, `'><planted planted='`, `</title></script></style></textarea></select></option><script planted>planted()</script>`,
	`" onplanted="planted()" planted="`, `<svg/onload=planted()><planted>`, `javascript:planted()//"planted="`, `{{planted}}<!--<planted>`, `--><planted><![CDATA[`,
	"\u2028\u202e<planted\x0bplanted=1>", `<a href="javascript:planted()" planted>`, `&lt;planted&gt;&#60;planted&#62;&quot; planted=&quot;`, "\x00<\x00planted\x00>",
}

// planted reports what in a page was born from a payload.
func planted(page string) (found []string, texts int) {
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			return found, texts
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			tag := z.Token()
			if strings.Contains(tag.Data, "planted") {
				found = append(found, tag.String())
			}
			for _, a := range tag.Attr {
				link := strings.TrimSpace(strings.ToLower(a.Val))
				switch {
				case strings.Contains(a.Key, "planted"), strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "srcdoc":
					found = append(found, tag.String())
				case (a.Key == "href" || a.Key == "src" || a.Key == "action" || a.Key == "formaction") && !strings.HasPrefix(link, "/console/") && link != "" && link[0] != '#' && link[0] != '?' && link != "/v1/me" && link != "/openapi.yaml":
					found = append(found, tag.String())
				case strings.Contains(a.Val, "planted"):
					texts++
				}
			}
			if kind == html.StartTagToken && tag.Data == "script" {
				if z.Next(); strings.TrimSpace(string(z.Raw())) != "" && !strings.HasPrefix(string(z.Raw()), "</script") {
					found = append(found, "a script in the page: "+string(z.Raw()))
				}
			}
		case html.CommentToken:
			if strings.Contains(string(z.Raw()), "planted") {
				found = append(found, string(z.Raw()))
			}
		case html.TextToken:
			if strings.Contains(string(z.Raw()), "planted") {
				texts++
			}
		}
	}
}

// plant writes a text into every column that a page could show, past all rules
// that would keep it out.
func (w *world) plant(text string) {
	w.t.Helper()
	db, err := sql.Open("sqlite", "file:"+w.file+"?_pragma=busy_timeout(10000)")
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	short := text[:min(len(text), 64)]
	for _, s := range []struct {
		statement string
		values    []any
	}{
		{"UPDATE users SET username = ? || id WHERE role <> 'admin'", []any{text}},
		{"UPDATE audit_events SET actor = ?, target = ?, reason = ?, request_id = ?, address = ?", []any{text, text, text, short, short}},
		{"UPDATE audit_events SET action = ?, via = ?, target_kind = ? WHERE id IN (SELECT max(id) FROM audit_events)", []any{text[:min(len(text), 48)], text[:min(len(text), 16)], text[:min(len(text), 16)]}},
		{"UPDATE audit_events SET old_value = CAST(? AS BLOB), new_value = CAST(? AS BLOB) WHERE id IN (SELECT min(id) FROM audit_events)", []any{text, object("idle_timeout", text, text, text)}},
		{"UPDATE policies SET updated_by = ?, note = ?", []any{text, text}},
		{"UPDATE settings SET updated_by = ?, note = ?", []any{text, text}},
		{"UPDATE sweeps SET instance = ?, outcome = ?, detail = ?, requested_by = ?", []any{text, text[:min(len(text), 24)], text, text}},
		{"UPDATE users SET ended_reason = ? WHERE ended_token_id IS NOT NULL AND role <> 'admin'", []any{text[:min(len(text), 24)]}},
	} {
		if _, err := db.ExecContext(w.t.Context(), s.statement, s.values...); err != nil {
			w.t.Fatalf("%s: %v", s.statement, err)
		}
	}
}

// TestNothingStoredBecomesMarkup: what is in the database by whatever way, and
// what is in the URL, is text on every page of the console, in both languages.
func TestNothingStoredBecomesMarkup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	root := w.admin("root")
	w.register("alice")
	user, _ := w.idsOf(w.login("alice"))
	// Something of every kind is on record.
	for _, c := range [][3]string{
		{"PATCH", "/v1/admin/users/" + user, `{"disabled":true,"reason":"because"}`}, {"PATCH", "/v1/admin/users/" + user, `{"disabled":false,"reason":"because"}`},
		{"POST", "/v1/admin/sweeps", ""}, {"POST", "/v1/admin/users", object("username", "bob", "password", password, "role", "service")},
	} {
		if a := w.send(c[0], w.api, c[1], c[2], bearer(root)...); a.status >= 400 {
			t.Fatalf("%v: got %d %s", c, a.status, a.body)
		}
	}
	w.login("alice")
	shown := map[string]int{}
	for _, payload := range payloads {
		w.plant(payload)
		q := url.QueryEscape(payload)
		for _, path := range []string{
			"/console/", "/console/users", "/console/users/" + user, "/console/logins", "/console/audit", "/console/expiry", "/console/login", "/console/setup", "/console/nowhere",
			"/console/users?name=" + q + "&before=" + q + "&done=" + q, "/console/logins?before=" + q + "&reason=" + q, "/console/login?why=" + q + "&next=" + q, "/console/setup?code=" + q,
			"/console/audit?action=" + q + "&since=" + q + "&until=" + q + "&actor=" + q + "&target=" + q + "&before=" + q, "/console/expiry?before=" + q + "&version=" + q,
			"/console/users/" + url.PathEscape(payload), "/console/nowhere/" + url.PathEscape(payload), "/console/assets/" + url.PathEscape(payload),
		} {
			for _, language := range []string{"en", "zh"} {
				who := root
				if strings.HasPrefix(path, "/console/login?") || path == "/console/login" {
					who = "" // a user who is logged in is led on
				}
				a := w.browse(who, w.api, path, "Accept-Language", language, "User-Agent", payloadHeader(payload), "Referer", "http://"+w.api+"/console/"+q, "X-Request-Id", payloadHeader(payload))
				if a.status >= 500 || !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") || !strings.Contains(a.header.Get("Content-Security-Policy"), "script-src 'self'") {
					t.Errorf("%s: got %d to %q", path, a.status, a.header.Get("Location"))
				}
				found, texts := planted(a.body)
				for _, f := range found {
					t.Errorf("%s with %q: the page has %s", path, payload, f)
				}
				page, _, _ := strings.Cut(path, "?")
				shown[page] += texts
			}
		}
		for _, form := range []struct {
			path   string
			fields url.Values
		}{
			{"/console/login", url.Values{"username": {payload}, "password": {"x"}, "next": {payload}}},
			{"/console/users", url.Values{"username": {payload}, "password": {"x"}, "role": {payload}, "reason": {payload}, "confirm_password": {"x"}}},
			{"/console/users/" + user, url.Values{"do": {payload}, "role": {payload}, "reason": {payload}, "confirm_password": {"x"}}},
			{"/console/expiry", url.Values{"do": {"preview"}, "idle": {payload}, "absolute": {payload}, "touch": {payload}, "schedule": {payload}, "note": {payload}, "version": {payload}, "confirm_for": {payload}}},
			{"/console/logins/end-all", url.Values{"phrase": {payload}, "reason": {payload}, "confirm_password": {"x"}}},
			{"/console/logins/end", url.Values{"id": {payload}, "next": {payload}}},
			{"/console/language", url.Values{"lang": {payload}, "next": {payload}}},
		} {
			a := w.send("POST", w.api, form.path, form.fields.Encode(), "Cookie", cookie+root, "Content-Type", formType, "Sec-Fetch-Site", "same-origin")
			found, texts := planted(a.body)
			if to := a.header.Get("Location"); len(found) > 0 || a.status >= 500 || to != "" && !strings.HasPrefix(to, "/console/") {
				t.Errorf("%s with %q: got %d to %q, %v", form.path, payload, a.status, to, found)
			}
			shown["POST "+form.path] += texts
		}
	}
	for _, page := range []string{"/console/", "/console/users", "/console/users/" + user, "/console/audit", "/console/expiry", "POST /console/login", "POST /console/users", "POST /console/expiry"} {
		if shown[page] == 0 {
			t.Errorf("%s shows nothing of what is planted: this test does not see it", page)
		}
	}
}

// payloadHeader is a payload as a header can carry it.
func payloadHeader(payload string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '.'
		}
		return r
	}, payload)
}
