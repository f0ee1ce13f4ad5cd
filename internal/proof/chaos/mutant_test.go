//go:build unix

package chaos

import (
	"strings"
	"testing"
	"time"
)

// A mutant is the program with one of its protections removed, and what the
// campaign has to say about it.
type mutant struct {
	name  string
	edits []edit
	fault string
	want  string // in one of the violations
}

var mutants = []mutant{
	{
		name: "memory_is_believed_without_a_horizon",
		edits: []edit{{
			file: "internal/store/memtier/memtier.go",
			old:  "age < t.life && !horizon.IsZero() && session.Age(now, horizon) < t.bound",
			new:  "age < t.life",
		}},
		fault: "instance_cut_off_from_both",
		want:  "after its end was acknowledged; the bound is",
	},
	{
		name: "what_is_not_known_is_refused",
		edits: []edit{{
			file: "internal/domain/session/service.go",
			old:  "case err != nil:\n\t\treturn got, fmt.Errorf(\"session: verify: %w\", err)\n",
			new:  "case err != nil:\n\t\treturn got, flakepass.ErrInvalid\n",
		}},
		fault: "mysql_refuses",
		want:  "is alive, and refused",
	},
	{
		name: "a_logout_that_failed_is_acknowledged",
		edits: []edit{{
			file: "internal/domain/session/service.go",
			old:  "if errors.Is(err, ErrNotFound) {\n\t\treturn false, nil\n\t}\n\tif err == nil {",
			new:  "if err != nil {\n\t\treturn false, nil\n\t}\n\tif err == nil {",
		}},
		fault: "mysql_refuses",
		want:  "after its end was acknowledged; the bound is",
	},
	{
		name: "a_login_is_acknowledged_before_it_is_committed",
		edits: []edit{{
			file: "internal/store/sqlstore/sessions.go",
			old:  "\tif err != nil {\n\t\treturn session.Begun{}, fmt.Errorf(\"sqlstore: begin: %w\", err)\n\t}\n",
			new:  "\tif err != nil && begun.Session.ID == 0 {\n\t\treturn session.Begun{}, fmt.Errorf(\"sqlstore: begin: %w\", err)\n\t}\n",
		}},
		fault: "mysql_commits_lost",
		want:  "is alive, and refused",
	},
	{
		name: "nobody_is_told_when_to_come_back",
		edits: []edit{{
			file: "api/problem/problem.go",
			old:  "h.Set(\"Retry-After\",",
			new:  "h.Set(\"Retry-Never\",",
		}},
		fault: "mysql_refuses",
		want:  "503 with Retry-After",
	},
}

// TestCampaignNoticesWhatItIsFor: a server without one of its protections does
// not pass. `make test` tries the first, `make chaos` all.
func TestCampaignNoticesWhatItIsFor(t *testing.T) {
	seed := seed(t)
	t.Logf("FLAKEPASS_CHAOS_SEED=%d", seed)
	try := mutants
	if !whole() {
		try = try[:1]
	}
	for _, m := range try {
		t.Run(m.name, func(t *testing.T) {
			p := plan{bound: time.Second, length: 3500 * time.Millisecond, people: 8}
			w := newWorld(t, recipe{instances: 2, bound: p.bound, program: buildWith(t, m.edits...)})
			crowd, leave := gather(t, w, seed, p.people, p.pardon)
			defer leave()
			crowd.endure(t, named(t, m.fault), p, newRand(seed, "mutant"))
			var said []string
			for _, v := range crowd.broken() {
				if strings.Contains(v, m.want) {
					t.Logf("noticed: %s", v)
					return
				}
				said = append(said, v)
			}
			t.Errorf("not noticed: want %q among %d violations:\n%s", m.want, len(said), strings.Join(said, "\n"))
		})
	}
}

func named(t testing.TB, name string) fault {
	t.Helper()
	for _, f := range faults {
		if f.name == name {
			return f
		}
	}
	t.Fatalf("no fault is called %s", name)
	return fault{}
}
