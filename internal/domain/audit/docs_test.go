package audit_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/audit"
)

// TestInventoryOfEventsIsComplete holds the actions in the code, the list of
// them, docs/logging.md and the contract of the API equal.
func TestInventoryOfEventsIsComplete(t *testing.T) {
	declared := declaredActions(t)
	var listed []string
	for _, a := range audit.Actions() {
		listed = append(listed, string(a))
	}
	slices.Sort(listed)
	if !slices.Equal(declared, listed) {
		t.Errorf("Actions lists\n%v\nand the constants are\n%v", listed, declared)
	}

	var rows []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+\\.[a-z_]+)` \\|").FindAllStringSubmatch(read(t, "../../../docs/logging.md"), -1) {
		rows = append(rows, row[1])
	}
	slices.Sort(rows)
	if !slices.Equal(rows, listed) {
		t.Errorf("docs/logging.md has\n%v\nand the code\n%v", rows, listed)
	}

	contract := read(t, "../../../api/openapi.yaml")
	from := strings.Index(contract, "\n    Action:\n")
	contract = contract[from : from+strings.Index(contract[from:], "pattern:")]
	for _, a := range listed {
		if !strings.Contains(contract, "`"+a+"`") {
			t.Errorf("api/openapi.yaml does not know %s", a)
		}
	}
}

// declaredActions are the constants of type Action in this package's files.
func declaredActions(t *testing.T) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), entry.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Action" && len(spec.Values) == 1 {
				value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, value)
			}
			return true
		})
	}
	slices.Sort(all)
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
