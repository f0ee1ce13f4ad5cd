package account_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/invalid"
)

// code is the code of the only field of an invalid.Error, or "" for nil.
func code(t *testing.T, err error, field string) string {
	t.Helper()
	if err == nil {
		return ""
	}
	bad, ok := errors.AsType[*invalid.Error](err)
	if !ok || len(bad.Fields) != 1 || bad.Fields[0].Field != field || bad.Fields[0].Message == "" {
		t.Fatalf("error %v, want an invalid.Error of one %s", err, field)
	}
	return bad.Fields[0].Code
}

func TestUsernameRules(t *testing.T) {
	for _, c := range []struct{ in, want, code string }{
		{"alice", "alice", ""},
		{"Alice", "alice", ""},
		{"ａｌｉｃｅ", "alice", ""}, // full width
		{"alice.b-c_d+e@example.com", "alice.b-c_d+e@example.com", ""},
		{"42nd", "42nd", ""},
		{"Ren\u00e9", "ren\u00e9", ""},
		{"Rene\u0301", "ren\u00e9", ""},              // decomposed
		{"Ng\u0323\u0302", "", "invalid_characters"}, // marks that do not compose
		{"NGUYỄN", "nguyễn", ""},
		{"ivan\u212a", "ivank", ""}, // kelvin sign
		{"Иван", "иван", ""},
		{"ΓΙΏΡΓΟΣ", "γιώργος", ""},
		{"γιώργοσ", "γιώργος", ""},
		{"γιώργος.β", "γιώργος.β", ""},
		{"ςίςυφος", "σίσυφος", ""},
		{"田中さくら", "田中さくら", ""},
		{"サーバー", "サーバー", ""},
		{"ｻｰﾊﾞｰ", "サーバー", ""}, // half width
		{"김철수金", "김철수金", ""},
		{"مريم", "مريم", ""},
		{"דוד", "דוד", ""},
		{"नरेंद्र", "नरेंद्र", ""},

		{"", "", "required"},
		{"ab", "", "too_short"},
		{strings.Repeat("a", 64), strings.Repeat("a", 64), ""},
		{strings.Repeat("a", 65), "", "too_long"},
		{strings.Repeat("田", 64), strings.Repeat("田", 64), ""},
		{strings.Repeat("a", 1<<20), "", "too_long"},
		{"\u0430lice", "", "mixed_scripts"}, // Cyrillic а
		{"alic\u0435", "", "mixed_scripts"},
		{"αlice", "", "mixed_scripts"},
		{"aliceさ", "", "mixed_scripts"},
		{"김さくら", "", "mixed_scripts"},
		{"\u0455\u0441\u043e\u0440\u0435", "", "confusable"}, // scope, all Cyrillic
		{"alice ", "", "invalid_characters"},
		{" alice", "", "invalid_characters"},
		{"al ice", "", "invalid_characters"},
		{"alice\u00a0", "", "invalid_characters"},
		{"al\u200bice", "", "invalid_characters"},
		{"al\u200dice", "", "invalid_characters"},
		{"al\u200cice", "", "invalid_characters"},
		{"alice\u202ebob", "", "invalid_characters"},
		{"\ufeffalice", "", "invalid_characters"},
		{"ali\u00adce", "", "invalid_characters"},
		{"alice\x00", "", "invalid_characters"},
		{"alice\r\nX-Auth-Role: admin", "", "invalid_characters"},
		{"al\xffice", "", "invalid_characters"},
		{"al\ufffdice", "", "invalid_characters"},
		{"<img>", "", "invalid_characters"},
		{"a/../b", "", "invalid_characters"},
		{"..alice", "", "invalid_characters"},
		{"-rf", "", "invalid_characters"},
		{"@alice", "", "invalid_characters"},
		{"\ufb00oo", "", "invalid_characters"},       // ligature ff
		{"adm\u0131n", "", "invalid_characters"},     // dotless i
		{"ad\u217fin", "", "invalid_characters"},     // roman numeral m
		{"\u0251dmin", "", "invalid_characters"},     // Latin alpha
		{"\U0001d41admin", "", "invalid_characters"}, // mathematical bold a
		{"admi\u0307n", "", "invalid_characters"},
		{"ΙΣΤΑΝΒΟΥΛ", "ιστανβουλ", ""},
		{"\u0130stanbul", "", "invalid_characters"}, // Turkish capital I with dot
		{"stra\u00dfe", "", "invalid_characters"},
		{"STRA\u1e9eE", "", "invalid_characters"},
		{"12\u0663\u0664", "", "invalid_characters"}, // Arabic-Indic digits
		{"aliceー", "", "invalid_characters"},
		{"😀😀😀", "", "invalid_characters"},
		{"\u0301alice", "", "invalid_characters"},
		{"ᚠᚢᚦ", "", "invalid_characters"}, // runes: no script of everyday use
	} {
		got, err := account.NormalizeUsername(c.in)
		if k := code(t, err, "username"); got != c.want || k != c.code {
			t.Errorf("NormalizeUsername(%+q) = %+q, code %q, want %+q, code %q", c.in, got, k, c.want, c.code)
		}
	}
}

