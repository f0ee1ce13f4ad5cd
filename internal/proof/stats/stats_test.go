package main

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/measure"
)

// TestMain runs the tests in the root of the module, which they read.
func TestMain(m *testing.M) {
	if err := os.Chdir("../../.."); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// once measures the ways once for all tests.
var once = sync.OnceValues(func() ([2]measure.Way, error) {
	me, login, err := ways(context.Background(), ".")
	return [2]measure.Way{me, login}, err
})

func ran() (me, login measure.Way, err error) {
	both, err := once()
	return both[0], both[1], err
}

var number = regexp.MustCompile(`\d+`)

// stale compares what the page shows with what is true, and names the rows that
// say something else.
func stale(shown string, rows []row) []string {
	lines := strings.Split(strings.TrimSuffix(shown, "\n"), "\n")
	var all []string
	for n, r := range rows {
		is := strings.TrimSuffix(format([]row{r}), "\n")
		was := ""
		if n < len(lines) {
			was = lines[n]
		}
		if !near(was, is, r.near) {
			all = append(all, "shown: "+was+"\n is:   "+is)
		}
	}
	if len(lines) > len(rows) {
		all = append(all, "shown, and not true any more: "+strings.Join(lines[len(rows):], "\n"))
	}
	return all
}

// near reports whether two lines have the same words, and numbers that differ by at most by.
func near(a, b string, by int) bool {
	first, second := number.FindAllString(a, -1), number.FindAllString(b, -1)
	if strings.Join(number.Split(a, -1), "#") != strings.Join(number.Split(b, -1), "#") || len(first) != len(second) {
		return false
	}
	for n := range first {
		x, _ := strconv.Atoi(first[n])
		y, _ := strconv.Atoi(second[n])
		if max(x-y, y-x) > by {
			return false
		}
	}
	return true
}

func TestStaleRowsAreNamed(t *testing.T) {
	rows := []row{{"lines", "4100", 200}, {"widest", "x.Y 5", 0}}
	for shown, want := range map[string]int{
		format(rows): 0,
		format([]row{{"lines", "4300", 0}, {"widest", "x.Y 5", 0}}):                   0,
		format([]row{{"lines", "4400", 0}, {"widest", "x.Y 5", 0}}):                   1,
		format([]row{{"lines", "4100", 0}, {"widest", "x.Z 5", 0}}):                   1,
		format([]row{{"lines", "4100", 0}, {"widest", "x.Y 6", 0}}):                   1,
		format([]row{{"lines", "4100", 0}}):                                           1,
		format([]row{{"lines", "4100", 0}, {"widest", "x.Y 5", 0}, {"more", "1", 0}}): 1,
	} {
		if got := stale(shown, rows); len(got) != want {
			t.Errorf("%q: got %q, want %d", shown, got, want)
		}
	}
}

// TestArchitectureShowsWhatIsTrue: "make stats" writes what the page has to show.
func TestArchitectureShowsWhatIsTrue(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _, err := block(string(text))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := report(".", ran)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stale(shown, rows) {
		t.Errorf("%s is stale (make stats mends it)\n%s", page, s)
	}
}

// TestWaysAreShort: what a warm GET /v1/me and a login pass through only becomes
// less, and no request passes through package main. These are the numbers of today.
func TestWaysAreShort(t *testing.T) {
	me, login, err := ran()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		way   measure.Way
		files int // at most
	}{
		{"GET /v1/me", me, 21},
		{"POST /v1/login", login, 73},
	} {
		if len(c.way) > c.files {
			t.Errorf("%s passes through %d files, want at most %d\n%s", c.name, len(c.way), c.files, strings.Join(c.way, "\n"))
		}
		if slices.ContainsFunc(c.way, func(file string) bool { return strings.HasPrefix(file, "cmd/") }) {
			t.Errorf("%s passes through package main\n%s", c.name, strings.Join(c.way, "\n"))
		}
		if !slices.Contains(c.way, "internal/domain/session/service.go") {
			t.Errorf("%s does not pass through the sessions: the way is not the whole\n%s", c.name, strings.Join(c.way, "\n"))
		}
	}
}
