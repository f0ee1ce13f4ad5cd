package run

import "testing"

// An operator who tunes the collector by Go's own variables has no other setting to
// reckon with.
func TestRoomYieldsToGoVariables(t *testing.T) {
	for _, set := range []string{"", "GOGC", "GOMEMLIMIT"} {
		room := spacious(func(name string) (string, bool) { return "", name == set })
		if want := set == ""; (len(room) == roomBytes) != want || (room == nil) == want {
			t.Errorf("%q set: %d bytes of room", set, len(room))
		}
	}
}
