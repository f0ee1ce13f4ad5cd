package console

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/activity"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/fleet"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/domain/sweep"
)

func english() *texts { return languages()[0] }
func chinese() *texts { return languages()[1] }

// namesOf are the codes that come from elsewhere, by the group of texts that names
// them.
var namesOf = map[string][]string{
	"event":       codes(audit.Actions()),
	"activity":    codes(activity.Kinds[:]),
	"outcome":     codes([]sweep.Outcome{sweep.Running, sweep.Done, sweep.Ceiling, sweep.Slow, sweep.Failed, sweep.Stopped, sweep.TakenOver, sweep.Abandoned}),
	"device":      policy.DefaultClasses(),
	"role":        codes([]account.Role{account.RoleUser, account.RoleService, account.RoleAdmin}),
	"scope":       servicekey.Known().Names(),
	"limit":       limit.Names(),
	"limits.hint": limit.Names(),
	"trouble":     codes(fleet.Troubles()),
	"via":         {audit.ViaAPI, audit.ViaConsole, audit.ViaCLI, audit.ViaSweep, audit.ViaServer},
}

// open are the groups whose codes are listed nowhere: of these a text may be missing, and
// the code is shown, and none is noticed that no code uses any more.
var open = []string{"field.", "reason.", "value.", "target.", "done.", "why.", "unit."}

func codes[T ~string](list []T) (all []string) {
	for _, c := range list {
		all = append(all, string(c))
	}
	return all
}

// Every language has the same keys, with the same blanks to fill in, and has its
// texts in its own words. English lacks some sentences about fields, and takes those
// of the domain, which are English.
func TestLanguagesAreComplete(t *testing.T) {
	blanks := regexp.MustCompile(`%[a-z]`)
	same := regexp.MustCompile(`^(lang|mark\..*|unit\.\w+\.short|audit\.(csv|ndjson|no_user)|overview\.redis\w*|expiry\.error|message\.\w+\.command|via\.api)$`)
	en, zh := english().byKey, chinese().byKey
	for _, key := range slices.Sorted(maps.Keys(zh)) {
		other := zh[key]
		text, ok := en[key]
		if !ok && strings.HasPrefix(key, "field.") {
			continue
		}
		switch {
		case text == "" || other == "":
			t.Errorf("no text in one of the languages: %s", key)
		case !slices.Equal(blanks.FindAllString(text, -1), blanks.FindAllString(other, -1)):
			t.Errorf("%s: %q and %q have other blanks", key, text, other)
		case !same.MatchString(key) && !strings.ContainsFunc(other, func(r rune) bool { return unicode.Is(unicode.Han, r) }):
			t.Errorf("%s is not Chinese: %q", key, other)
		}
	}
	for key := range en {
		if _, ok := zh[key]; !ok {
			t.Errorf("Chinese lacks %s", key)
		}
	}
}

// used are the keys that the code and the pages name.
func used(t *testing.T) map[string]bool {
	t.Helper()
	inCode := regexp.MustCompile(`\.Text\("([a-z_.]*[a-z])"|\.Text "([a-z_.]*[a-z])"|message\("([a-z_]+)"\)`)
	all := map[string]bool{"lang": true}
	for _, pattern := range []string{"*.go", "pages/*.html"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range files {
			source, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			for _, m := range inCode.FindAllStringSubmatch(string(source), -1) {
				if m[3] != "" {
					all["message."+m[3]+".title"], all["message."+m[3]+".text"] = true, true
				} else {
					all[m[1]+m[2]] = true
				}
			}
		}
	}
	for group, names := range namesOf {
		for _, name := range names {
			all[group+"."+name] = true
		}
	}
	return all
}

// Every key that the code and the pages use has a text, and every text is used.
func TestEveryTextIsUsedAndIsThere(t *testing.T) {
	keys, en := used(t), english().byKey
	for key := range keys {
		if _, ok := en[key]; !ok {
			t.Errorf("there is no text %s", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(en)) {
		isOpen := slices.ContainsFunc(open, func(group string) bool { return strings.HasPrefix(key, group) })
		if !keys[key] && !isOpen && !strings.HasSuffix(key, ".command") {
			t.Errorf("%s is used nowhere", key)
		}
	}
}

func TestSpansInWords(t *testing.T) {
	for d, want := range map[time.Duration][2]string{
		14 * 24 * time.Hour: {"14 days", "14 天"}, 36 * time.Hour: {"1 day 12 hours", "1 天 12 小时"}, time.Minute: {"1 minute", "1 分钟"},
		0: {"0 seconds", "0 秒"}, 90*time.Minute + 20*time.Second: {"1 hour 30 minutes", "1 小时 30 分钟"}, time.Hour + 5*time.Second: {"1 hour", "1 小时"},
		-time.Hour: {"0 seconds", "0 秒"},
	} {
		if en, zh := english().span(d), chinese().span(d); en != want[0] || zh != want[1] {
			t.Errorf("%v: %q and %q", d, en, zh)
		}
	}
}

func TestSpansAsTyped(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"14d": 14 * 24 * time.Hour, "1d 12h": 36 * time.Hour, "1d12h": 36 * time.Hour, " 90 minutes ": 90 * time.Minute, "14 天": 14 * 24 * time.Hour, "1　天　12 小时": 36 * time.Hour, "2 Hours": 2 * time.Hour,
	} {
		if got, err := readSpan(s); err != nil || got != want {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "14", "d", "-1d", "1.5d", "1w", "99999999999999d", "1d x", strings.Repeat("1d", 60), "1000000d"} {
		if got, err := readSpan(s); err == nil {
			t.Errorf("%q is read as %v", s, got)
		}
	}
}

// What the page types is read as what it means.
func FuzzSpan(f *testing.F) {
	f.Add("14d", int64(3600))
	f.Add("1 天 2小时", int64(86401))
	f.Fuzz(func(t *testing.T, s string, n int64) {
		if d, err := readSpan(s); err == nil {
			if again, err := readSpan(typeSpan(d)); err != nil || again != d || d < 0 || d > maxSpan {
				t.Fatalf("%q is %v, and %q is %v, %v", s, d, typeSpan(d), again, err)
			}
		}
		d := time.Duration(((n%360000000)+360000000)%360000000) * time.Second
		if got, err := readSpan(typeSpan(d)); err != nil || got != d {
			t.Fatalf("%v: %q is %v, %v", d, typeSpan(d), got, err)
		}
	})
}

func TestNumbersAndShares(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 12431: "12,431", -1234567: "-1,234,567"} {
		if got := number(n); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
	for of, want := range map[[2]int64]string{{0, 0}: "0 %", {0, 5}: "0 %", {5, 5}: "100 %", {1, 100000}: "< 0.1 %", {999999, 1000000}: "> 99 %", {1, 20}: "5.0 %", {1, 2}: "50 %"} {
		if got := percent(of[0], of[1]); got != want {
			t.Errorf("%v: %q", of, got)
		}
	}
}

// The least length of a passphrase is another beside a second factor: it comes from
// the domain, in every language.
func TestLeastLengthIsTheDomains(t *testing.T) {
	short := invalid.Field{Field: "password", Code: account.CodeTooShort, Message: "must have at least 8 characters", Bound: 8}
	for _, l := range languages() {
		if s := l.field(short); !strings.Contains(s, " 8 ") || strings.Contains(s, "%") {
			t.Errorf("%s: %q", l.Lang, s)
		}
	}
}
