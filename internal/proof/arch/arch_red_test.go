package arch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestArrowsSeeWhatIsWrong plants one wrong import, or one wrong line, at a
// time into a module that is right.
func TestArrowsSeeWhatIsWrong(t *testing.T) {
	const sql, redis = "example.org/sql", "example.org/redis/v9"
	right := func() (map[string]imports, []arrow, []string, []home) {
		return map[string]imports{
				".":                 {code: []string{"fmt", "net/http"}, tests: []string{module, module + "/domain/domaintest"}},
				"domain":            {code: []string{"context", module}, tests: []string{sql, "testing/synctest", module + "/store"}},
				"domain/domaintest": {code: []string{module + "/domain", sql}},
				"store":             {code: []string{module + "/domain", sql + "/driver"}},
				"tier":              {code: []string{module + "/domain", redis}},
				"cmd/x":             {code: []string{module + "/tier", module + "/store", sql, redis}},
			}, []arrow{
				{".", "", "it is public"},
				{"domain", ".", "it is the domain"},
				{"store", "domain", "it is a store"},
				{"tier", "domain", "it is a tier"},
				{"cmd/x", anything, "it is everything"},
			}, []string{"domain/domaintest"}, []home{
				{sql, "store", "only the store knows SQL"},
				{redis, "tier", "only the tier knows Redis"},
			}
	}
	if p, a, s, h := right(); len(violations(p, a, s, h)) > 0 {
		t.Fatalf("a module that is right: got %q", violations(p, a, s, h))
	}
	for _, c := range []struct{ folder, imports, want string }{
		{".", module + "/domain", ". imports domain: it is public"},
		{".", sql, ". imports example.org/sql: only the store knows SQL"},
		{"domain", module + "/store", "domain imports store: it is the domain"},
		{"domain", module + "/domain/domaintest", "domain imports domain/domaintest: it exists for tests"},
		{"domain", module + "/cmd/x", "domain imports cmd/x: no package may import the command"},
		{"domain", redis + "/internal", "domain imports example.org/redis/v9/internal: only the tier knows Redis"},
		{"domain", "example.org/sqlite", "domain imports example.org/sqlite, which has no home"},
		{"tier", module + "/store", "tier imports store: it is a tier"},
		{"store", module + "/tier", "store imports tier: it is a store"},
		{"store", redis, "store imports example.org/redis/v9: only the tier knows Redis"},
		{"cmd/x", "example.org/new", "cmd/x imports example.org/new, which has no home"},
		{"cmd/x", module + "/domain/domaintest", "cmd/x imports domain/domaintest: it exists for tests"},
		{"domain/domaintest", module + "/cmd/x", "domain/domaintest imports cmd/x: no package may import the command"},
		{"domain/domaintest", "example.org/new", "domain/domaintest imports example.org/new, which has no home"},
		{"new", "fmt", "new must have one rule: an arrow, or a place in support"},
	} {
		p, a, s, h := right()
		p[c.folder] = imports{code: append(p[c.folder].code, c.imports), tests: p[c.folder].tests}
		if got := violations(p, a, s, h); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s in %s: got %q, want %q", c.imports, c.folder, got, c.want)
		}
	}

	p, a, s, h := right()
	p["domain"] = imports{code: p["domain"].code, tests: []string{module + "/cmd/x", "example.org/new"}}
	a = append(a, arrow{"gone", "", "it was here"}, arrow{"domain/domaintest", "domain", "it is both"})
	s = append(s, "gonetest")
	h[0].homes = "store tier"
	h = append(h, home{"example.org/unused", onlyTests, "no package needs it"})
	want := []string{
		"a test of domain imports cmd/x: no package may import the command",
		"a test of domain imports example.org/new, which has no home",
		"domain/domaintest must have one rule: an arrow, or a place in support",
		"example.org/sql has a home in tier, which does not import it",
		"example.org/unused has a home, but no package imports it",
		"support names gonetest, which does not exist",
		"the rule for gone names gone, which does not exist",
	}
	if got := violations(p, a, s, h); !slices.Equal(got, want) {
		t.Errorf("tables that are wrong:\ngot  %q\nwant %q", got, want)
	}
}

func TestReadModuleReadsEveryFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.go":                     "package a\nimport _ \"fmt\"\n",
		"sub/b_plan9.go":           "//go:build plan9\n\npackage b\nimport x \"example.org/x\"\n",
		"sub/b_test.go":            "package b_test\nimport . \"example.org/y\"\nfunc {",
		"sub/testdata/c.go":        "package c\nimport \"example.org/no\"\n",
		"sub/.hidden/c.go":         "package c\nimport \"example.org/no\"\n",
		"sub/_off.go":              "package c\nimport \"example.org/no\"\n",
		"tools/go.mod":             "module example.org/tools\n",
		"tools/main.go":            "package main\nimport \"example.org/no\"\n",
		"docs/page.md":             "import \"example.org/no\"\n",
		filepath.Join("e", "e.go"): "package e\n",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	got := fmt.Sprint(readModule(t, "."))
	if want := "map[.:{[fmt] []} e:{[] []} sub:{[example.org/x] [example.org/y]}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
