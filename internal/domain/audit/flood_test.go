package audit_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// stale is a refused token, from the nth of many addresses.
func stale(n int) audit.Incident {
	return audit.Incident{
		Action: audit.TokenOutlived, Reason: "token_expired", By: audit.Actor{Via: audit.ViaAPI, Address: fmt.Sprintf("198.51.%d.%d", n/250, n%250)},
	}
}

// A listed is what an event says of several incidents.
type listed struct {
	Count           int64
	Others          *int64 // nil unless it is a sum
	Targets, Actors []struct {
		Kind, ID, Name string
		Count          int64
	}
}

func read1(t *testing.T, e audit.Event) (v listed) {
	t.Helper()
	if err := json.Unmarshal(e.New, &v); err != nil {
		t.Fatalf("%s: %v", e.New, err)
	}
	return v
}

// guesses is how many wrong guesses at a user from an address are on record by
// themselves.
func (s *table) guesses(t *testing.T, user idworker.ID, address string) (n int64) {
	t.Helper()
	for _, e := range s.events {
		if e.Action == audit.LoginFailed && e.Target.ID == user && e.By.Address == address {
			n += counted(t, e)
		}
	}
	return n
}

// TestFloodOfOneKindLeavesRoomForTheOthers: 520 refused tokens from 520
// addresses, and then three wrong guesses at a password: the guesses are on
// record with the address they came from.
func TestFloodOfOneKindLeavesRoomForTheOthers(t *testing.T) {
	for _, flood := range []int{520, 50_000} {
		s := &table{}
		collector := s.collector()
		for i := range flood {
			collector.Note(stale(i))
		}
		for range 3 {
			collector.Note(failed(7, "192.0.2.1", "guess"))
		}
		if err := collector.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := s.guesses(t, 7, "192.0.2.1"); n != 3 {
			t.Errorf("after a flood of %d, %d guesses are among the %d events on record, want 3", flood, n, len(s.events))
		}
	}
}

// TestFloodOfTheSameKindDoesNotDisplaceAnAdmin: wrong guesses at many users leave
// those at an admin on record, with their address.
func TestFloodOfTheSameKindDoesNotDisplaceAnAdmin(t *testing.T) {
	s := &table{}
	collector := s.collector()
	for i := range 5000 {
		collector.Note(failed(idworker.ID(i+100), "203.0.113.1", ""))
	}
	for range 3 {
		guess := failed(7, "192.0.2.1", "guess")
		guess.Admin = true
		collector.Note(guess)
	}
	if err := collector.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := s.guesses(t, 7, "192.0.2.1"); n != 3 {
		t.Errorf("%d guesses at the admin are on record, want 3", n)
	}
}

// TestWhatIsTooMuchIsSummedUp: every incident is in the count of one event, and a
// sum names as many targets as fit, with their exact counts.
func TestWhatIsTooMuchIsSummedUp(t *testing.T) {
	s := &table{}
	collector := s.collector()
	var summed int64
	collector.Summed = func(n int64) { summed += n }
	const users = 3000
	for range 2 {
		for i := range users {
			f := failed(idworker.ID(i+1), "192.0.2.1", fmt.Sprint("request ", i))
			f.Target.Name = strings.Repeat("<", 64) // which JSON makes longer
			collector.Note(f)
		}
	}
	for range 5 {
		collector.Note(failed(700, "192.0.2.2", ""))
	}
	collector.Note(failed(0, "192.0.2.3", "")) // about a name that no account has
	if err := collector.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := audit.MostKinds + audit.MostShared + 1; len(s.events) != want {
		t.Fatalf("%d events, want %d", len(s.events), want)
	}
	total, sums := int64(0), 0
	for _, e := range s.events {
		v := read1(t, e)
		total += v.Count
		if v.Others == nil {
			continue
		}
		sums++
		named := *v.Others
		for _, target := range v.Targets {
			named += target.Count
			if target.Name != "" {
				t.Errorf("the sum has the name %s", target.Name)
			}
			if want := map[bool]int64{true: 7, false: 2}[target.ID == "700"]; target.Kind != "user" || target.Count != want {
				t.Errorf("the sum has %+v, want the count %d", target, want)
			}
		}
		if e.Target != (audit.Target{}) || e.By.Address != "" || e.By.Via != audit.ViaAPI || e.Reason != "credentials_invalid" || e.Action != audit.LoginFailed ||
			e.By.RequestID != "request 550" || named != v.Count || v.Count != summed || len(v.Targets) < 3 || len(e.New) > audit.MaxValue {
			t.Errorf("of %d summed up: %+v %s", summed, e, e.New)
		}
	}
	if sums != 1 || total != 2*users+6 {
		t.Errorf("%d sums, and %d incidents on record, want 1 and %d", sums, total, 2*users+6)
	}
}

// TestSumNamesWhoActed where an incident has no target.
func TestSumNamesWhoActed(t *testing.T) {
	s := &table{}
	collector := s.collector()
	for i := range 600 {
		collector.Note(audit.Incident{Action: audit.AccessForbidden, Reason: "GET /v1/admin/users", By: audit.Actor{ID: idworker.ID(i + 1), Name: "u", Via: audit.ViaAPI}})
	}
	collector.Close(t.Context())
	for _, e := range s.events {
		if v := read1(t, e); v.Others != nil && (len(v.Actors) < 10 || len(v.Targets) != 0) {
			t.Errorf("%s", e.New)
		}
	}
}

// TestCountsAreExactWhateverHappens: random floods, and a database that is away
// at times. Nothing is lost, nothing is counted twice, and an instance writes a
// bounded number of events.
func TestCountsAreExactWhateverHappens(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := &table{}
		collector := s.collector()
		want, got := map[audit.Action]int64{}, map[audit.Action]int64{}
		actions := []audit.Action{audit.LoginFailed, audit.TokenForged, audit.TokenReused, audit.AccessForbidden}
		for range 5 {
			for range r.IntN(3000) {
				n := failed(idworker.ID(r.IntN(400)), fmt.Sprint(r.IntN(20)), "")
				n.Action, n.Admin, n.Times = actions[r.IntN(len(actions))], r.IntN(4) == 0, int64(r.IntN(3))
				want[n.Action] += max(n.Times, 1)
				collector.Note(n)
			}
			s.fails = nil
			if r.IntN(2) == 0 {
				s.fails = errors.New("away")
			}
			before := len(s.events)
			if err := collector.Flush(t.Context()); !errors.Is(err, s.fails) {
				t.Fatal(err)
			}
			if most := audit.MostShared + 2*len(actions)*(audit.MostKinds+1); len(s.events)-before > most {
				t.Errorf("seed %d: %d events at once, want at most %d", seed, len(s.events)-before, most)
			}
		}
		s.fails = nil
		collector.Close(t.Context())
		for _, e := range s.events {
			got[e.Action] += counted(t, e)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("seed %d: on record %v, want %v", seed, got, want)
		}
	}
}
