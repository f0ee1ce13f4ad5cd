package bench

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
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
	client := &http.Client{Timeout: time.Minute}
	kinds := []struct {
		name string
		user func(i int) string
	}{
		{"unknown", func(i int) string { return fmt.Sprintf("nobody.%06d", i) }},
		{"wrong", func(i int) string { return fmt.Sprintf("person.%06d", 2+i%(people-2)) }},
		{"disabled", func(int) string { return "person.000001" }},
	}
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
		b.Logf("%d of each: a refusal of kind %q takes longer than one of an unknown name with a chance of %.3f; p = %.2f; medians %v and %v",
			n, kinds[kind].name, slower, u.P, median(took[kind]), median(took[0]))
	}
}

func median(of []float64) time.Duration {
	return time.Duration((&stats.Sample{Xs: of}).Sort().Quantile(0.5)).Round(10 * time.Microsecond)
}
