package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A source is a file of the product: of a package that is not for tests.
type source struct {
	name  string // below the module's root
	set   *token.FileSet
	file  *ast.File
	names map[string]string // what the file calls its imports, to their paths
}

// sources reads the product. Many promises of docs/asvs.md are that the code
// never does something, and no run of it could show that.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	for folder := range readModule(t, ".") {
		if slices.Contains(support, folder) {
			continue
		}
		names, err := fs.Glob(os.DirFS("."), filepath.ToSlash(filepath.Join(folder, "*.go")))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			s := source{name: name, set: token.NewFileSet(), names: map[string]string{}}
			if s.file, err = parser.ParseFile(s.set, name, nil, parser.SkipObjectResolution); err != nil {
				t.Fatal(err)
			}
			for _, spec := range s.file.Imports {
				path, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				called := path[strings.LastIndex(path, "/")+1:]
				if called == "v2" {
					called = filepath.Base(filepath.Dir(path))
				}
				if spec.Name != nil {
					called = spec.Name.Name
				}
				s.names[called] = path
			}
			all = append(all, s)
		}
	}
	if len(all) < 300 {
		t.Fatalf("%d files: that is not the whole product", len(all))
	}
	return all
}

// calls hands f each call of a function or method by its name, with the path of
// the package, or "" for a method.
func (s *source) calls(f func(pkg, name string, c *ast.CallExpr)) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			if selector, ok := c.Fun.(*ast.SelectorExpr); ok {
				pkg := ""
				if ident, ok := selector.X.(*ast.Ident); ok {
					pkg = s.names[ident.Name]
				}
				f(pkg, selector.Sel.Name, c)
			}
		}
		return true
	})
}

func (s *source) imports(path string) bool {
	for _, p := range s.names {
		if p == path {
			return true
		}
	}
	return false
}

func (s *source) at(n ast.Node) string { return s.set.Position(n.Pos()).String() }

// literal reports whether an expression is a text that stands in the code, or
// several with + between them.
func literal(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return true
	case *ast.BinaryExpr:
		return literal(e.X) && literal(e.Y)
	}
	return false
}

// TestTheServerStartsNothingButItself: the process that hashes is this program,
// with a constant argument.
func TestTheServerStartsNothingButItself(t *testing.T) {
	started := 0
	for _, s := range sources(t) {
		if s.imports("plugin") {
			t.Errorf("%s loads code", s.name)
		}
		s.calls(func(pkg, name string, c *ast.CallExpr) {
			starts := pkg == "os/exec" && strings.HasPrefix(name, "Command") || pkg == "os" && name == "StartProcess" ||
				(pkg == "syscall" || pkg == "golang.org/x/sys/unix") && slices.Contains([]string{"Exec", "ForkExec", "StartProcess"}, name)
			if !starts {
				return
			}
			if started++; s.name != "internal/server/run/hashing.go" || len(c.Args) != 2 {
				t.Errorf("%s starts a program", s.at(c))
				return
			}
			program, _ := c.Args[0].(*ast.CallExpr)
			if program == nil {
				t.Errorf("%s starts another program", s.at(c))
			} else if which, _ := program.Fun.(*ast.Ident); which == nil || which.Name != "ownProgram" || !literal(c.Args[1]) {
				t.Errorf("%s starts another program, or hands it an argument that is not constant", s.at(c))
			}
		})
		ast.Inspect(s.file, func(n ast.Node) bool {
			if f, ok := n.(*ast.FuncDecl); ok && f.Name.Name == "ownProgram" {
				ast.Inspect(f.Body, func(n ast.Node) bool {
					if c, ok := n.(*ast.CallExpr); ok {
						if of, ok := c.Fun.(*ast.SelectorExpr); !ok || of.Sel.Name != "Stat" && of.Sel.Name != "Executable" {
							t.Errorf("%s asks something else than the system which program this is", s.at(c))
						}
					}
					return true
				})
			}
			if c, ok := n.(*ast.CompositeLit); ok {
				if of, ok := c.Type.(*ast.SelectorExpr); ok && of.Sel.Name == "Cmd" {
					t.Errorf("%s makes a command without exec.Command", s.at(c))
				}
			}
			return true
		})
	}
	if started != 1 {
		t.Errorf("%d places start a program", started)
	}
}

// TestNoInputIsAPattern: a regular expression stands in the code.
func TestNoInputIsAPattern(t *testing.T) {
	found := 0
	for _, s := range sources(t) {
		s.calls(func(pkg, name string, c *ast.CallExpr) {
			if pkg == "regexp" && name != "QuoteMeta" {
				if found++; !literal(c.Args[0]) && filepath.ToSlash(s.name) != "internal/edge/cli/errors.go" { // of a literal and a constant
					t.Errorf("%s makes a regular expression of what is no literal", s.at(c))
				}
			}
		})
	}
	if found == 0 {
		t.Error("no regular expression was found: the test is blind")
	}
}

