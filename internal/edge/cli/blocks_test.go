package cli

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/api"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/migrations"
)

// A block is what stands between two fences of a document.
type block struct {
	at   string // file:line of the first fence
	lang string
	text string
}

// blocks are those of every document that people read.
func blocks(t *testing.T) (all []block) {
	t.Helper()
	files := []string{"README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md"}
	repo := os.DirFS("../../..")
	if err := fs.WalkDir(repo, "docs", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			files = append(files, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := fs.ReadFile(repo, file)
		if err != nil {
			t.Fatal(err)
		}
		number, inside := 0, false
		for line := range strings.Lines(string(text)) {
			number++
			fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
			switch {
			case isFence && !inside:
				all = append(all, block{at: fmt.Sprintf("%s:%d", file, number), lang: fence})
			case !isFence && inside:
				all[len(all)-1].text += line
			}
			inside = inside != isFence
		}
		if inside {
			t.Errorf("%s: the last block has no end", all[len(all)-1].at)
		}
	}
	return all
}

// languages says how the blocks of a language are checked. One that is not here
// may not be used.
var languages = map[string]func(t *testing.T, all []block){
	"":      checkShell,
	"sh":    checkShell,
	"go":    checkGo,
	"json":  checkProblems,
	"sql":   checkSQL,
	"redis": checkedElsewhere(map[string]string{"ACL SETUSER": "TestTheRightsOfServingAreEnough gives Redis this line"}),
	"text": checkedElsewhere(map[string]string{
		"cmd/            main":     "a drawing; arch_test.go holds the arrows",
		`fpk_[0-9A-Za-z]`:          "TestDocumentedExpressionFindsKeys finds keys with it",
		`{"username": "ada", "ext`: "TestQuestionIsSigned reads such a body",
		"product lines ":           "package stats holds the numbers to what is true",
	}),
	"python": checkedElsewhere(map[string]string{
		"import json\nfrom django": "TestExamplesOfMovingUsers runs it in a real Django", "import base64, hashlib, hmac": "TestExampleOfAHook runs it beside a real deployment",
	}),
	"js": checkedElsewhere(map[string]string{`import { users } from "./users.mjs";`: "TestExamplesOfMovingUsers runs it in Node.js"}),
	// To compile these takes the Android SDK, and the frameworks of Apple.
	"kotlin": checkParts("ending = (", ".commit()", "lock.withLock {", "if (it.token == token) it.token = null", `"application/json" ->`, `"application/problem+json" ->`,
		"status == 204", "json != null ->", "if (attempt == last) break", "delay(", `"/v1/login"`, "it.end()", "it.token = ", "it.credentials.put(", "it.ending.toList()", "in listOf(202, 204)", "== 401"),
	"swift": checkParts("ending: [", "SecItemUpdate(", "actor Flakepass {", "if $0.token == token { $0.token = nil }", `== "application/json"`, `== "application/problem+json"`,
		"case 204:", "where isJSON:", "if attempt == last { break }", "Task.sleep(", `"/v1/login"`, "$0.end()", "$0.token = ", "$0.credentials[account] = ", "$0.ending }", "[202, 204].contains(", "== 401"),
}

// TestEveryBlockOfTheDocumentsIsChecked: a block that is copied from a document
// works. How it is checked is in languages; a block that nothing checks fails.
func TestEveryBlockOfTheDocumentsIsChecked(t *testing.T) {
	t.Parallel()
	by := map[string][]block{}
	for _, b := range blocks(t) {
		by[b.lang] = append(by[b.lang], b)
	}
	for lang, all := range by {
		check, known := languages[lang]
		if !known {
			t.Errorf("%s: nothing checks blocks of the language %q; add it to languages in blocks_test.go", all[0].at, lang)
			continue
		}
		t.Run("in "+lang, func(t *testing.T) { t.Parallel(); check(t, all) })
	}
}

// checkedElsewhere lets only the blocks pass that begin as one of those that are
// named, each with what checks it, or why nothing here can.
func checkedElsewhere(reasons map[string]string) func(*testing.T, []block) {
	return func(t *testing.T, all []block) {
		t.Helper()
		for _, b := range all {
			named := false
			for begin := range reasons {
				named = named || strings.HasPrefix(b.text, begin)
			}
			if !named {
				t.Errorf("%s: nothing checks this block; add what does, or why nothing can, to languages in blocks_test.go", b.at)
			}
		}
	}
}

// checkParts holds each block, which nothing here can compile, to have the parts that
// its document speaks of, in this order.
func checkParts(parts ...string) func(*testing.T, []block) {
	return func(t *testing.T, all []block) {
		t.Helper()
		for _, b := range all {
			rest, found := b.text, false
			for _, part := range parts {
				if _, rest, found = strings.Cut(rest, part); !found {
					t.Errorf("%s: the part %q is missing, or not where it belongs", b.at, part)
					break
				}
			}
		}
	}
}

// checkGo holds each block to be a whole file that the module compiles with. The
// files are laid over the module, which they are not written into.
func checkGo(t *testing.T, all []block) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	overlay := filepath.Join(dir, "overlay.json")
	replace, args := map[string]string{}, []string{"build", "-tags", "nomsgpack", "-overlay", overlay, "-o", os.DevNull}
	for i, b := range all {
		if !strings.HasPrefix(b.text, "package ") {
			t.Errorf("%s: not a whole Go file, which begins with its package", b.at)
			continue
		}
		file := filepath.Join(dir, fmt.Sprintf("block%d.go", i))
		if err := os.WriteFile(file, fmt.Appendf(nil, "//line %s:1\n%s", b.at, b.text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, "cmd", fmt.Sprintf("block%d", i), "block.go")] = file
		args = append(args, fmt.Sprintf("./cmd/block%d", i))
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go build: %v\n%s", err, out)
	}
}

