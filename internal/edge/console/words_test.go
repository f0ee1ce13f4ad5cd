package console

import (
	"os"
	"regexp"
	"testing"
	"unicode"

	"github.com/flakepass/flakepass/internal/domain/fleet"
	"github.com/flakepass/flakepass/internal/domain/sweep"
)

// Every trouble of an instance has words in every language, and English has those of
// the domain. What is no code, from an instance of another release, stays as it is.
func TestTroublesHaveWords(t *testing.T) {
	for _, what := range fleet.Troubles() {
		if got := chinese().trouble(what); got == string(what) {
			t.Errorf("Chinese has no words for %s", what)
		}
		if got := english().trouble(what); got != what.Error() {
			t.Errorf("%s is %q on the pages, and %q elsewhere", what, got, what.Error())
		}
	}
	for what, want := range map[fleet.Trouble]string{
		"worker_no_number":              "ID 工作器状态异常：所有节点号都已被占用",
		"worker_unfit: disk full":       "ID 工作器状态异常：disk full",
		"a sentence of another release": "a sentence of another release",
	} {
		if got := chinese().trouble(what); got != want {
			t.Errorf("%q is %q", what, got)
		}
	}
	state := State{Redis: fleet.RedisSilent, RedisPlace: "10.0.0.7:6379"}
	if got := chinese().redis(&state); got != "没有响应 (10.0.0.7:6379)" {
		t.Errorf("Redis: %q", got)
	}
}

// Every code that the record has for a reason is shown in words.
func TestReasonsOfTheRecordAreTranslated(t *testing.T) {
	for file, form := range map[string]string{
		"../../domain/session/session.go": `Reason += "([^"]+)"`,
		"../../domain/login/refused.go":   `, "([a-z_]+)", true\}`,
		"../../domain/audit/security.go":  `case "([^"]+)"`,
	} {
		for _, code := range written(t, file, form) {
			if chinese().reason(code) == code {
				t.Errorf("%q of %s is not translated", code, file)
			}
		}
	}
	if got := chinese().reason("rate_limited: login-place"); got != "尝试过多: login-place" {
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
			if got := l.passes([]sweep.Report{{Outcome: o}})[0].Result; got == "" || got == string(o) {
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
