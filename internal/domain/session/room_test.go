package session_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// TestRoom: which sessions end for a new one, and where that begins.
func TestRoom(t *testing.T) {
	at := time.UnixMilli(1_800_000_000_000)
	held := func(slot session.Slot, seen int, class, name string) session.Session {
		return session.Session{ID: idworker.ID(100 + int(slot)), Slot: slot, Seen: at.Add(time.Duration(seen) * time.Minute), Device: session.DeviceOf(class, name)}
	}
	phone, tablet, web := held(0, 5, "phone", "Ada’s"), held(1, 3, "tablet", "Ada’s"), held(2, 9, "web", "")
	all := []session.Session{phone, tablet, web}
	keyed := []session.Session{phone}
	keyed[0].Device = phone.Device.WithKey("1")
	revoked := phone
	revoked.Ended = session.Revoked
	for what, c := range map[string]struct {
		held []session.Session
		most int
		on   *session.Device
		over session.Slot // which the policy has ended; 99 is none
		ends []session.Slot
		slot session.Slot
	}{
		"none yet":                          {nil, 1, nil, 99, nil, 0},
		"one at a time":                     {all[:1], 1, nil, 99, []session.Slot{0}, 0},
		"one at a time, in a further slot":  {all[2:], 1, nil, 99, []session.Slot{2}, 0},
		"no limit is one at a time":         {all[:1], 0, nil, 99, []session.Slot{0}, 0},
		"room":                              {all, 4, nil, 99, nil, 3},
		"room in the lowest free slot":      {all[1:], 4, nil, 99, nil, 0},
		"the least recently used":           {all, 3, nil, 99, []session.Slot{1}, 1},
		"over by the policy before that":    {all, 3, nil, 2, []session.Slot{2}, 2},
		"over by the policy, and room":      {all, 4, nil, 2, nil, 3},
		"a lower limit":                     {all, 1, nil, 99, []session.Slot{1, 0, 2}, 0},
		"the same device":                   {all, 9, session.DeviceOf("tablet", "Ada’s"), 99, []session.Slot{1}, 1},
		"the same class":                    {all, 9, session.DeviceOf("tablet", "Bob’s"), 99, nil, 3},
		"the same name":                     {all, 9, session.DeviceOf("tv", "Ada’s"), 99, nil, 3},
		"nameless devices differ":           {all, 9, session.DeviceOf("web", ""), 99, nil, 3},
		"the same device makes the room":    {all, 3, session.DeviceOf("phone", "Ada’s"), 99, []session.Slot{0}, 0},
		"the key of another device":         {keyed, 9, session.DeviceOf("phone", "Ada’s").WithKey("2"), 99, nil, 1},
		"the same key":                      {keyed, 9, session.DeviceOf("tv", "").WithKey("1"), 99, []session.Slot{0}, 0},
		"a key where there was none":        {all, 9, session.DeviceOf("phone", "Ada’s").WithKey("1"), 99, []session.Slot{0}, 0},
		"one that a floor has ended":        {[]session.Session{revoked, tablet}, 5, nil, 99, []session.Slot{0}, 0},
		"more than there are slots for ten": {all, 1000, nil, 99, nil, 3},
	} {
		ends, slot, _ := session.Room(c.held, &policy.Policy{MaxSessions: c.most}, c.on, 0, func(s *session.Session) bool { return s.Slot == c.over })
		var got []session.Slot
		for _, s := range ends {
			got = append(got, s.Slot)
		}
		if !slices.Equal(got, c.ends) || slot != c.slot {
			t.Errorf("%s: slots %v end, and it begins in %d; want %v and %d", what, got, slot, c.ends, c.slot)
		}
	}
}

// TestRoomKeepsTheLimit whatever there is: afterwards there are at most as many as allowed,
// in slots of their own that exist.
func TestRoomKeepsTheLimit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		most := r.IntN(40)
		var held []session.Session
		for _, slot := range r.Perm(session.MaxSlots)[:r.IntN(session.MaxSlots+1)] {
			held = append(held, session.Session{
				ID: idworker.ID(r.IntN(1000)), Slot: session.Slot(slot), Seen: time.UnixMilli(int64(r.IntN(9))),
				Device: session.DeviceOf([]string{"", "web"}[r.IntN(2)], []string{"", "a", "b"}[r.IntN(3)]),
			})
		}
		before := slices.Clone(held)
		ends, slot, _ := session.Room(held, &policy.Policy{MaxSessions: most}, session.DeviceOf("web", "a"), 0, func(s *session.Session) bool { return s.ID%7 == 0 })
		if !slices.Equal(held, before) {
			t.Fatal("what was given is not as it was")
		}
		left := len(held) - len(ends) + 1
		if left > max(min(most, session.MaxSlots), 1) || slot >= session.MaxSlots {
			t.Fatalf("%d of at most %d, in slot %d", left, most, slot)
		}
		for _, s := range held {
			if s.Slot == slot && !slices.ContainsFunc(ends, func(e session.Session) bool { return e.Slot == slot }) {
				t.Fatalf("slot %d is taken", slot)
			}
		}
	}
}
