package account_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/flakepass/flakepass/internal/domain/account"
)

// TestExternalIDsShow: two that look the same are the same, as far as characters that leave no
// mark go, and none looks empty.
func TestExternalIDsShow(t *testing.T) {
	for _, s := range []string{
		"", "+8613800138000", "apple:001234.abcd.0987", "用户-42", "Zoë O’Hara", "a b", "a\u00a0b", "e\u0301", "اسم", "नाम", "👍", "auth0|5f7c8ec7c33c6c004bbafe82", strings.Repeat("字", 190),
	} {
		if err := account.CheckExternalID(s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []string{
		"\u202e", "a\u202eb", "\u200b", "a\u200bb", "a\u200d", "\u00ad", "\ufeff", "\u2066x", "\u2028", "\u2029", "\ue000", "\U000e0041", "\u3164", "\u115f", "a\ufe0f", "a\u034fb", "\u2800", "\u0378",
		"a\x00", "a\tb", "\x7f", "\ufffd", "\xff", " a", "a\u00a0", strings.Repeat("x", 191),
	} {
		if got := code(t, account.CheckExternalID(s), "external_id"); got == "" {
			t.Errorf("%q was taken", s)
		}
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) && account.CheckExternalID("a"+string(r)+"b") == nil {
			t.Errorf("%U was taken", r)
		}
	}
}
