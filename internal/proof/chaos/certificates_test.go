package chaos

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unchecked are the ways of crypto/tls to believe whatever certificate a server
// shows.
var unchecked = []string{"InsecureSkipVerify", "VerifyPeerCertificate", "VerifyConnection", "EncryptedClientHelloRejectionVerify"}

// TestEveryCertificateIsChecked: no code of ours turns off what Go checks, or does
// it in another way.
func TestEveryCertificateIsChecked(t *testing.T) {
	looked := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testenv" || entry.Name() == "testdata" || entry.Name() == ".git"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		looked++
		set := gotoken.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && slices.Contains(unchecked, id.Name) {
				t.Errorf("%s: %s", set.Position(id.Pos()), id.Name)
			}
			return true
		})
		return nil
	})
	if err != nil || looked < 200 {
		t.Errorf("%d files were looked at, %v", looked, err)
	}
}