// TestNoInputIsATemplate: the pages are the embedded files, and one place reads
// them, by the engine that encodes.
func TestNoInputIsATemplate(t *testing.T) {
	parsed := 0
	for _, s := range sources(t) {
		if s.imports("text/template") {
			t.Errorf("%s imports text/template, which encodes nothing", s.name)
		}
		if filepath.Dir(s.name) != filepath.Join("internal", "edge", "console") {
			if s.imports("html/template") {
				t.Errorf("%s imports html/template: pages are made in internal/edge/console", s.name)
			}
			continue
		}
		s.calls(func(pkg, name string, c *ast.CallExpr) {
			switch {
			case pkg == "html/template" && slices.Contains([]string{"HTML", "HTMLAttr", "JS", "JSStr", "CSS", "URL", "Srcset"}, name):
				t.Errorf("%s takes a text for %s", s.at(c), name)
			case name == "ParseFS":
				if parsed++; len(c.Args) != 2 || !literal(c.Args[1]) {
					t.Errorf("%s parses other files than the embedded pages", s.at(c))
				}
			case pkg != "" && pkg != "html/template": // url.Parse
			case slices.Contains([]string{"Parse", "ParseFiles", "ParseGlob", "AddParseTree"}, name):
				t.Errorf("%s makes a template", s.at(c))
			}
		})
	}
	if parsed != 1 {
		t.Errorf("templates are parsed in %d places", parsed)
	}
}

// formatAt is which argument of these functions is a format.
var formatAt = map[string]int{"Sprintf": 0, "Errorf": 0, "Printf": 0, "Fprintf": 1, "Appendf": 1}

// TestNoInputIsAFormat: a format stands in the code, or among the texts of the
// console, which are embedded and found by their keys.
func TestNoInputIsAFormat(t *testing.T) {
	// Each chooses among literals that stand beside it, or is handed on.
	also := []string{
		"internal/edge/cli/policyshow.go head", "internal/server/run/redis.go format", "idworker/zkworker/client.go format", "internal/edge/console/texts.go s",
		"internal/domain/limit/check.go format", "internal/domain/policy/change.go format", "internal/domain/policy/terms.go format",
	}
	found := 0
	for _, s := range sources(t) {
		s.calls(func(pkg, name string, c *ast.CallExpr) {
			at, ok := formatAt[name]
			if pkg != "fmt" || !ok || len(c.Args) <= at || literal(c.Args[at]) {
				return
			}
			found++
			format := c.Args[at]
			if b, ok := format.(*ast.BinaryExpr); ok && literal(b.Y) {
				format = b.X
			}
			called := ""
			switch f := format.(type) {
			case *ast.SelectorExpr:
				called = f.Sel.Name
			case *ast.Ident:
				called = f.Name
			}
			if !slices.Contains(also, filepath.ToSlash(s.name)+" "+called) {
				t.Errorf("%s: the format is no literal: %s", s.at(c), called)
			}
		})
	}
	if found == 0 {
		t.Error("no format was found: the test is blind")
	}
}

// TestSecretsAreNotPseudorandom: math/rand is for what spreads load, and never
// where a secret is made.
func TestSecretsAreNotPseudorandom(t *testing.T) {
	spread := []string{
		"api/client/call.go", "internal/server/run/worker.go", "idworker/fileworker/fileworker.go", "idworker/internal/lend/lend.go", "idworker/options.go", "idworker/sqlworker/choose.go",
		"idworker/sqlworker/sqlworker.go", "idworker/zkworker/choose.go", "idworker/zkworker/tree.go", "internal/store/sqlstore/retry.go",
		"internal/store/sqlstore/sample.go", "internal/edge/httpapi/middleware.go", "api/flakepass/remote.go", "api/flakepass/remote_call.go", "api/flakepass/remote_stream.go",
		"internal/server/importhook/places.go",
	}
	for _, s := range sources(t) {
		if (s.imports("math/rand") || s.imports("math/rand/v2")) && !slices.Contains(spread, filepath.ToSlash(s.name)) {
			t.Errorf("%s imports math/rand: what must not be guessed comes from crypto/rand", s.name)
		}
	}
}

// TestMemoryIsGos: Go's own checks hold wherever unsafe is not used and no C is
// called.
func TestMemoryIsGos(t *testing.T) {
	for _, s := range sources(t) {
		if s.imports("C") {
			t.Errorf("%s calls C", s.name)
		}
		if s.imports("unsafe") && !slices.Contains([]string{"api/flakepass/remote.go", "api/flakepass/token.go", "internal/domain/session/session.go"}, filepath.ToSlash(s.name)) {
			t.Errorf("%s imports unsafe", s.name)
		}
	}
	for _, name := range []string{"Makefile", "cmd/flakepass/Dockerfile"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		built := 0
		for line := range strings.Lines(string(text)) {
			if strings.HasSuffix(strings.TrimSpace(line), " ./cmd/flakepass") && strings.Contains(line, " build ") {
				if built++; !strings.HasPrefix(strings.TrimSpace(line), "CGO_ENABLED=0 ") {
					t.Errorf("%s builds with cgo", name)
				}
			}
		}
		if built != 1 {
			t.Errorf("%s builds the program %d times", name, built)
		}
	}
}
