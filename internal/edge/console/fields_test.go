package console_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fieldsOf returns the tags of the fields of all pages, by the file.
func fieldsOf(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("pages/*.html")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d pages, %v", len(files), err)
	}
	all := map[string][]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[file] = fieldTag.FindAllString(string(text), -1)
	}
	return all
}

var passwordName = regexp.MustCompile(`name="(?:\w*password|password_again)"`)

// takesPassword reports whether a password is typed into a field. That of
// passphrase.html is named by the page around it.
func takesPassword(file, field string) bool {
	return passwordName.MatchString(field) || strings.HasSuffix(file, "passphrase.html")
}

var fieldTag = regexp.MustCompile(`<(?:input|textarea)[^>]*>`)

// Every field for a password is masked, on every page that has one: as it is opened,
// and as it is shown again where password and code have to be shown first. How many
// there are is known, so none is missed.
func TestPasswordFieldsAreMasked(t *testing.T) {
	w := newWorld(t)
	setup := w.open() // the link is over with the first admin
	for _, has := range []bool{true, false} {
		c := w.furnish(has)
		pages := map[string]*httptest.ResponseRecorder{"setup": setup, "login": w.get("/console/login"), "password": w.get("/console/password")}
		want := map[string]int{"setup": 1, "login": 1, "password": 2, "/console/account": 3, "/console/users": 1}
		for _, path := range []string{"/console/account", "/console/users", "/console/users/8", "/console/logins", "/console/limits", "/console/expiry"} {
			pages[path] = w.see(c, path)
		}
		for form, page := range w.asking(c) {
			pages[form], want[form] = page, 1
		}
		want["users"] = 2 // that of the new user, too
		for name, page := range pages {
			found := 0
			for _, field := range fieldTag.FindAllString(page.Body.String(), -1) {
				if !passwordName.MatchString(field) {
					continue
				}
				if found++; !strings.Contains(field, `type="password"`) {
					t.Errorf("%s shows what is typed into %s", name, field)
				}
			}
			if found != want[name] {
				t.Errorf("%s, second factor %v: %d fields for passwords, want %d", name, has, found, want[name])
			}
		}
	}
	inFiles := 0
	for file, fields := range fieldsOf(t) {
		for _, field := range fields {
			if !takesPassword(file, field) {
				continue
			}
			if inFiles++; !strings.Contains(field, `type="password"`) {
				t.Errorf("%s shows what is typed into %s", file, field)
			}
		}
	}
	if inFiles != 6 { // one more is one more page to look at above
		t.Errorf("%d fields for passwords are in the files of the pages", inFiles)
	}
}

func TestPasswordManagersAndPasteWork(t *testing.T) {
	for file, fields := range fieldsOf(t) {
		for _, field := range fields {
			said := strings.Contains(field, `autocomplete="current-password"`) || strings.Contains(field, `autocomplete="new-password"`)
			if takesPassword(file, field) && !said {
				t.Errorf("%s does not say which password %s is", file, field)
			}
			if strings.Contains(field, "readonly") && takesPassword(file, field) {
				t.Errorf("%s: nothing can be put into %s", file, field)
			}
		}
	}
	scripts, err := filepath.Glob("assets/*.js")
	if err != nil || len(scripts) < 3 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	for _, file := range scripts {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range []string{`"paste"`, `"beforeinput"`, `"drop"`, "onpaste"} {
			if strings.Contains(string(text), event) {
				t.Errorf("%s listens to %s", file, event)
			}
		}
	}
}