// Every spelling that a person or a system may take for the first one is the
// same account, or no account.
func TestLookalikesAreOneAccountOrNone(t *testing.T) {
	for _, group := range [][]string{
		{"admin", "ADMIN", "Admin", "ａｄｍｉｎ", "admin ", "ad\u200bmin", "admin\x00", "\u0430dmin", "adm\u0131n", "adm\u0456n",
			"ɑdmin", "ad\u217fin", "αdmin", "ⓐdmin", "ᴀdmin", "𝐚dmin", "admi\u0578", "ad\u034fmin", "admin\u200f"},
		{"istanbul", "ISTANBUL", "\u0130stanbul", "i\u0307stanbul", "\u0131stanbul", "Istanbul"},
		{"strasse", "STRASSE", "straße", "STRAẞE", "Stra\u017f\u017fe"},
		{"office", "o\ufb03ce", "o\ufb00ice", "OFFICE"},
		{"ren\u00e9", "rene\u0301", "REN\u00c9", "RENE\u0301", "ｒｅｎé"},
		{"\u1ec7\u1ec7\u1ec7", "e\u0323\u0302e\u0302\u0323\u1ec7", "\u1eb9\u0302\u00ea\u0323\u1ec6"}, // order of marks
		{"scope", "\u0455\u0441\u043e\u0440\u0435", "sc\u03bfpe", "ｓｃｏｐｅ"},
		{"\u00e5ngstrom", "\u212bngstrom", "A\u030angstrom"},
		{"οδυσσεύς", "ΟΔΥΣΣΕΎΣ", "οδυσσεύσ", "Οδυςςεύς"},
		{"가나다", "\u1100\u1161나다", "가\u1102\u1161다"},
	} {
		want, err := account.NormalizeUsername(group[0])
		if err != nil {
			t.Fatalf("%q: %v", group[0], err)
		}
		for _, s := range group[1:] {
			if got, err := account.NormalizeUsername(s); err == nil && got != want {
				t.Errorf("%+q is the account %+q beside %+q", s, got, want)
			}
		}
	}
}

func TestUsernameErrorDoesNotQuote(t *testing.T) {
	_, err := account.NormalizeUsername("my secret typed into the wrong field")
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v, want one without the value", err)
	}
}

func FuzzNormalizeUsername(f *testing.F) {
	for _, s := range []string{"alice", "Alice", "ＡＬＩＣＥ", "İstanbul", "straße", "ΣΊΣΥΦΟΣ", "е\u0301", "ﬀoo", "サーバー", "ก็ก็", "דוד1",
		"a\u200db", "\u0300", "क्\u200dष", "가\u11a8", "\u1e9e\u1e9e\u1e9e", "ǅab", "ⅷab", "ᾈβγ", "ჀᲐᲑ", "Ꭰab", "-", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once, err := account.NormalizeUsername(s)
		if err != nil {
			code(t, err, "username")
			return
		}
		if twice, err := account.NormalizeUsername(once); err != nil || twice != once {
			t.Errorf("N(%+q) = %+q, N of that = %+q, %v", s, once, twice, err)
		}
		if n := utf8.RuneCountInString(once); n < 3 || n > 64 || len(once) > 255 || !utf8.ValidString(once) {
			t.Errorf("N(%+q) = %+q: %d code points, %d bytes", s, once, n, len(once))
		}
		if strings.ContainsAny(once, " /\\<>\"'&:;,?#%*()[]{}|~`$!=^\t\r\n\x00") {
			t.Errorf("N(%+q) = %+q has a character that a syntax reserves", s, once)
		}
	})
}

// A letter that people have in their names and that is none here is refused
// with what to write instead; the code is the same as for any other.
func TestRefusedLetterSaysWhatToWrite(t *testing.T) {
	for in, want := range map[string]string{
		"straße": "ss in place of ß", "STRAẞE": "ss in place of ß", "yıldız": "i in place of ı",
	} {
		_, err := account.NormalizeUsername(in)
		if code(t, err, "username") != account.CodeInvalidCharacters || !strings.Contains(err.Error(), want) {
			t.Errorf("NormalizeUsername(%q): %v, want %q in it", in, err, want)
		}
	}
}
