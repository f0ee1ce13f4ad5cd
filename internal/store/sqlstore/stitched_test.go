//go:build unix

package sqlstore_test

import (
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/activity"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// statementAt is which argument of these methods is SQL.
var statementAt = map[string]int{
	"Raw": 0, "Exec": 0, "Where": 0, "Order": 0, "Select": 0, "Table": 0, "Joins": 0, "Group": 0, "Having": 0, "Pluck": 0, "Distinct": 0,
	"QueryContext": 1, "ExecContext": 1, "QueryRowContext": 1, "PrepareContext": 1,
}

// TestNoStatementIsStitchedFromWhatACallerGives: what comes into this package is
// bound to a placeholder, and has a type: 0 is no name.
func TestNoStatementIsStitchedFromWhatACallerGives(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		// The methods of mysqlconn.go are called by database/sql, with what was bound before.
		if !strings.HasSuffix(name, "_test.go") && name != "mysqlconn.go" {
			for _, problem := range stitched(t, os.DirFS("."), name) {
				t.Error(problem)
			}
		}
	}
}

// stitched finds the statements into which an exported function puts what it is
// given, by itself or through a variable, and the exported functions that take
// values of any type.
func stitched(t *testing.T, dir fs.FS, name string) (problems []string) {
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
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || !f.Name.IsExported() || f.Body == nil {
			continue
		}
		given := map[string]bool{}
		for _, p := range f.Type.Params.List {
			_, variadic := p.Type.(*ast.Ellipsis)
			if ident, ok := p.Type.(*ast.Ident); ok && ident.Name == "any" && !variadic {
				problems = append(problems, set.Position(p.Pos()).String()+": a parameter of any type")
			}
			for _, n := range p.Names {
				given[n.Name] = n.Name != "_"
			}
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					if ident, ok := left.(*ast.Ident); ok && len(n.Rhs) == len(n.Lhs) && isTextOf(n.Rhs[i], given) {
						given[ident.Name] = true
					}
				}
			case *ast.CallExpr:
				selector, ok := n.Fun.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if into, ok := selector.X.(*ast.Ident); ok && selector.Sel.Name == "WriteString" && isTextOf(n.Args[0], given) {
					given[into.Name] = true
				}
				if at, ok := statementAt[selector.Sel.Name]; ok && len(n.Args) > at && isTextOf(n.Args[at], given) {
					problems = append(problems, set.Position(n.Pos()).String()+": "+selector.Sel.Name+" of what a caller gives")
				}
				if ident, ok := selector.X.(*ast.Ident); ok && f.Recv != nil && len(f.Recv.List[0].Names) > 0 && ident.Name == f.Recv.List[0].Names[0].Name { // page(ctx, where, ...)
					for _, a := range n.Args {
						if b, ok := a.(*ast.BinaryExpr); ok && b.Op == token.ADD && isTextOf(a, given) && hasText(b) {
							problems = append(problems, set.Position(n.Pos()).String()+": "+selector.Sel.Name+" is handed SQL and what a caller gives in one")
						}
					}
				}
			}
			return true
		})
	}
	return problems
}

// hasText reports whether one of the parts is a literal.
func hasText(b *ast.BinaryExpr) (found bool) {
	ast.Inspect(b, func(n ast.Node) bool {
		l, ok := n.(*ast.BasicLit)
		found = found || ok && l.Kind == token.STRING
		return true
	})
	return found
}

// isTextOf reports whether an expression is, or has in it, the text of one of
// these variables. What a function makes of it counts if it passes texts on.
func isTextOf(e ast.Expr, given map[string]bool) (found bool) {
	passes := []string{"Sprintf", "Sprint", "Join", "Replace", "ReplaceAll", "Repeat", "string", "String", "TrimSpace", "ToLower", "ToUpper", "Quote"}
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			name := ""
			switch f := n.Fun.(type) {
			case *ast.Ident:
				name = f.Name
			case *ast.SelectorExpr:
				name = f.Sel.Name
			}
			return slices.Contains(passes, name)
		case *ast.SelectorExpr: // its name is a field's
			found = found || isTextOf(n.X, given)
			return false
		case *ast.IndexExpr, *ast.CompositeLit, *ast.FuncLit:
			return false
		case *ast.Ident:
			found = found || given[n.Name]
		}
		return true
	})
	return found
}

