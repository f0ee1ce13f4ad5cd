package account_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/flakepass/flakepass/internal/domain/account"
)

func TestPrefixIsTakenAsANameIs(t *testing.T) {
	for s, want := range map[string]string{
		"a": "a", "AL": "al", "ＡＬ": "al", "al.": "al.", "zoe\u0308": "zoë", "νίκοΣ": "νίκος", "1": "1", "_": "_",
		"": "", "al ": "", " al": "", "a\x00": "", "a\xff": "", "\u00a0": "", strings.Repeat("a", 1021): "",
	} {
		if got, ok := account.NormalizePrefix(s); got != want && ok || ok != (want != "") {
			t.Errorf("%.9q: %q, %v; want %q", s, got, ok, want)
		}
	}
}

// FuzzPrefix: a whole name begins with itself, and no prefix has what a database
// would compare in its own way.
func FuzzPrefix(f *testing.F) {
	for _, s := range []string{"alice", "ＡＬ", "zoë", "νίκος", "al ", "a\x00", "\xff", "שלום", "山田", "%", "al\U0010ffff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		prefix, ok := account.NormalizePrefix(s)
		if name, err := account.NormalizeUsername(s); err == nil && (!ok || prefix != name) {
			t.Errorf("%q is the name %q, and the prefix %q, %v", s, name, prefix, ok)
		}
		if ok && (prefix == "" || strings.ContainsFunc(prefix, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == '\U0010ffff' })) {
			t.Errorf("%q begins names as %q", s, prefix)
		}
	})
}
