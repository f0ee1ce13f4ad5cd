package account

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/flakepass/flakepass/internal/domain/invalid"
	"golang.org/x/text/secure/precis"
	"golang.org/x/text/unicode/norm"
)

// The rules for a username:
//
//   - It is the PRECIS profile UsernameCaseMapped (RFC 8265): lower case, full
//     and half width mapped to the usual one, composed (NFC), no spaces, no
//     ligatures, right-to-left text only where the bidi rule allows.
//   - It has 3 to 64 code points, and at most 255 bytes.
//   - It is made of letters, the vowel signs of their script, ASCII digits and
//     . _ - @ +, and begins with a letter or digit. That is safe in HTML, in
//     URLs, in headers and after a command, and an e-mail address is a name.
//   - Its letters come from one script of everyday use, so that a Cyrillic а
//     cannot hide in a Latin name. Japanese, Korean and Bopomofo may be mixed
//     with Han, since that is how they are written.
//   - A mark that does not compose with its letter is refused: it is how one
//     name is dressed up as another.
//   - A Latin letter is a to z, or one of those with marks, or one of the few
//     more that people's languages need and that look like no other. ß is not
//     among them, since its capital is SS; nor is the Turkish dotless i.
//   - A name all of whose letters look like Latin ones, in Cyrillic, Greek or
//     Armenian, is refused. This is a short table, and not the full skeleton of
//     UTS 39: it stops ѕсоре for scope, not every artful imitation.
//   - A Greek sigma is ς at the end of a word and σ elsewhere, however typed.
const (
	minUsername      = 3
	maxUsername      = 64
	maxUsernameBytes = 255
)

// moreLatin are the letters without a decomposition.
const moreLatin = "æœøðþđħłŋəɛɔɓɗƙ"

// likeLatin are the letters that pass for a Latin one in many typefaces.
const likeLatin = "асеорхуѕіјһԁԛԝӏёї" + "ονραιυγ" + "օոսհցզ"

const prolongedSound = 'ー' // of script Common, and used in Japanese only

type script struct {
	table *unicode.RangeTable
	han   bool // written together with Han
}

// Recommended scripts of UAX 31, table 5.
var scripts = []script{
	{unicode.Latin, false}, {unicode.Cyrillic, false}, {unicode.Greek, false}, {unicode.Han, true},
	{unicode.Hiragana, true}, {unicode.Katakana, true}, {unicode.Hangul, true}, {unicode.Bopomofo, true},
	{unicode.Arabic, false}, {unicode.Hebrew, false}, {unicode.Devanagari, false}, {unicode.Thai, false},
	{unicode.Armenian, false}, {unicode.Georgian, false}, {unicode.Bengali, false}, {unicode.Gurmukhi, false},
	{unicode.Gujarati, false}, {unicode.Oriya, false}, {unicode.Tamil, false}, {unicode.Telugu, false},
	{unicode.Kannada, false}, {unicode.Malayalam, false}, {unicode.Sinhala, false}, {unicode.Lao, false},
	{unicode.Tibetan, false}, {unicode.Myanmar, false}, {unicode.Ethiopic, false}, {unicode.Khmer, false},
	{unicode.Thaana, false},
}

// NormalizeUsername returns the one form of a name under which it is stored,
// counted and looked up; a form maps to itself. It returns an [*invalid.Error]
// with the field username for a text that is no name. The rules are above; two
// names that differ to a person differ here, and two that look the same in a
// usual typeface are one or refused.
func NormalizeUsername(s string) (string, error) {
	bad := func(code, message string) (string, error) { return "", invalid.Of("username", code, message) }
	const charset = "may have letters, digits and . _ - @ + and begins with a letter or digit"
	switch {
	case s == "":
		return bad(CodeRequired, "must be given")
	case len(s) > 4*maxUsernameBytes: // no mapping makes a name of it
		return bad(CodeTooLong, "must have at most 64 characters")
	case !utf8.ValidString(s):
		return bad(CodeInvalidCharacters, charset)
	}
	name, ok := stableForm(s)
	if !ok {
		return bad(CodeInvalidCharacters, charset)
	}
	if code := checkLetters(name); code != "" {
		message := charset
		switch code {
		case CodeMixedScripts:
			message = "must be written in one script"
		case CodeConfusable:
			message = "looks like a name in another script"
		case CodeInvalidCharacters:
			// Where people have one of these in their names it is a letter like any
			// other, so the message says what to write.
			switch {
			case strings.Contains(name, "ß"):
				message = "is written with ss in place of ß"
			case strings.Contains(name, "ı"):
				message = "is written with i in place of ı"
			}
		}
		return bad(code, message)
	}
	switch n := utf8.RuneCountInString(name); {
	case n < minUsername:
		return bad(CodeTooShort, "must have at least 3 characters")
	case n > maxUsername, len(name) > maxUsernameBytes:
		return bad(CodeTooLong, "must have at most 64 characters")
	}
	return name, nil
}

