//go:build unix

package sqlstore_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// The statements that GORM makes of a user's row, by every road that it offers
// for a struct, name no column of a token.
func TestGormNeverNamesATokenColumn(t *testing.T) {
	want := map[string]string{
		"Create":         "INSERT INTO users (id,username,password_hash,password_version,role,disabled_at,external_id,imported_version,counted_by_id,created_at,updated_at) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
		"Save":           "UPDATE users SET created_at=?,updated_at=? WHERE id = ?",
		"Updates":        "UPDATE users SET id=?,created_at=?,updated_at=? WHERE id = ?",
		"Select Updates": "UPDATE users SET created_at=?,updated_at=? WHERE id = ?",
		"UpdateColumns":  "UPDATE users SET id=?,created_at=?,updated_at=? WHERE id = ?",
	}
	onEach(t, func(t *testing.T, w *world) {
		row := sqlstore.UserRow{ID: 7, Username: "ada", PasswordHash: "$", PasswordVersion: 3, Role: "user", CreatedAt: 1, UpdatedAt: 2}
		dry := func() *gorm.DB { return w.Gorm().Session(&gorm.Session{DryRun: true, NewDB: true}) }
		got := map[string]string{
			"Create":         sqlOf(dry().Create(&row)),
			"Save":           sqlOf(dry().Save(&row)),
			"Updates":        sqlOf(dry().Model(&row).Updates(row)),
			"Select Updates": sqlOf(dry().Model(&row).Select("*").Omit("id").Updates(row)),
			"UpdateColumns":  sqlOf(dry().Model(&row).UpdateColumns(row)),
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("-got +want\n%s", diff)
		}
	})
}

func sqlOf(db *gorm.DB) string {
	return strings.ReplaceAll(db.Statement.SQL.String(), "`", "")
}

// Save, on a row that was read before the logout, does not bring the login back.
func TestProfileSaveVsLogout(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		s := w.begin(t, user)
		var read sqlstore.UserRow
		if err := w.Gorm().Where("id = ?", int64(user)).Take(&read).Error; err != nil {
			t.Fatal(err)
		}
		if _, err := w.sessions.End(t.Context(), logout(s)); err != nil {
			t.Fatal(err)
		}
		before := w.row(t, user)
		if err := w.Gorm().Save(&read).Error; err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(w.row(t, user), before); diff != "" {
			t.Errorf("Save changed the row:\n%s", diff)
		}
	})
}

func TestRehashVsLogout(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		s := w.begin(t, user)
		atOnce(4, func(i int) {
			var err error
			if i == 0 {
				_, err = w.sessions.End(t.Context(), logout(s))
			} else {
				err = w.users.Rehash(t.Context(), user, 1, account.NewPHC("$again"))
			}
			if err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
		if r := w.row(t, user); r.Token.Valid || r.Reason.String != string(session.LoggedOut) || r.PasswordHash != "$again" || r.Version != 1 {
			t.Errorf("after both: %+v", r)
		}
		if _, err := w.newPassword(t.Context(), user, 1, "$second"); err != nil {
			t.Fatal(err)
		}
		if err := w.users.Rehash(t.Context(), user, 1, account.NewPHC("$late")); err != nil {
			t.Fatal(err)
		}
		if r := w.row(t, user); r.PasswordHash != "$second" {
			t.Errorf("a rehash of the old password replaced the new one by %q", r.PasswordHash)
		}
	})
}

// forbiddenRoads are methods of GORM, and why they are not for this package.
var forbiddenRoads = map[string]string{
	"Save": "writes back what was read", "Updates": "skips zeros", "Update": "takes any column", "UpdateColumn": "takes any column",
	"UpdateColumns": "skips zeros", "FirstOrCreate": "drops zero conditions", "FirstOrInit": "drops zero conditions",
	"Assign": "skips zeros", "Attrs": "skips zeros", "Not": "drops zero conditions", "Or": "drops zero conditions",
}

// No code of this package takes the roads of GORM that write back what was read
// earlier, skip a zero, or drop a condition whose value is one.
func TestNoCodeTakesTheRoadsOfGormThatLose(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		checked++
		for _, problem := range roads(t, os.DirFS("."), name, forbiddenRoads) {
			t.Error(problem)
		}
	}
	if checked < 8 {
		t.Errorf("only %d files were checked", checked)
	}
}

func roads(t *testing.T, dir fs.FS, name string, forbidden map[string]string) (problems []string) {
	t.Helper()
	text, err := fs.ReadFile(dir, name)
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		selector, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		method := selector.Sel.Name
		if p, ok := selector.X.(*ast.Ident); ok && p.Name == "cmp" {
			return true
		}
		if why, bad := forbidden[method]; bad {
			problems = append(problems, set.Position(call.Pos()).String()+": "+method+" "+why)
		}
		inline := map[string]int{"Where": 0, "First": 1, "Take": 1, "Find": 1, "Last": 1, "Delete": 0}
		if at, ok := inline[method]; ok && len(call.Args) > at && !isText(call.Args[at]) {
			problems = append(problems, set.Position(call.Pos()).String()+": "+method+" has a condition that is not text of this package")
		}
		return true
	})
	return problems
}

// isText: a literal, or the parameter of that name, which callers give one.
func isText(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Kind == token.STRING
	case *ast.Ident:
		return e.Name == "where"
	}
	return false
}