// checkProblems holds each block of JSON to the contract's schema of a problem.
func checkProblems(t *testing.T, all []block) {
	spec, err := openapi3.NewLoader().LoadFromData(api.Spec())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range all {
		var value any
		if err := json.Unmarshal([]byte(b.text), &value); err != nil {
			t.Errorf("%s: %v", b.at, err)
		} else if err := spec.Components.Schemas["Problem"].Value.VisitJSON(value); err != nil {
			t.Errorf("%s: %v", b.at, err)
		}
	}
}

var sqlName = regexp.MustCompile(`\bflakepass\b`)

// checkSQL runs the statements on MySQL and on MariaDB, in the order in which they
// stand in the documents, with a name of the test's own in the place of flakepass.
// The tables are made as soon as there is a database, as the documents say.
func checkSQL(t *testing.T, all []block) {
	for name, open := range map[string]func(testing.TB) string{"MySQL": testenv.MySQL, "MariaDB": testenv.MariaDB} {
		t.Run(name, func(t *testing.T) {
			config, err := mysql.ParseDSN(open(t))
			if err != nil {
				t.Fatal(err)
			}
			own := config.DBName[:16] + "doc" // a user's name has at most 32 characters
			admin := sqlOpen(t, config)
			t.Cleanup(func() {
				for _, drop := range []string{"DROP DATABASE IF EXISTS " + own, "DROP USER IF EXISTS " + own} {
					if _, err := admin.ExecContext(context.WithoutCancel(t.Context()), drop); err != nil {
						t.Error(err)
					}
				}
			})
			for _, b := range all {
				for statement := range strings.SplitSeq(strings.TrimSpace(b.text), ";") {
					if strings.TrimSpace(statement) == "" {
						continue
					}
					if _, err := admin.ExecContext(t.Context(), sqlName.ReplaceAllString(statement, own)); err != nil {
						t.Fatalf("%s: %v", b.at, err)
					}
					if strings.HasPrefix(strings.TrimSpace(statement), "CREATE DATABASE") {
						c := config.Clone()
						c.DBName = own
						if _, err := migrations.Up(t.Context(), sqlOpen(t, c), migrations.MySQL, nil); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
		})
	}
}

func sqlOpen(t *testing.T, c *mysql.Config) *sql.DB {
	t.Helper()
	connector, err := mysql.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return db
}