// NormalizeLogin returns the form of what is typed to log in: a username or an alias. It
// fails as [NormalizeUsername] does for a text that is neither.
func NormalizeLogin(s string) (string, error) {
	name, err := NormalizeUsername(s)
	if err != nil {
		if alias, wrong := NormalizeAlias(s); wrong == nil {
			return alias, nil
		}
	}
	return name, err
}

// stableForm is the form of a name, if it has one that maps to itself: RFC 8264 section 7
// warns that a profile need not be idempotent.
func stableForm(s string) (name string, ok bool) {
	name, err := usernameForm(s)
	if err != nil {
		return "", false
	}
	again, err := usernameForm(name)
	return name, err == nil && again == name
}

func usernameForm(s string) (string, error) {
	s, err := precis.UsernameCaseMapped.String(s)
	if err != nil || !strings.ContainsAny(s, "σς") {
		return s, err
	}
	r := []rune(s)
	for i := range r {
		if r[i] == 'σ' || r[i] == 'ς' {
			r[i] = 'σ'
			if i > 0 && unicode.IsLetter(r[i-1]) && (i+1 == len(r) || !unicode.IsLetter(r[i+1])) {
				r[i] = 'ς'
			}
		}
	}
	return string(r), nil
}

// checkLetters returns the code of the rule that a normalised name breaks, or
// the empty text.
func checkLetters(name string) string {
	var seen []*unicode.RangeTable
	allHan, japanese, letters, alike := true, false, 0, 0
	for i, r := range name {
		switch {
		case r == prolongedSound:
			japanese = true
			continue
		case '0' <= r && r <= '9', i > 0 && strings.ContainsRune("._-@+", r):
			continue
		case !unicode.IsLetter(r) && (i == 0 || !unicode.IsMark(r)):
			return CodeInvalidCharacters
		}
		k := slices.IndexFunc(scripts, func(s script) bool { return unicode.Is(s.table, r) })
		if k < 0 || scripts[k].table == unicode.Latin && !latinLetter(r) {
			return CodeInvalidCharacters
		}
		if !slices.Contains(seen, scripts[k].table) {
			seen = append(seen, scripts[k].table)
			allHan = allHan && scripts[k].han
		}
		letters++
		if strings.ContainsRune(likeLatin, r) {
			alike++
		}
	}
	if japanese && !slices.Contains(seen, unicode.Hiragana) && !slices.Contains(seen, unicode.Katakana) {
		return CodeInvalidCharacters
	}
	if len(seen) > 1 && (!allHan || !oneLanguage(seen)) {
		return CodeMixedScripts
	}
	if letters > 0 && letters == alike {
		return CodeConfusable
	}
	return ""
}

// oneLanguage reports whether scripts that go with Han go with each other:
// Hiragana and Katakana do; Hangul and Bopomofo stand alone beside Han.
func oneLanguage(seen []*unicode.RangeTable) bool {
	var kana, hangul, bopomofo int
	for _, t := range seen {
		switch t {
		case unicode.Hiragana, unicode.Katakana:
			kana = 1
		case unicode.Hangul:
			hangul = 1
		case unicode.Bopomofo:
			bopomofo = 1
		}
	}
	return kana+hangul+bopomofo <= 1
}

func latinLetter(r rune) bool {
	if 'a' <= r && r <= 'z' || strings.ContainsRune(moreLatin, r) {
		return true
	}
	d := norm.NFD.String(string(r))
	return len(d) > 1 && 'a' <= d[0] && d[0] <= 'z'
}
