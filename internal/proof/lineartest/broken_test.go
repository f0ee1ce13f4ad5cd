package lineartest

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/lincheck"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// A breakage takes one protection out of the program.
type breakage struct {
	name  string
	edits []testenv.Edit
}

const root = "../../.."

var breakages = []breakage{
	{"memory that believes whatever has ended", []testenv.Edit{
		{
			File: "internal/store/memstore/sessions.go",
			Old:  "if why, dead := t.tombstones.find(s.UserID, s.ID); dead {",
			New:  "if why, dead := t.tombstones.find(s.UserID, s.ID); dead && false {",
		},
		{
			File: "internal/store/memstore/sessions.go",
			Old:  "return s, age < t.life && !horizon.IsZero() && session.Age(now, horizon) < t.bound",
			New:  "return s, age < t.life",
		},
	}},
	{"ends without a stamp", []testenv.Edit{{
		File: "internal/store/sqlstore/endings.go",
		Old:  `token_floor_at = " + d.now + ", " +`,
		New:  `token_floor_at = token_floor_at, " +`,
	}}},
}

// TestEveryBreakageAppliesToTheCode also where no server is there to try them with.
func TestEveryBreakageAppliesToTheCode(t *testing.T) {
	t.Parallel()
	for _, b := range breakages {
		testenv.Edited(t, root, b.edits...)
	}
}

// TestBrokenServerIsFound: if a protection is missing, the same check finds an
// illegal history. Otherwise it would say nothing that it finds none.
func TestBrokenServerIsFound(t *testing.T) {
	t.Parallel()
	for i, b := range breakages {
		if i >= 1 && os.Getenv(linTime) == "" {
			break
		}
		t.Run(strings.ReplaceAll(b.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			seed := seedOf(t)
			t.Logf("%s=%d", linSeed, seed)
			d := e2e.OnMySQLAlone(t)
			all := gather(t, d, testenv.EditedFlakepass(t, root, b.edits...), 2, 6, nil)
			var v lincheck.Verdict
			all.run(seed, 0, func() {
				testenv.Eventually(t, e2e.Patience, func() bool {
					<-time.After(time.Second)
					v = lincheck.Check(all.rec.History(), e2e.Bound)
					return !v.Legal
				}, "the check sees what is wrong")
			})
			t.Log(v)
			if last := v.History[len(v.History)-1]; last.Kind != lincheck.Verify || last.Outcome != lincheck.Done {
				t.Errorf("what is wrong is not an accept: %v", last)
			}
		})
	}
}
