package clientaddr_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// TestOnlyThisPackageReadsAddresses: two readers would see two clients.
func TestOnlyThisPackageReadsAddresses(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	allowed := map[string]bool{
		"api/flakepass/forwarded.go":             true, // looks at who is connected, to believe an identity, and at no header about it
		"internal/server/connlimit/connlimit.go": true, // the peer of a connection, before there is a request
		"internal/server/config/values.go":       true, // names that may not be the token's header
	}
	found := map[string]int{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && file != root {
			return fs.SkipDir
		}
		if entry.IsDir() || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		syntax, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(syntax, func(n ast.Node) bool {
			if reads(n) {
				name := filepath.ToSlash(name)
				if found[name]++; path.Dir(name) != "internal/edge/clientaddr" && !allowed[name] {
					t.Errorf("%s reads where a request comes from; ask clientaddr.Of", set.Position(n.Pos()))
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found["internal/edge/clientaddr/clientaddr.go"] != 3 || found["api/flakepass/forwarded.go"] == 0 {
		t.Errorf("found %v: this test does not see what it looks for", found)
	}
}

// reads reports whether a node is one of the ways to learn an address.
func reads(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		switch n.Sel.Name {
		case "RemoteAddr", "ClientIP", "RemoteIP", "TrustedPlatform":
			return true
		}
	case *ast.BasicLit:
		switch strings.ToLower(strings.Trim(n.Value, "`\"")) {
		case "x-forwarded-for", "forwarded", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip":
			return n.Kind == token.STRING
		}
	}
	return false
}
