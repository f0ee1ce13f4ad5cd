package adminui

import (
	"os"
	"regexp"
	"testing"
	"unicode"

	"github.com/flakepass/flakepass/internal/domain/sweep"
)

// What other packages say in English is shown in Chinese too: every reason not to
// be ready, and everything that can be wrong with Redis. The sentences are read
// from where they stand, so a new one is noticed.
func TestWhatOthersSayIsTranslated(t *testing.T) {
	zh := chinese()
	for file, form := range map[string]string{
		"../../server/run/ready.go":      `append\(reasons, "([^"]+)"\)`,
		"../../server/run/report.go":     `append\(report.Troubles, "([^"]+)"\)`,
		"../../store/redistier/check.go": `errors.New\("([^"]+)"\)`,
		"../../../idworker/lender.go":    `Err(?:Lost|NoNumber) = errors.New\("([^"]+)"\)`,
		"../../../idworker/mint.go":      `ErrNoGrant = errors.New\("([^"]+)"\)`,
	} {
		for _, said := range written(t, file, form) {
			if zh.told(said) == said {
				t.Errorf("%q of %s is not translated", said, file)
			}
			if got := english().told(said); got != said {
				t.Errorf("%q is %q in English", said, got)
			}
		}
	}
	for s, want := range map[string]string{
		"the ID worker is not healthy: idworker: every worker number is in use": "ID 工作器状态异常：所有节点号都已被占用",
		"does not answer (10.0.0.7:6379)":                                       "没有响应 (10.0.0.7:6379)",
		"10.0.0.7:6379 (standby)":                                               "10.0.0.7:6379 (standby)",
	} {
		if got := zh.told(s); got != want {
			t.Errorf("%q is %q", s, got)
		}
	}
}

// Every code that the record has for a reason is shown in words.
func TestReasonsOfTheRecordAreTranslated(t *testing.T) {
	for file, form := range map[string]string{
		"../../domain/session/session.go": `Reason += "([^"]+)"`,
		"sightings.go":                    `reason = "([^"]+)"`,
		"login.go":                        `, reason = .*"(\w+)"\n`,
		"../../domain/audit/security.go":  `case "([^"]+)"`,
	} {
		for _, code := range written(t, file, form) {
			if chinese().reason(code) == code {
				t.Errorf("%q of %s is not translated", code, file)
			}
		}
	}
	if got := chinese().reason("rate_limited: login_place"); got != "尝试过多: login_place" {
		t.Errorf("%q", got)
	}
}

// written is what stands in a file in that form.
func written(t *testing.T, file, form string) (all []string) {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(form).FindAllStringSubmatch(string(source), -1) {
		all = append(all, m[1])
	}
	if len(all) == 0 {
		t.Errorf("%s has nothing of the form %s", file, form)
	}
	return all
}

// Every outcome of a pass of the sweep has words in every language.
func TestEveryOutcomeHasWords(t *testing.T) {
	for _, o := range []sweep.Outcome{sweep.Running, sweep.Done, sweep.Ceiling, sweep.Slow, sweep.Failed, sweep.Stopped, sweep.TakenOver, sweep.Abandoned} {
		for _, l := range languages() {
			if got := l.passes([]Sweep{{Outcome: string(o)}})[0].Result; got == "" || got == string(o) {
				t.Errorf("%s has no words for %s", l.Lang, o)
			}
		}
	}
}

// The pages put full-width marks between Chinese texts.
func TestChineseHasItsOwnMarks(t *testing.T) {
	files, err := pageFiles.ReadDir("pages")
	if err != nil {
		t.Fatal(err)
	}
	bare := regexp.MustCompile(`\.T\.Text "[a-z_.]+"\}\}(?:</?[a-z]+>)?[:.,;] `)
	for _, f := range files {
		page, err := pageFiles.ReadFile("pages/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if found := bare.FindString(string(page)); found != "" {
			t.Errorf("%s has a mark of its own: %s", f.Name(), found)
		}
	}
	if got := chinese().each(90e9); !unicode.Is(unicode.Han, []rune(got)[2]) {
		t.Errorf("%q", got)
	}
}
