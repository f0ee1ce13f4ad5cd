package wire_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/wire"
)

// FuzzMeIsWhatJSONWrites: what is appended are the bytes of json.Marshal, whatever the
// name is.
func FuzzMeIsWhatJSONWrites(f *testing.F) {
	for _, name := range []string{"", "ada", "陳", "a\"b\\c", "<b>&amp;", "\x00\x1f\x7f", "\xff\u2028", "é"} {
		f.Add(name, "user", "phone", name, int64(1573609266944671746), int64(1_700_000_000_123))
	}
	f.Fuzz(func(t *testing.T, name, role, class, device string, id, at int64) {
		when := func(more int64) wire.Time { return wire.At(time.UnixMilli((at&(1<<41-1) + more))) }
		m := wire.Me{Username: name, Role: role, Session: wire.Session{
			ID: wire.ID(id), Act: wire.ActOf(wire.ID(at & 3)), Device: wire.Device{Class: class, Name: device}, IssuedAt: when(0), LastSeenAt: when(1), ExpiresAt: when(20), IdleExpiresAt: when(999),
		}}
		want, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(m.AppendJSON(nil)); got != string(want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}
