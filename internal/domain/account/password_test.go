package account_test

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

func check(username, p string) error {
	return account.CheckPassword(username, account.NewPassword(p))
}

func TestPasswordLimits(t *testing.T) {
	random := func(n int) string { return strings.Repeat("kx7 wq!mz4 tr9#", n)[:n] }
	for _, c := range []struct{ name, p, code string }{
		{"empty", "", "required"},
		{"14", "brave tin goat", "too_short"},
		{"15", "brave tin goats", ""},
		{"14 of many bytes", "日本語の長い合言葉です山川空", "too_short"},
		{"15 of many bytes", "日本語の長い合言葉です山川空海", ""},
		{"14 letters with marks, decomposed", "bra\u0301ve tin goat", "too_short"},
		{"15 with marks, decomposed", "bra\u0301ve tin goats", ""},
		{"14 emoji", "😀🐐🌍🚗🎈🍕📚🎸🌙⚽🍎🐝🌊", "too_short"},
		{"spaces at both ends count", " brave tin goat", ""},
		{"64", random(64), ""},
		{"256", random(255) + "§", ""},
		{"257", random(256) + "§", "too_long"},
		{"1024 bytes", strings.Repeat("😀🐐🌍🚗🎈🍕📚🎸🌙🌕🍎🐝🌊", 20)[:1024], ""},
		{"1025 bytes", strings.Repeat("😀🐐🌍🚗🎈🍕📚🎸🌙🌕🍎🐝🌊", 20)[:1024] + "x", "too_long"},
		{"a megabyte", strings.Repeat("x", 1<<20), "too_long"},
		{"NUL", "brave tin goat\x00s", "invalid_characters"},
		{"tab", "brave\ttin goats", "invalid_characters"},
		{"newline", "brave tin goats\n", "invalid_characters"},
		{"DEL", "brave tin goats\x7f", "invalid_characters"},
		{"C1", "brave tin goats\u0085", "invalid_characters"},
		{"not UTF-8", "brave tin goats\xff", "invalid_characters"},
		{"replacement character", "brave tin goats\ufffd", "invalid_characters"},
		{"no-break space", "brave\u00a0tin goats", ""},
		{"zero width joiner", "brave tin goats 👩\u200d🚀", ""},
	} {
		if got := code(t, check("alice", c.p), "password"); got != c.code {
			t.Errorf("%s: code %q, want %q", c.name, got, c.code)
		}
	}
}

// TestPasswordThatIsNoTextIsNotSaidToHaveControlCharacters: a file in Latin-1 has none.
func TestPasswordThatIsNoTextIsNotSaidToHaveControlCharacters(t *testing.T) {
	for p, want := range map[string]string{
		"brave tin go\xe4ts": "must be text in UTF-8", "brave tin go\ufffdts": "must not have the character U+FFFD", "brave\ttin goats": "must not have control characters",
	} {
		if err := check("alice", p); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "control") != strings.Contains(want, "control") {
			t.Errorf("%q: %v, want %s", p, err, want)
		}
	}
}

func TestCommonPasswordsAreRefused(t *testing.T) {
	for _, p := range []string{
		"films+pic+galeries",
		"passwordpassword", "passwordpasswor", "PasswordPassword", "Password1!Password1!", "trustno1trustno1",
		"password1234567", "1234567password", "!!!!password!!!!", "P@ssw0rd1234567!", "password        ", "p4$$w0rd-p4$$w0rd",
		"dragon-dragon-dragon", "dragon 83910475", "Baseball 2026!!", "passwordqwertyuiop", "ｐａｓｓｗｏｒｄ1234567",
		"abcabcabcabcabc", "aaaaaaaaaaaaaaa", "xyz1xyz1xyz1xyz1", "839201839201839201", "ñañañañañañañaña", "               ",
		"123456789012345", "098765432109876", "qwertyuiopasdfgh", "QWERTYUIOPASDFGH", "poiuytrewqlkjhg", "abcdefghijklmnop",
		"1qaz2wsx3edc4rfv", "123-456-789-123", "qwertzuiopasdfgh", "!@#$%^&*()!@#$%", "zxcvbnm,./zxcvbnm", "111222333444555", "abc123def456ghi",
		"flakepassflakepass", "flakepass123456", "FlakePass-2026!", "flakepass 2026!!", "administrator01",
	} {
		if got := code(t, check("alice", p), "password"); got != "too_common" {
			t.Errorf("%q: code %q, want too_common", p, got)
		}
	}
}

// Each entry, stretched to the minimum in the ways people do, is refused.
func TestEveryListEntryIsRefusedHoweverStretched(t *testing.T) {
	lines := bufio.NewScanner(strings.NewReader(account.CommonPasswordsFile()))
	var list []string
	for lines.Scan() {
		if w := lines.Text(); !strings.HasPrefix(w, "#") {
			list = append(list, w)
		}
	}
	if len(list) < 7000 || !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) {
		t.Fatalf("the list has %d entries, want 7,000 or more, sorted, each once", len(list))
	}
	for _, w := range list {
		if w == "" || w != strings.ToLower(w) || strings.ContainsFunc(w, func(r rune) bool { return r < '!' || r > '~' }) {
			t.Fatalf("entry %q is never matched", w)
		}
		again := strings.Repeat(w, 15/len(w)+1)
		tries := []string{strings.ToUpper(again)}
		if strings.ContainsFunc(w, func(r rune) bool { return 'a' <= r && r <= 'z' }) {
			tries = append(tries, w+"83910475628!"[:max(0, min(12, 15-len(w)))], "#"+w+"-----------------"[:max(1, 14-len(w))])
		}
		for _, p := range tries {
			if err := check("alice", p); err == nil {
				t.Errorf("%q is accepted", p)
			}
		}
	}
}

