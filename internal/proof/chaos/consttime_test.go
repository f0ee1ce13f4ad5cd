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

// constantTime are the functions that compare a secret, and how often they call
// subtle.ConstantTimeCompare or hmac.Equal.
var constantTime = map[string]int{
	"api/flakepass/forwardkey.go verifySignature":              1, // of a forwarded identity
	"api/flakepass/remote.go Verify":                           1, // of a token, by its sum
	"internal/domain/account/secret.go Equal":                  1, // two passwords of one form
	"cmd/example-sms/codes.go check":                           1, // the code of an SMS
	"internal/edge/console/link.go state":                      1, // the code of the first admin's link
	"internal/domain/account/foreignhash/foreignhash.go equal": 1, // the hash of a password of another system
	"internal/domain/ratelimit/attempt.go has":                 1, // the hashes of the last tokens of a user
	"internal/domain/ratelimit/device.go deviceID":             1, // the signature of a device credential
	"internal/edge/httpapi/introspect.go same":                 1, // two secrets of one client
	"internal/domain/secondfactor/code.go step":                1, // a code
	"internal/domain/session/session.go Equal":                 1, // the hash of a token
	"internal/store/redisstore/codec.go decode":                1, // the MAC of a value
}

// TestSecretsAreComparedInConstantTime: who replaces such a call by ==, or by
// bytes.Equal, takes it out of the code and not out of this list. Nothing else can
// show it: both give the same answer.
func TestSecretsAreComparedInConstantTime(t *testing.T) {
	found := map[string]int{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(gotoken.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := compares(f); n > 0 {
				found[filepath.ToSlash(below)+" "+f.Name.Name] = n
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range constantTime {
		if found[name] != n {
			t.Errorf("%s compares %d times in constant time, want %d", name, found[name], n)
		}
	}
	for name, n := range found {
		if constantTime[name] == 0 {
			t.Errorf("%s compares %d times in constant time, and is not in the list", name, n)
		}
	}
}

// compares counts the calls in f.
func compares(f *ast.FuncDecl) (n int) {
	ast.Inspect(f, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		if s, ok := call.Fun.(*ast.SelectorExpr); ok {
			if of, ok := s.X.(*ast.Ident); ok && slices.Contains([]string{"subtle.ConstantTimeCompare", "hmac.Equal"}, of.Name+"."+s.Sel.Name) {
				n++
			}
		}
		return true
	})
	return n
}
