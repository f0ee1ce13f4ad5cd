package telemetry_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// writers are the ways to write that no logger of ours knows of, by import. An
// empty list is the whole package.
var writers = map[string][]string{
	"log":        {"Print", "Printf", "Println", "Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Panicln", "Default", "New", "SetOutput"},
	"log/slog":   {"Default", "SetDefault", "Debug", "DebugContext", "Info", "InfoContext", "Warn", "WarnContext", "Error", "ErrorContext", "Log", "LogAttrs"},
	"log/syslog": {},
	"net/smtp":   {},
	"fmt":        {"Print", "Printf", "Println"},
	"os":         {"Stdout", "Stderr", "NewFile"},
}

// mayWrite are the files of the server that write by themselves, with the reason.
var mayWrite = map[string]string{
	"cmd/flakepass/main.go":          "it hands the streams of the process to what runs",
	"internal/server/run/hashing.go": "the process that hashes writes to the standard error of the server",
}

// TestOnlyTheLogWrites: what the server writes goes to the logger that it is given,
// which writes to standard error (NewLog in internal/server/run), or into the record, and
// nowhere else. What is not part of the server may print.
func TestOnlyTheLogWrites(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	server := []string{"cmd/flakepass", "migrations", "api/client", "idworker", "internal/"}
	tools := []string{"idworker/internal/peers", "idworker/idworkertest", "internal/proof", "internal/tools"}
	in := func(name string, folders []string) bool {
		return slices.ContainsFunc(folders, func(f string) bool { return strings.HasPrefix(name, f) })
	}
	looked, allowed := 0, map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if name = filepath.ToSlash(name); in(name, tools) || strings.Contains(name, "/") && !in(name, server) {
			return nil
		}
		looked++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, at := range written(file) {
			if mayWrite[name] == "" {
				t.Errorf("%s writes where no logger does: give it a *slog.Logger", set.Position(at))
			}
			allowed[name] = true
		}
		return nil
	})
	if err != nil || looked < 200 {
		t.Errorf("%d files were looked at, %v", looked, err)
	}
	for name := range mayWrite {
		if !allowed[name] {
			t.Errorf("%s writes nothing by itself any more", name)
		}
	}
}

// written is where a file uses one of the writers.
func written(file *ast.File) (all []token.Pos) {
	names := map[string][]string{}
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		funcs, ok := writers[path]
		if !ok {
			continue
		}
		if len(funcs) == 0 {
			all = append(all, spec.Pos())
			continue
		}
		name := path[strings.LastIndex(path, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = funcs
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok && slices.Contains(names[of.Name], n.Sel.Name) {
				all = append(all, n.Pos())
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "print" || f.Name == "println") {
				all = append(all, n.Pos())
			}
		}
		return true
	})
	return all
}
