//go:build unix

package attack

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
)

// TestDocumentedExpressionFindsKeys: that of SECURITY.md matches every service key, in the
// places in which keys are found, with all of it, and nothing else of flakepass.
func TestDocumentedExpressionFindsKeys(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^fpk_\[.*$`).Find(page)
	if line == nil {
		t.Fatal("SECURITY.md has no expression")
	}
	finds := regexp.MustCompile(string(line))
	first := idworker.Default().Smallest(time.Now())
	for i := range idworker.ID(2000) {
		id := flakepass.ID(first + i*7919)
		key, token := flakepass.NewServiceKey(id).Reveal(), flakepass.NewToken(id).Reveal()
		for _, where := range []string{key, "FLAKEPASS_KEY=" + key, `{"key":"` + key + `"}`, "Authorization: Bearer " + key + "\r", "https://x:" + key + "@host/", "<" + key + ">", "Bearer%20" + key, `\n` + key, "KEY_" + key} {
			found := finds.FindString(where)
			if found != key {
				t.Fatalf("found %q in a text with a key", strings.ReplaceAll(found, key[15:41], "…"))
			}
			if _, err := flakepass.ParseServiceKey(found); err != nil {
				t.Fatalf("what was found: %v", err)
			}
		}
		for _, other := range []string{token, key + "0", key[:46], strings.ToUpper(key), "fpk_" + token[3:45], "fpk_…"} {
			if found := finds.FindString(other); found != "" {
				t.Fatalf("found a text of %d characters, which is no key", len(found))
			}
		}
	}
}
