package console

import (
	"net/url"
	"slices"
	"strings"
	"testing"
)

// HostilePaths are where a login page must not lead, and some where it
// may.
var HostilePaths = []string{
	"/console/", "/console/audit?x=//evil.example", "//evil.example/console/", "/console/../v1/me", "/console/..o/v1/me", "/console/\\evil", "/console//evil.example",
	"https://evil.example/console/", "/console/%2e%2e/x", "/console/login?next=/console/", "javascript:alert(1)", "/console/@evil", "/console/audit#x",
	"/console/audit?x=%255C", "/v1/me", "/", "/consoles",
}

// StaysInTheConsole reports whether a browser that is sent there stays in the
// console: a name may have two dots in it, and only a step up is one.
func StaysInTheConsole(next string) bool {
	to, err := url.Parse(next)
	return err == nil && to.Host == "" && to.Scheme == "" && strings.HasPrefix(next, "/console/") && !strings.HasPrefix(next, "/console//") &&
		!slices.Contains(strings.Split(to.Path, "/"), "..") && !strings.ContainsAny(next, "\\\r\n\t")
}

// FuzzSafePath asks the function alone: making a whole login page takes a
// thousand times as long.
func FuzzSafePath(f *testing.F) {
	for _, p := range HostilePaths {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		next := safePath(p)
		if !StaysInTheConsole(next) {
			t.Fatalf("%q leads to %q", p, next)
		}
		if again := safePath(next); again != next {
			t.Fatalf("%q leads to %q, and that to %q", p, next, again)
		}
	})
}
