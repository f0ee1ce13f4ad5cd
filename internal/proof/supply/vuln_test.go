package supply

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// scan runs the script behind make vuln on folders.
func scan(t *testing.T, env, database string, folders ...string) (string, int) {
	t.Helper()
	if testing.Short() {
		t.Skip("it builds govulncheck")
	}
	program := tool(t, "govulncheck", "golang.org/x/vuln/cmd/govulncheck")
	return run(t, root(t), environment("GOVULNCHECK="+program, env), "sh", append([]string{"internal/tools/vuln.sh", database}, folders...)...)
}

// caller is a module that calls url.Parse.
func caller(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module example.org/caller\n\ngo 1.26\n")
	write(t, filepath.Join(dir, "main.go"), "package main\n\nimport \"net/url\"\n\nfunc main() { _, _ = url.Parse(\"x\") }\n")
	return dir
}

// database is a database of one vulnerability, in a function of net/url.
func database(t *testing.T, function string) string {
	t.Helper()
	dir := t.TempDir()
	const changed = "2026-01-01T00:00:00Z"
	put := func(name string, value any) {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		from := filepath.Join(t.TempDir(), "text")
		write(t, from, string(text))
		if err := copyFile(from, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	type object = map[string]any
	put("index/db.json", object{"modified": changed})
	put("index/modules.json", []object{{"path": "stdlib", "vulns": []object{{"id": "GO-2026-0001", "modified": changed}}}})
	put("index/vulns.json", []object{{"id": "GO-2026-0001", "modified": changed}})
	put("ID/GO-2026-0001.json", object{
		// Without the address govulncheck panics, and sometimes exits with 0.
		"database_specific": object{"url": "https://example.org/GO-2026-0001"},
		"schema_version":    "1.3.1", "id": "GO-2026-0001", "modified": changed, "published": changed, "summary": "made up", "details": "made up",
		"affected": []object{{
			"package":            object{"name": "stdlib", "ecosystem": "Go"},
			"ranges":             []object{{"type": "SEMVER", "events": []object{{"introduced": "0"}}}},
			"ecosystem_specific": object{"imports": []object{{"path": "net/url", "symbols": []string{function}}}},
		}},
	})
	return "file://" + dir
}

func TestVulnerabilityInWhatIsCalledFails(t *testing.T) {
	out, code := scan(t, "X=", database(t, "Parse"), caller(t))
	if code != 3 || !strings.Contains(out, "GO-2026-0001") || !strings.Contains(out, "caller.main calls url.Parse") {
		t.Errorf("exit code %d, not 3 (found)\n%s", code, out)
	}
	if out, code := scan(t, "X=", database(t, "JoinPath"), caller(t)); code != 0 || strings.Contains(out, "skipped") {
		t.Errorf("one in what is not called: exit code %d\n%s", code, out)
	}
}

// TestNoDatabaseIsNoFindingAndSaysSo: who works without the network is not
// stopped, and is not told that nothing was found either.
func TestNoDatabaseIsNoFindingAndSaysSo(t *testing.T) {
	out, code := scan(t, "HTTPS_PROXY=http://127.0.0.1:1", "", caller(t))
	if code != 0 || !strings.Contains(out, "skipped") || strings.Contains(out, "No vulnerabilities found") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	// A copy that is named has to be one.
	if out, code := scan(t, "X=", "http://127.0.0.1:1", caller(t)); code == 0 {
		t.Errorf("exit code 0 with a copy that is not there\n%s", out)
	}
}

func TestScanOfWhatCannotBeLoadedFails(t *testing.T) {
	dir := caller(t)
	write(t, filepath.Join(dir, "main.go"), "package main\n\nfunc main() { nonsense }\n")
	if out, code := scan(t, "X=", database(t, "Parse"), dir); code == 0 {
		t.Errorf("exit code 0\n%s", out)
	}
}
