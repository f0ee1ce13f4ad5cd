//go:build unix

package sqlstore_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/flakepass/flakepass/internal/domain/fleet"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

func reportOf(id string) fleet.Report {
	return fleet.Report{
		ID: id, Name: "web-1:7", Version: "1.2.3", Worker: 12, Up: time.Hour, Horizon: 900 * time.Millisecond, Bound: 5 * time.Second,
		Answers: fleet.Answers{Memory: 90, Redis: 9, Database: 1}, Remembered: 77, DatabaseTook: 1500 * time.Microsecond, DatabaseFailed: 2,
		Redis: "does not answer", RedisTook: 500 * time.Millisecond, Clock: -42 * time.Millisecond, Troubles: []fleet.Trouble{fleet.Stopping, "no number"},
	}
}

// What an instance says is what is listed; it says it over what it said before,
// and the time of its start stays.
func TestInstancesAreListedAsTheyReport(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		i := &sqlstore.Instances{DB: w.DB}
		first := reportOf("a")
		first.Horizon, first.Troubles, first.Redis, first.Name = -1, nil, fleet.RedisNone, strings.Repeat("é", 300)
		for _, r := range []fleet.Report{first, reportOf("b")} {
			if err := i.Tell(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		before, err := i.List(t.Context(), 10)
		if err != nil || len(before) != 2 {
			t.Fatalf("%v, %v", before, err)
		}
		for _, s := range before {
			want := reportOf("b")
			if s.ID == "a" {
				want = first
				want.Horizon, want.Name = -time.Millisecond, strings.Repeat("é", 255)
			}
			if diff := cmp.Diff(want, s.Report, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if s.Silent < 0 || s.Silent > time.Minute || s.Late() || s.Heard.Sub(s.Started) != time.Hour {
				t.Errorf("silent for %v, heard %v, started %v", s.Silent, s.Heard, s.Started)
			}
		}
		again := reportOf("a")
		again.Up = 2 * time.Hour // by a clock that was set
		if err := i.Tell(t.Context(), again); err != nil {
			t.Fatal(err)
		}
		after, err := i.List(t.Context(), 1)
		if err != nil || len(after) != 1 || after[0].ID != "a" || after[0].Name != "web-1:7" || after[0].Horizon != 900*time.Millisecond {
			t.Fatalf("the one that came last: %+v, %v", after, err)
		}
		for _, s := range before {
			if s.ID == "a" && !s.Started.Equal(after[0].Started) {
				t.Errorf("the start moved from %v to %v", s.Started, after[0].Started)
			}
		}
		if err := i.Leave(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if err := i.Leave(t.Context(), "a"); err != nil {
			t.Errorf("to leave twice: %v", err)
		}
		if left, err := i.List(t.Context(), 10); err != nil || len(left) != 1 || left[0].ID != "b" {
			t.Errorf("%+v, %v", left, err)
		}
	})
}

// Whoever is not heard of is shown so by the database's clock, and then
// forgotten; so is a report from a future that was taken back.
func TestInstancesAreForgotten(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		i := &sqlstore.Instances{DB: w.DB}
		age := map[string]time.Duration{"new": 0, "silent": 40 * time.Second, "gone": 11 * time.Minute, "ahead": -time.Minute, "far ahead": -11 * time.Minute}
		for id, d := range age {
			r := reportOf(id)
			if id == "silent" {
				r.Bound = time.Hour // of one that is late
			}
			if err := i.Tell(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if _, err := w.SQL().ExecContext(t.Context(), "UPDATE instances SET seen_at = seen_at - ? WHERE id = ?", d.Milliseconds(), id); err != nil {
				t.Fatal(err)
			}
		}
		there, longest, err := i.Clean(t.Context(), 10*time.Minute)
		if err != nil || time.Since(there).Abs() > time.Minute || longest != 5*time.Second {
			t.Fatalf("the clock is %v, the longest bound %v, %v", there, longest, err)
		}
		list, err := i.List(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		late := map[string]bool{}
		for _, s := range list {
			late[s.ID] = s.Late()
		}
		if diff := cmp.Diff(map[string]bool{"new": false, "silent": true, "ahead": true}, late); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

// Many instances report and clean up at once.
func TestInstancesReportAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		i := &sqlstore.Instances{DB: w.DB}
		atOnce(8, func(n int) {
			for range 5 {
				if err := i.Tell(t.Context(), reportOf(strconv.Itoa(n))); err != nil {
					t.Error(err)
				}
				if _, _, err := i.Clean(t.Context(), time.Minute); err != nil {
					t.Error(err)
				}
			}
		})
		if list, err := i.List(t.Context(), fleet.Most); err != nil || len(list) != 8 {
			t.Errorf("%d are listed, %v", len(list), err)
		}
	})
}
