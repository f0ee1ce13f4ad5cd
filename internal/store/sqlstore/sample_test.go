//go:build unix

package sqlstore_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/policy"
)

// A sample of a small table is the table: what it says is the truth.
func TestSampleIsAllOfAFew(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		r := rand.New(rand.NewPCG(7, 8))
		logins := w.scatter(t, r, 600)
		for range 8 {
			p := anyPolicy(r)
			sample, err := w.settings().Sample(t.Context(), p, start)
			if err != nil || sample.Weight != 1 {
				t.Fatalf("weight %v, %v", sample.Weight, err)
			}
			want := effectOf(logins, p, p).Live.Count
			if int64(len(sample.Logins)) != want {
				t.Errorf("%d logins, %d live", len(sample.Logins), want)
			}
			if living, err := w.settings().CountLogins(t.Context(), p, start); err != nil || living != (policy.Estimate{Count: want}) {
				t.Errorf("Living = %+v, %v, want %d", living, err, want)
			}
		}
	})
}

// A sample of a large one stands for it: at each moment about as many live as
// live in truth.
func TestSampleStandsForMany(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		r := rand.New(rand.NewPCG(9, 10))
		logins := w.scatter(t, r, 5_000)
		w.SetExactly(1_000)
		p := policy.Default()
		after := []time.Duration{0, 24 * time.Hour, 72 * time.Hour, 240 * time.Hour}
		whole := policy.Sample{Weight: 1}
		for _, l := range logins {
			whole.Logins = append(whole.Logins, policy.Facts{Issued: l[0], Seen: l[1]})
		}
		want := whole.Living(&p, start, after)
		mean := make([]float64, len(after))
		const draws = 10
		for range draws {
			sample, err := w.settings().Sample(t.Context(), p, start)
			if err != nil || sample.Weight <= 1 || len(sample.Logins) > 1_500 {
				t.Fatalf("%d logins of weight %v, %v", len(sample.Logins), sample.Weight, err)
			}
			for i, n := range sample.Living(&p, start, after) {
				mean[i] += n / draws
			}
		}
		for i := range after {
			if math.Abs(mean[i]-want[i]) > 0.1*want[0] {
				t.Errorf("after %v: about %.0f, in truth %.0f", after[i], mean[i], want[i])
			}
		}
	})
}
