package model

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// limit is more than any world has that is searched: a search that reaches it
// has proven nothing.
const limit = 40_000_000

// The rules keep every promise in every world, whatever happens in which order.
func TestRulesKeepThePromises(t *testing.T) {
	worlds := Worlds()
	if os.Getenv("FLAKEPASS_MODEL") == "whole" {
		worlds = append(worlds, Whole()...)
	}
	for _, w := range worlds {
		t.Run(w.Name, func(t *testing.T) {
			r := Search(w, All(), limit, true)
			t.Logf("%d states", r.States)
			if r.Broken != 0 || r.Cut {
				t.Errorf("broken: %v; cut off: %v\n%s", r.Broken, r.Cut, traces(r))
			}
		})
	}
}

// A need is a rule that was taken out, with where that is seen, and as what.
type need struct {
	rule, world string
	broken      Promise
}

// needs are the rows of the table in docs/model.md.
var needs = []need{
	{"StampAlways", "ends", End},
	{"PromptOrAgain", "ends", End},
	{"AsOf", "ends", End},
	{"RowLeads", "changes, idle", PolicyEnd},
	{"RowTells", "uses", UseCounts},
	{"WriteNear", "uses", UseCounts},
	{"LockedNo", "uses", NoReturn},
	{"ProvenAge", "logout by age", NoFalseEnd},
	{"OneRead", "logout by age", NoFalseEnd},
	{"Fence", "sweep", NoReturn},
	{"SweepFence", "sweep", OneStory},
	{"Prove", "servers", End},
	{"RemoteAge", "remote", End},
	{"RemoteDrops", "remote", OneStory},
	{"Doubt", "limit", PolicyEnd},
	{"Reduce", "limit", NoReturn},
}

// searched are the results of needs, by rule: two tests look at them.
var searched = map[string]Result{}

func (n need) search(t *testing.T) Result {
	t.Helper()
	r, ok := searched[n.rule]
	if !ok {
		r = Search(named(t, n.world), without(t, n.rule), limit, false)
		searched[n.rule] = r
	}
	return r
}

// superfluous is a rule without which the others hold: below the watermark that
// a poll has proven, "over already" is true. The database is asked all the same,
// so that the answer to a logout does not rest on the other rules.
const superfluous = "AskLogout"

func without(t *testing.T, names ...string) Rules {
	t.Helper()
	r := All()
	for _, name := range names {
		f := reflect.ValueOf(&r).Elem().FieldByName(name)
		if !f.IsValid() {
			t.Fatalf("no rule %s", name)
		}
		f.SetBool(false)
	}
	return r
}

func named(t *testing.T, name string) World {
	t.Helper()
	for _, w := range Worlds() {
		if w.Name == name {
			return w
		}
	}
	t.Fatalf("no world %q", name)
	return World{}
}

// Each rule that is taken out breaks the promise that it is for.
func TestEachRuleOfTheModelIsNeeded(t *testing.T) {
	seen := map[string]bool{superfluous: true}
	for _, n := range needs {
		seen[n.rule] = true
		t.Run(n.rule, func(t *testing.T) {
			r := n.search(t)
			if r.Broken&n.broken == 0 {
				t.Errorf("without %s, %q breaks %q; want %v among it", n.rule, n.world, r.Broken, n.broken)
			}
			t.Logf("%d states; broken: %v\n%s", r.States, r.Broken, traces(r))
		})
	}
	for f := range reflect.TypeFor[Rules]().Fields() {
		if !seen[f.Name] {
			t.Errorf("no row says what %s is for", f.Name)
		}
	}
}

// A logout that is answered from what is known is safe only as long as that is
// proven.
func TestLogoutAnsweredFromMemoryRestsOnTheProof(t *testing.T) {
	w := named(t, "logout by age")
	if r := Search(w, without(t, superfluous), limit, false); r.Broken != 0 {
		t.Errorf("without %s alone: %v", superfluous, r.Broken)
	}
	if r := Search(w, without(t, superfluous, "ProvenAge"), limit, false); r.Broken&Truth == 0 {
		t.Errorf("without the proof too: %v, want %v", r.Broken, Truth)
	}
}

// A model in which nothing can happen would keep every promise.
func TestEveryEventHappens(t *testing.T) {
	happened := map[string]bool{}
	for _, w := range Worlds() {
		m := &search{world: w, rules: All()}
		start := m.start()
		at, queue := map[state]bool{start: true}, []state{start}
		for i := 0; i < len(queue) && i < 50_000; i++ {
			m.next(&queue[i], func(what string, _ int, n state, _ Promise) {
				happened[what] = true
				if m.normal(&n); !at[n] {
					at[n] = true
					queue = append(queue, n)
				}
			})
		}
	}
	for _, what := range []string{
		"its read arrives: alive", "reads the row: over by the policy, 401", "says without a read that it is over by the policy, 401",
		"is used near the idle end: written, 200", "is used near the idle end: over by the policy, 401", "use is committed late",
		"logout is committed late, and acknowledged", "newer login, acknowledged", "the policy change is committed late", "the sweep clears the row",
		"reads the row: too many, and ends it, 401", "reads the row: too many, and the commit hangs: 503",
		"reaches from now on a server that is no longer the primary", "crashes and starts anew", "the Remote asks instance 0: alive",
	} {
		if !happened[what] {
			t.Errorf("never: %s", what)
		}
	}
}

func traces(r Result) string {
	var b strings.Builder
	for i := range promiseNames {
		if p := Promise(1 << i); r.Broken&p != 0 {
			fmt.Fprintf(&b, "%v:\n  %s\n", p, strings.Join(r.Traces[p], "\n  "))
		}
	}
	return b.String()
}

var update = flag.Bool("update", false, "write the table of docs/model.md")

// The table on the page is what the searches find.
func TestPageHasTheTable(t *testing.T) {
	var table strings.Builder
	table.WriteString("| without | in the world | broken |\n|---|---|---|\n")
	for _, n := range needs {
		r := n.search(t)
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", n.rule, n.world, r.Broken)
	}
	page := filepath.Join("..", "..", "..", "docs", "model.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), "| without |")
	if !ok {
		t.Fatal("docs/model.md has no table")
	}
	_, tail, _ := strings.Cut(rest, "\n\n")
	want := head + table.String() + "\n" + tail
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Errorf("docs/model.md has another table; want\n%s", table.String())
	}
}
