package bench

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aclements/go-moremath/stats"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// BenchmarkGuess asks whether the time of a refused login reveals who has an
// account: for a name that no account has, one with another password, and a disabled
// one with another password. They come in an order drawn at random, one at a
// time, with the real cost of a hash.
//
// The statistic is that of Mann and Whitney (1947): the chance that a refusal of
// one kind takes longer than one of the other, which is 0.5 if they cannot be
// distinguished, and p, how probable a difference as large is by chance. GUESSES is how
// many of each kind; the default is quick, and 1,000 say something.
func BenchmarkGuess(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv("GUESSES"))
	if err != nil {
		n = testenv.Brief(100, 2)
	}
	data := b.TempDir()
	seed(b, data)
	disable(b, data, 1)
	s := startFlakepass(b, buildFlakepass(b), data)
	kinds := []guessed{
		{"unknown", func(i int) string { return fmt.Sprintf("nobody.%06d", i) }},
		{"wrong", func(i int) string { return fmt.Sprintf("person.%06d", 2+i%(people-2)) }},
		{"disabled", func(int) string { return "person.000001" }},
	}
	guess(b, s, kinds, n)
}

// BenchmarkGuessAmongImported is BenchmarkGuess where half of the accounts were imported,
// with hashes of bcrypt and of Django: for a name that no account has, and one of any
// account. That unknown names were slower or faster is one question; the other is whether
// they take each of the three times as often as accounts do, which the shares of refusals
// say that took long.
func BenchmarkGuessAmongImported(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv("GUESSES"))
	if err != nil {
		n = testenv.Brief(100, 2)
	}
	data := b.TempDir()
	seed(b, data)
	bring(b, data)
	s := startFlakepass(b, buildFlakepass(b), data)
	guess(b, s, []guessed{
		{"unknown", func(i int) string { return fmt.Sprintf("nobody.%06d", i) }},
		{"account", func(i int) string {
			if i%4 < 2 {
				return fmt.Sprintf("person.%06d", i/4%people)
			}
			return fmt.Sprintf("brought.%06d", i%people)
		}},
	}, n)
}

// BenchmarkGuessWithHook is BenchmarkGuess where an import hook is asked,
// which answers after some 50 ms: what a network and a hash take.
func BenchmarkGuessWithHook(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv("GUESSES"))
	if err != nil {
		n = testenv.Brief(100, 2)
	}
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-time.After(45*time.Millisecond + rand.N(10*time.Millisecond))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"result":"unknown"}`)
	}))
	defer hook.Close()
	data := b.TempDir()
	seed(b, data)
	disable(b, data, 1)
	s := startFlakepass(b, buildFlakepass(b), data, "import_hook_url: "+hook.URL, "import_hook_secret: MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	guess(b, s, []guessed{
		{"unknown", func(i int) string { return fmt.Sprintf("nobody.%06d", i) }},
		{"wrong", func(i int) string { return fmt.Sprintf("person.%06d", 2+i%(people-2)) }},
		{"disabled", func(int) string { return "person.000001" }},
	}, n)
}

// bring imports as many users as there are.
func bring(b *testing.B, data string) {
	b.Helper()
	var lines strings.Builder
	for i := range people {
		hash := "$2b$10$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"
		if i%2 == 0 {
			hash = "pbkdf2_sha256$600000$seasalt$P4UiMPVduVWIL/oS1GzH+IofsccjJNM5hUTikBvi5to="
		}
		_, _ = fmt.Fprintf(&lines, `{"username":"brought.%06d","password_hash":%q}`+"\n", i, hash)
	}
	cmd := exec.CommandContext(b.Context(), buildFlakepass(b), "user", "import", "-")
	cmd.Env, cmd.Stdin = []string{"FLAKEPASS_DATA_DIR=" + data}, strings.NewReader(lines.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
}

// A guessed is a kind of names at which passwords are guessed.
type guessed struct {
	name string
	user func(i int) string
}

// guess guesses n times at each kind, in an order drawn at random, and compares each kind
// with the first.
func guess(b *testing.B, s *httpServer, kinds []guessed, n int) {
	b.Helper()
	client := &http.Client{Timeout: time.Minute}
	took := make([][]float64, len(kinds))
	order := make([]int, 0, n*len(kinds))
	for i := range n * len(kinds) {
		order = append(order, i%len(kinds))
	}
	rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for i, kind := range order {
		body := fmt.Sprintf(`{"username":%q,"password":"not the right one, but as long"}`, kinds[kind].user(i))
		r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://"+s.addr+"/v1/login", strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		start := time.Now()
		answer, err := client.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		took[kind] = append(took[kind], float64(time.Since(start)))
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusUnauthorized {
			b.Fatalf("%s: %s", kinds[kind].name, answer.Status)
		}
	}
	for kind := 1; kind < len(kinds); kind++ {
		u, err := stats.MannWhitneyUTest(took[kind], took[0], stats.LocationDiffers)
		if err != nil {
			b.Fatal(err)
		}
		slower := u.U / float64(u.N1*u.N2)
		b.ReportMetric(slower, kinds[kind].name+"-slower")
		b.ReportMetric(u.P, kinds[kind].name+"-p")
		b.Logf("quarters: %v, and %v of unknown names", quartiles(took[kind]), quartiles(took[0]))
		b.Logf("%d of each: a refusal of kind %q takes longer than one of an unknown name with a chance of %.3f; p = %.2f; medians %v and %v",
			n, kinds[kind].name, slower, u.P, median(took[kind]), median(took[0]))
	}
}

func median(of []float64) time.Duration {
	return time.Duration((&stats.Sample{Xs: of}).Sort().Quantile(0.5)).Round(10 * time.Microsecond)
}

// quartiles are times of which a tenth, a quarter, half, three quarters and nine tenths are
// shorter.
func quartiles(of []float64) (all []time.Duration) {
	sample := (&stats.Sample{Xs: of}).Sort()
	for _, q := range []float64{0.1, 0.25, 0.5, 0.75, 0.9} {
		all = append(all, time.Duration(sample.Quantile(q)).Round(time.Millisecond))
	}
	return all
}
