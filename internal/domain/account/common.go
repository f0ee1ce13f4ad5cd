package account

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

//go:embed common_passwords.txt
var commonPasswords string

// contextWords are what people here would think of first (OWASP ASVS 6.1.2).
var contextWords = []string{"flakepass", "flake", "pass", "passphrase", "token", "login", "logout", "admin", "administrator"}

// commonWords is the list and its longest entry. It is read at the first
// password that is set, since most runs of the program never need it.
var commonWords = sync.OnceValue(func() *wordList {
	l := &wordList{words: make(map[string]bool, 8192)}
	for line := range strings.Lines(commonPasswords) {
		if w := strings.TrimSuffix(line, "\n"); w != "" && w[0] != '#' {
			l.add(w)
		}
	}
	for _, w := range contextWords {
		l.add(w)
	}
	return l
})

type wordList struct {
	words   map[string]bool
	longest int
}

func (l *wordList) add(w string) {
	l.words[w] = true
	l.longest = max(l.longest, len(w))
}

const (
	shortUnit = 6 // a repetition of so few characters is common, whatever they are
	shortRun  = 3 // fewer neighbours in a row are chance
)

// tooCommon is the rule for passwords that guessers try early. At 15
// characters few entries of a list of common passwords are left; what people do
// is stretch one. So a password is refused if, in lower case, it is
//
//  1. an entry of the list, or a word of this product;
//  2. a text repeated, if that text is at most 6 characters or is refused
//     itself: abcabcabcabcabc, passwordpassword;
//  3. runs of at least 3 neighbours on a keyboard or in the alphabet, in either
//     direction, or of one character, and at most a few separators:
//     qwertyuiopasdfgh, 123-456-789-123;
//  4. one entry with letters in it, once or more, and nothing beside it but
//     digits, symbols and runs, unless those would do as a password alone:
//     password1234567, !!!!password!!!!, P@ssw0rd-P@ssw0rd.
//
// Anything with a second word in it passes: two words of the list are tens of
// millions of guesses, and the throttle stops at a hundred.
func tooCommon(folded []rune) bool {
	if len(folded) == 0 {
		return false
	}
	inRun := markRuns(folded)
	p := period(folded)
	return plainlyCommon(folded, inRun, p) || p < len(folded) && tooCommon(folded[:p]) || oneWord(folded, inRun)
}

// plainlyCommon is the part of the rule that looks at the text as a whole.
func plainlyCommon(s []rune, inRun []bool, period int) bool {
	return commonWords().words[string(s)] || period <= len(s)/2 && period <= shortUnit || onlyRuns(s, inRun)
}

// fold prepares a text for comparison with the list. It is for comparing only:
// what is hashed is what was typed.
func fold(s string) []rune {
	return []rune(strings.ToLower(norm.NFKC.String(s)))
}

// period is the least p > 0 with s[i] == s[i+p] throughout; len(s) if none is
// less. It is read off the prefix function of Knuth, Morris and Pratt.
func period(s []rune) int {
	border := make([]int, len(s))
	for i := 1; i < len(s); i++ {
		k := border[i-1]
		for k > 0 && s[i] != s[k] {
			k = border[k-1]
		}
		if s[i] == s[k] {
			k++
		}
		border[i] = k
	}
	return len(s) - border[len(s)-1]
}

// runs are the ways along which fingers and minds slide: the alphabet, the
// digits, and the rows and columns of the keyboards in wide use.
var runs = []string{
	"abcdefghijklmnopqrstuvwxyz", "01234567890", "!@#$%^&*()", "qwertyuiop[]", "asdfghjkl;'", "zxcvbnm,./",
	"qwertzuiop", "yxcvbnm", "azertyuiop", "qsdfghjklm", "wxcvbn",
	"1qaz", "2wsx", "3edc", "4rfv", "5tgb", "6yhn", "7ujm", "8ik,", "9ol.", "0p;/",
	"147", "258", "369", "789", "456", "123", "159", "357",
}

// markRuns marks every character that is in a run.
func markRuns(s []rune) []bool {
	marked := make([]bool, len(s))
	mark := func(next func(a, b rune) bool) {
		for i := 0; i < len(s); {
			j := i + 1
			for j < len(s) && next(s[j-1], s[j]) {
				j++
			}
			if j-i >= shortRun {
				for k := i; k < j; k++ {
					marked[k] = true
				}
			}
			i = j
		}
	}
	mark(func(a, b rune) bool { return a == b })
	for _, run := range runs {
		mark(func(a, b rune) bool {
			i := strings.IndexRune(run, a)
			return i >= 0 && i+1 < len(run) && rune(run[i+1]) == b
		})
		mark(func(a, b rune) bool {
			i := strings.LastIndexByte(run, byte(min(a, 0x7F)))
			return i > 0 && rune(run[i-1]) == b
		})
	}
	return marked
}

// onlyRuns reports whether everything outside of runs is separators, fewer
// than the characters in them.
func onlyRuns(s []rune, inRun []bool) bool {
	in := 0
	for i, r := range s {
		switch {
		case inRun[i]:
			in++
		case !strings.ContainsRune(" -_.,:/+", r):
			return false
		}
	}
	return in > len(s)-in
}

// oneWord reports whether s is one entry that has letters, and nothing beside
// it that would do as a password.
func oneWord(s []rune, inRun []bool) bool {
	list := commonWords()
	plain := slices.Clone(s)
	for i, r := range plain {
		if k := strings.IndexRune("@4031!$57", r); k >= 0 {
			plain[i] = rune("aaoeiisst"[k])
		}
	}
	for _, text := range [][]rune{s, plain} {
		for i := range text {
			var b []byte
			for j := i; j < len(text) && text[j] <= unicode.MaxASCII && len(b) < list.longest; j++ {
				b = append(b, byte(text[j]))
				if list.words[string(b)] && slices.ContainsFunc(s[i:j+1], unicode.IsLetter) &&
					onlyPadding(s, inRun, text, text[i:j+1]) {
					return true
				}
			}
		}
	}
	return false
}

// onlyPadding takes word out of s, wherever text has it, and judges the rest.
// It does not look for a second word there: the time of that is exponential.
func onlyPadding(s []rune, inRun []bool, text, word []rune) bool {
	var rest []rune
	for i := 0; i < len(s); {
		if i+len(word) <= len(s) && slices.Equal(text[i:i+len(word)], word) {
			i += len(word)
			continue
		}
		if wordy(s[i]) && !inRun[i] {
			return false
		}
		rest = append(rest, s[i])
		i++
	}
	return len(rest) < minPassword || plainlyCommon(rest, markRuns(rest), period(rest))
}

// MinPasswordLength is the least length, in code points, of a password that is the
// only factor, for pages that show it before a password is sent. [CheckPassword]
// holds to it.
const MinPasswordLength = minPassword
