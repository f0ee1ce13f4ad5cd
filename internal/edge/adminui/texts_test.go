package adminui

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/flakepass/flakepass/internal/domain/activity"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// walk calls f with every text below v and where it stands.
func walk(v reflect.Value, at string, f func(at, text string)) {
	switch v.Kind() {
	case reflect.String:
		f(at, v.String())
	case reflect.Struct:
		for i := range v.NumField() {
			walk(v.Field(i), at+"."+v.Type().Field(i).Name, f)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			walk(v.Index(i), fmt.Sprintf("%s[%d]", at, i), f)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			walk(v.MapIndex(k), at+"["+k.String()+"]", f)
		}
	case reflect.Pointer:
		walk(v.Elem(), at, f)
	}
}

func textsOf(t *texts) map[string]string {
	all := map[string]string{}
	walk(reflect.ValueOf(t), "", func(at, text string) { all[at] = text })
	return all
}

// Both languages say everything, with the same blanks to fill in.
func TestLanguagesAreComplete(t *testing.T) {
	verbs := regexp.MustCompile(`%[sd]`)
	en, zh := textsOf(english()), textsOf(chinese())
	for at, text := range en {
		other, ok := zh[at]
		switch {
		case !ok && !strings.HasPrefix(at, ".Fields["):
			t.Errorf("Chinese lacks %s", at)
		case text == "" && !strings.HasSuffix(at, ".Command"):
			t.Errorf("English has nothing at %s", at)
		case ok && (other == "") != (text == ""):
			t.Errorf("Chinese has nothing at %s", at)
		case !slices.Equal(verbs.FindAllString(text, -1), verbs.FindAllString(other, -1)):
			t.Errorf("%s: %q and %q have other blanks", at, text, other)
		}
	}
	for at := range zh {
		if _, ok := en[at]; !ok && !strings.HasPrefix(at, ".Fields[") && !strings.HasPrefix(at, ".Told[") {
			t.Errorf("English lacks %s", at)
		}
	}
	same := regexp.MustCompile(`^\.(Product|Marks\..*|Lang|Units\[\d\]\.Short|Log\.(CSV|NDJSON)|Home\.(Redis|Shared)|Dial\.ErrorF|.*\.Command|Log\.(Nobody|Doors\[api\]))$`)
	for at, text := range zh {
		if !same.MatchString(at) && !strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) && text != "" {
			t.Errorf("%s is not Chinese: %q", at, text)
		}
	}
}

// Every field of texts is shown by some page or handler; one that is not is a
// leftover.
func TestEveryActionAndKindHasAName(t *testing.T) {
	for _, l := range languages {
		for _, a := range audit.Actions() {
			if l.Log.Actions[string(a)] == "" {
				t.Errorf("%s has no name for %s", l.Name, a)
			}
		}
		for _, k := range activity.Kinds {
			if l.Home.Kinds[string(k)] == "" {
				t.Errorf("%s has no name for %s", l.Name, k)
			}
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
		"14d": 14 * 24 * time.Hour, "1d 12h": 36 * time.Hour, "1d12h": 36 * time.Hour, " 90 minutes ": 90 * time.Minute, "14 天": 14 * 24 * time.Hour, "2 Hours": 2 * time.Hour,
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
