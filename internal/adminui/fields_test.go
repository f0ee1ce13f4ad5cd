package adminui_test

import (
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
		all[file] = regexp.MustCompile(`<(?:input|textarea)[^>]*>`).FindAllString(string(text), -1)
	}
	return all
}

var passwordName = regexp.MustCompile(`name="(?:\w*password|password_again)"`)

// takesPassword reports whether a password is typed into a field. That of
// passphrase.html is named by the page around it.
func takesPassword(file, field string) bool {
	return passwordName.MatchString(field) || strings.HasSuffix(file, "passphrase.html")
}

func TestPasswordFieldsAreMasked(t *testing.T) {
	found := 0
	for file, fields := range fieldsOf(t) {
		for _, field := range fields {
			if !takesPassword(file, field) {
				continue
			}
			if found++; !strings.Contains(field, `type="password"`) {
				t.Errorf("%s shows what is typed into %s", file, field)
			}
		}
	}
	if found < 8 {
		t.Errorf("%d fields for passwords were found", found)
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