// words are ordinary; a good many are on the list by themselves.
var words = strings.Fields(`dragon monkey summer football baseball master shadow orange banana coffee purple
	winter silver golden thunder princess pepper ginger cookie flower mother father sister brother window
	river mountain garden bottle pencil kitchen station village corner butter letter number between different
	horse battery staple correct umbrella lantern gravel bicycle harbor mitten acorn blanket candle drizzle
	engine feather glacier hammock island jigsaw kettle ladder marble needle oyster parcel quilt rocket
	saddle teapot urchin velvet walnut yellow zipper first define were street trees power tree water poem
	love angel soccer hockey ranger tigers killer hunter login token secret house computer`)

func TestPassphrasesAreAccepted(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	tails := []string{"", "", "1", "!", "2026", " 99", "?!", "123"}
	seps := []string{" ", "", "-", ".", "_", ", "}
	for range 5_000 {
		n, sep := 2+r.IntN(4), seps[r.IntN(len(seps))]
		order := r.Perm(len(words))
		var w []string
		for len(w) < n || len(strings.Join(w, sep)) < 15 {
			w = append(w, words[order[len(w)]])
		}
		if r.IntN(3) == 0 {
			w[0] = strings.ToUpper(w[0][:1]) + w[0][1:]
		}
		p := strings.Join(w, sep) + tails[r.IntN(len(tails))]
		if err := check("zebediah", p); err != nil {
			t.Errorf("%q: %v", p, err)
		}
	}
}

// There are no composition rules: what a generator draws is accepted, from
// whatever alphabet.
func TestRandomPasswordsAreAccepted(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, alphabet := range []string{
		"0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "!#$%&()*+,-./:;<=>?@[]^_{|}~", "0123456789abcdef",
		"аеиоубвгдкстрн", "あいうえおかきくけこさしすせそ", "😀🐐🌍🚗🎈🍕📚🎸🌙🍎🐝🌊",
	} {
		a := []rune(alphabet)
		for range 1_500 {
			p := make([]rune, 15+r.IntN(6))
			for i := range p {
				p[i] = a[r.IntN(len(a))]
			}
			if err := check("zebediah", string(p)); err != nil {
				t.Errorf("%q: %v", string(p), err)
			}
		}
	}
}

func TestUsernameIsNoPassword(t *testing.T) {
	for _, c := range []struct{ username, p, code string }{
		{"alice", "alice loves long sentences", "contains_username"},
		{"alice", "malicious tin goats", ""},
		{"alice", "mALICE in tin goats", "contains_username"},
		{"ann", "a cannon in the garden", ""},
		{"ann", "a garden with Ann in it", "contains_username"},
		{"ann", "cannon and ann again", "contains_username"},
		{"alice@example.com", "the cat of alice sleeps", "contains_username"},
		{"иван", "это пароль Иван придумал", "contains_username"},
		{"ren\u00e9", "my password is rene\u0301 here", "contains_username"},
		{"a-very-long-username", "a-very-long-username", "contains_username"},
		{"grace.hopper@example.com", "hopper@EXAMPLE.com", "contains_username"},
		{"", "brave tin goats", ""},
	} {
		if got := code(t, check(c.username, c.p), "password"); got != c.code {
			t.Errorf("%q with %q: code %q, want %q", c.username, c.p, got, c.code)
		}
	}
}

func TestEveryProblemIsNamed(t *testing.T) {
	err := check("alice", "alice\x00")
	want := []string{"too_short", "invalid_characters", "contains_username"}
	var got []string
	if bad, ok := errors.AsType[*invalid.Error](err); ok {
		for _, f := range bad.Fields {
			got = append(got, f.Code)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("codes %v, want %v", got, want)
	}
	if strings.Contains(fmt.Sprint(err), "alice") {
		t.Errorf("the error quotes the value: %v", err)
	}
}

func BenchmarkCheckPassword(b *testing.B) {
	for name, p := range map[string]account.Password{
		"phrase":  account.NewPassword("correct horse battery staple"),
		"longest": account.NewPassword(strings.Repeat("qwerty7asdf8dragon", 14)),
		"expands": account.NewPassword(strings.Repeat("\ufdfa\ufdfb", 127)),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_ = account.CheckPassword("zebediah", p)
			}
		})
	}
}

func TestBenchmarksRun(t *testing.T) { testenv.Benchmarks(t) }

// TestEveryEntryOfTheListIsRefused: 3,000 and more, each alone if it is long
// enough, else repeated until it is.
func TestEveryEntryOfTheListIsRefused(t *testing.T) {
	text, err := os.ReadFile("common_passwords.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for word := range strings.Lines(string(text)) {
		if word = strings.TrimSuffix(word, "\n"); word == "" || word[0] == '#' {
			continue
		}
		n++
		p := word
		for len(p) < 15 {
			p += word
		}
		if got := code(t, check("zebediah", p), "password"); got != "too_common" {
			t.Errorf("%q: code %q, want too_common", p, got)
		}
	}
	if n < 3000 {
		t.Errorf("the list has %d entries", n)
	}
}
