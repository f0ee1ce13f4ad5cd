//go:build unix

package sqlstore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// TestEventsAreChosen: filters add up, the newest comes first, and the pages of
// a list leave nothing out and show nothing twice.
func TestEventsAreChosen(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		record := &sqlstore.Audit{DB: w.DB}
		actions := []audit.Action{audit.PolicyChanged, audit.UserDisabled}
		id := func(i int) idworker.ID {
			return idworker.Default().Smallest(start.Add(time.Duration(i)*time.Minute)) + 5
		}
		for i := range 24 {
			e := audit.Event{ID: id(i), Need: audit.NeedsNothing, Action: actions[i%2], By: audit.Actor{ID: idworker.ID(7 + i%3), Name: fmt.Sprint("admin", i%3), Via: audit.ViaAPI},
				Target: audit.Target{Kind: "user", ID: idworker.ID(100 + i%4), Name: fmt.Sprint("User", i%4)}}
			if i%3 == 2 {
				e.By.ID, e.By.Name, e.By.Via = 0, "root@box", audit.ViaCLI
			}
			if err := w.users.Record(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		for name, c := range map[string]struct {
			f    audit.Filter
			want func(i int) bool
		}{
			"all":          {audit.Filter{}, func(int) bool { return true }},
			"action":       {audit.Filter{Action: audit.UserDisabled}, func(i int) bool { return i%2 == 1 }},
			"actor":        {audit.Filter{Actor: 8}, func(i int) bool { return i%3 == 1 }},
			"actor's name": {audit.Filter{ActorName: "root@box"}, func(i int) bool { return i%3 == 2 }},
			"target":       {audit.Filter{Target: 103}, func(i int) bool { return i%4 == 3 }},
			"target's":     {audit.Filter{TargetName: "User2"}, func(i int) bool { return i%4 == 2 }},
			"no such name": {audit.Filter{TargetName: "user2"}, func(int) bool { return false }},
			"since":        {audit.Filter{Since: start.Add(9 * time.Minute)}, func(i int) bool { return i >= 9 }},
			"until":        {audit.Filter{Until: start.Add(9 * time.Minute)}, func(i int) bool { return i < 9 }},
			"before time":  {audit.Filter{Until: time.Time{}.Add(time.Hour)}, func(int) bool { return false }},
			"together": {audit.Filter{Action: audit.PolicyChanged, ActorName: "admin0", Target: 100, Since: start.Add(time.Minute), Until: start.Add(20 * time.Minute)},
				func(i int) bool { return i == 12 }},
		} {
			for _, limit := range []int{1, 5, 100} {
				var got, want []idworker.ID
				for i := 23; i >= 0; i-- {
					if c.want(i) {
						want = append(want, id(i))
					}
				}
				f := c.f
				for f.Limit = limit; ; {
					page, err := record.List(t.Context(), f)
					if err != nil {
						t.Fatal(err)
					}
					for _, e := range page {
						got, f.Before = append(got, e.ID), e.ID
					}
					if len(page) < limit {
						break
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s, by %d: got %v, want %v", name, limit, got, want)
				}
			}
		}
	})
}

// TestEventFitsWhateverItSays: names and reasons are cut to what the columns
// take, between characters.
func TestEventFitsWhateverItSays(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		record := &sqlstore.Audit{DB: w.DB}
		long := strings.Repeat("é", 2000)
		e := audit.Event{ID: 9, Need: audit.NeedsNothing, Action: audit.PolicyChanged, By: audit.Actor{Name: long, RequestID: long, Address: long}, Target: audit.Target{Name: long}, Reason: long}
		if err := w.users.Record(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		got, err := record.List(t.Context(), audit.Filter{Limit: 1})
		if err != nil || len(got) != 1 || got[0].Reason != long[:2*audit.MaxReason] || got[0].By.Name != long[:2*255] {
			t.Errorf("%v, %v", got, err)
		}
	})
}