// TestNoTextOfACallerIsInAStatement: whatever the texts are that come in, they
// are values of a statement and never part of it, and come out as they went in.
func TestNoTextOfACallerIsInAStatement(t *testing.T) {
	const hostile = `x' OR "1"='1' /*MARK*/; DROP TABLE users; -- ? \' \0 %`
	onEach(t, func(t *testing.T, w *world) {
		spy := w.spy(t)
		ctx, now := t.Context(), time.Now()
		event := func() audit.Event {
			return audit.Event{
				ID: w.ids.next(0), Need: audit.NeedsNothing, Action: audit.Action(hostile[:40]), By: audit.Actor{Name: hostile, Via: hostile[:16], RequestID: hostile, Address: hostile},
				Target: audit.Target{Kind: hostile[:16], Name: hostile}, Reason: hostile, Old: json.RawMessage(`"x' OR 1=1 --MARK"`),
			}
		}
		user := account.User{ID: w.ids.next(0), Username: hostile, Role: account.RoleUser, PasswordHash: account.NewPHC(hostile), PasswordVersion: 1, CreatedAt: now, UpdatedAt: now}
		settings, sweeps := &sqlstore.Settings{DB: w.DB}, &sqlstore.Sweeps{DB: w.DB}
		inForce, err := settings.LoadPolicy(ctx)
		must(t, err)
		next := inForce
		next.Note, next.UpdatedBy = hostile, hostile
		for name, verb := range map[string]func(context.Context) error{
			"create": func(ctx context.Context) error { return w.users.Create(ctx, user, event()) },
			"record": func(ctx context.Context) error { return w.users.Record(ctx, event()) },
			"policy": func(ctx context.Context) error {
				_, err := settings.SetPolicy(ctx, inForce.Version, next, event())
				return err
			},
			"sweep": func(ctx context.Context) error {
				e := event()
				_, err := sweeps.Take(ctx, sweep.Report{ID: w.ids.next(0), Instance: hostile, RequestedBy: hostile, Started: now, Detail: hostile}, &e, time.Minute)
				return err
			},
			"activity": func(ctx context.Context) error {
				return (&sqlstore.Activity{DB: w.DB}).Add(ctx, hostile, []activity.Count{{Hour: now.Truncate(time.Hour), Kind: activity.Kind(hostile[:16]), N: 1}})
			},
		} {
			if err := verb(ctx); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got, err := w.users.ByUsername(ctx, hostile); err != nil || got.ID != user.ID {
			t.Errorf("by name: %v, %v", got, err)
		}
		for _, other := range []string{"' OR 1=1 --", hostile + " ", strings.ToUpper(hostile), "%", "_", ""} {
			if got, err := w.users.ByUsername(ctx, other); err == nil {
				t.Errorf("%q finds %v", other, got)
			}
		}
		if found, err := w.users.Named(ctx, hostile[:9], "", 5); err != nil || len(found) != 1 {
			t.Errorf("by the beginning of the name: %v, %v", found, err)
		}
		found, err := (&sqlstore.Audit{DB: w.DB}).List(ctx, audit.Filter{Action: audit.Action(hostile[:40]), ActorName: hostile, TargetName: hostile, Limit: 50})
		if err != nil || len(found) == 0 || found[0].Reason != hostile {
			t.Errorf("in the record: %v, %v", found, err)
		}
		if history, err := settings.PolicyHistory(ctx, 0, 5); err != nil || history[0].Note != hostile {
			t.Errorf("the history: %v, %v", history, err)
		}
		sent := spy.take()
		if len(sent) < 12 {
			t.Errorf("%d statements were seen", len(sent))
		}
		for _, s := range sent {
			if strings.Contains(s.text, "MARK") || strings.Contains(s.text, "1=1") || strings.Contains(s.text, `\'`) {
				t.Errorf("in the statement: %s", s.text)
			}
		}
	})
}
