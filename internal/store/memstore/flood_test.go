package memstore_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/store/memstore"
)

// One million attempts with fresh names and places, all in one moment, give nobody
// anything back who had used up a limit, and refuse nobody who had not.
func TestFloodErasesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &memstore.Buckets{}
		day := limit.Rule{Count: 50, Per: 24 * time.Hour}
		take := func(key string) bool { return s.Take(t.Context(), ratelimit.Bucket{Key: key, Rule: day}).Allowed }
		for i := range 100 {
			for range 51 {
				take("p:victim" + strconv.Itoa(i))
			}
		}
		refused := 0
		for i := range 1_000_000 {
			if !take("p:" + strconv.Itoa(i)) {
				refused++
			}
		}
		for i := range 100 {
			if take("p:victim" + strconv.Itoa(i)) {
				t.Errorf("victim %d has attempts again", i)
			}
		}
		if refused > 0 {
			t.Errorf("%d of a million who had used nothing were refused", refused)
		}
	})
}

// An attempt that is given back leaves what others have used in the same cells: as
// much as was used of any bucket is at least found to be used.
func TestReturnsEraseNothingOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, rule := &memstore.Buckets{}, limit.Rule{Count: 5, Per: time.Minute}
		bucket := func(key string) ratelimit.Bucket { return ratelimit.Bucket{Key: key, Rule: rule} }
		for range 5 {
			s.Take(t.Context(), bucket("a:victim"))
		}
		for round := range 5 { // each finds some cells of the victim among a hundred thousand
			for i := range 20_000 {
				b := bucket("a:" + strconv.Itoa(round*20_000+i))
				v := s.Take(t.Context(), b)
				s.Return(t.Context(), b, v)
			}
			if s.Take(t.Context(), bucket("a:victim")).Allowed {
				t.Fatalf("after %d attempts that were given back the victim has one", (round+1)*20_000)
			}
		}
	})
}
