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
	name     string
	sessions int // of a person at once
	edits    []testenv.Edit
}

const root = "../../.."

var breakages = []breakage{
	{"memory that believes whatever has ended", 1, []testenv.Edit{
		{
			File: "internal/store/memstore/sessions.go",
			Old:  "if why, dead := t.tombstones.find(s.UserID, s.Slot, s.ID); dead && s.Alive() {",
			New:  "if why, dead := t.tombstones.find(s.UserID, s.Slot, s.ID); dead && false {",
		},
		{
			File: "internal/store/memstore/sessions.go",
			Old:  "return age < t.life && !horizon.IsZero() && session.Age(now, horizon) < t.Bound",
			New:  "return age < t.life",
		},
	}},
	{"an end of one slot ends the others", 4, []testenv.Edit{{
		File: "internal/store/memstore/tombstones.go",
		Old:  "return place{user, uint64(slot)}",
		New:  "return place{user, 0 * uint64(slot)}",
	}}},
	{"a new password ends slot 0 alone", 4, []testenv.Edit{{
		File: "internal/store/sqlstore/accounts.go",
		Old:  "err != nil || row.Slots == 0 {\n\t\treturn ended, nil, err",
		New:  "err != nil || row.Slots >= 0 {\n\t\treturn ended, nil, err",
	}}},
	{"neither ends nor logins have a stamp, and uses tell no end", 1, []testenv.Edit{
		{
			File: "internal/store/sqlstore/endings.go",
			Old:  `token_floor_at = " + d.now + ", " +`,
			New:  `token_floor_at = token_floor_at, " +`,
		},
		{File: "internal/store/sqlstore/news.go", Old: `CASE WHEN token_floor > 0 THEN " + d.now + " ELSE token_floor_at END"`, New: `token_floor_at"`},
		{File: "internal/store/memstore/changes.go", Old: "case seen.IsZero():", New: "case seen.IsZero() && false:"},
	}},
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
			all := gather(t, d, testenv.EditedFlakepass(t, root, b.edits...), 2, 6, b.sessions, nil)
			var v lincheck.Verdict
			all.run(seed, 0, func() {
				testenv.Eventually(t, e2e.Patience, func() bool {
					<-time.After(time.Second)
					v = lincheck.Check(all.rec.History(), e2e.Bound)
					return !v.Legal
				}, "the check sees what is wrong")
			})
			t.Log(v)
			if last := v.History[len(v.History)-1]; b.sessions == 1 && (last.Kind != lincheck.Verify || last.Outcome != lincheck.Done) {
				t.Errorf("what is wrong is not an accept: %v", last)
			}
		})
	}
}
