package account

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/flakepass/flakepass/internal/domain/invalid"
)

// ErrAliasTaken means that an alias is the username or an alias of somebody else.
var ErrAliasTaken = errors.New("alias taken")

const (
	// MostAliases is how many aliases an account has at most.
	MostAliases = 5

	maxAliasBytes = 254 // of a path of RFC 5321, section 4.5.3.1, less its brackets
	maxLocalBytes = 64  // of its local part
)

// phone is a number as ITU-T E.164 has it, with the plus sign before it.
var phone = regexp.MustCompile(`^\+[1-9][0-9]{6,14}$`)

// NormalizeAlias returns the one form of a name with which a person may log in beside the
// username: a mail address, in the form of a username ([NormalizeUsername]) with up to 254
// bytes and also with apostrophes, or a phone number in E.164, such as +4915112345678. A
// form maps to itself. So an alias has an @ or begins with +, and no other username is one.
// It returns an [*invalid.Error] with the field aliases for any other text.
func NormalizeAlias(s string) (string, error) {
	bad := func(code, message string) (string, error) { return "", invalid.Of("aliases", code, message) }
	const charset = "each must be a mail address, or a phone number such as +4915112345678"
	if len(s) > 4*maxUsernameBytes || !utf8.ValidString(s) {
		return bad(CodeInvalidCharacters, charset)
	}
	name, ok := stableForm(s)
	if !ok {
		return bad(CodeInvalidCharacters, charset)
	}
	if phone.MatchString(name) {
		return name, nil
	}
	local, domain, _ := strings.Cut(name, "@")
	switch {
	case local == "" || strings.Contains("."+domain+".", "..") || strings.Contains(domain, "@"): // a dot at the end would make two aliases of one address
		return bad(CodeInvalidCharacters, charset)
	case len(name) > maxAliasBytes || len(local) > maxLocalBytes:
		return bad(CodeTooLong, "a mail address must have at most 254 bytes, and 64 before the @")
	}
	if code := checkLetters(strings.ReplaceAll(name, "'", "")); code != "" {
		return bad(code, charset)
	}
	return name, nil
}

// NormalizeAliases are the forms of all, sorted, each once. It fails as [NormalizeAlias]
// does, and for more than [MostAliases].
func NormalizeAliases(all []string) ([]string, error) {
	names := make([]string, 0, len(all))
	for _, s := range all {
		name, err := NormalizeAlias(s)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) > MostAliases {
		return nil, invalid.Of("aliases", CodeTooLong, "must be at most 5")
	}
	return names, nil
}

// CouldBeAlias reports whether a normal name has the form of an alias: then it is kept
// among them, also if it is a username, so that no two users have it.
func CouldBeAlias(name string) bool { return strings.Contains(name, "@") || IsPhone(name) }

// IsPhone reports whether a normal alias is a phone number.
func IsPhone(alias string) bool { return strings.HasPrefix(alias, "+") }
