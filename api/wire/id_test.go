package wire_test

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/wire"
)

func FuzzParseID(f *testing.F) {
	for _, s := range []string{"", "0", "1", "01", "+1", "-1", " 1", "1 ", "1_0", "9223372036854775807", "9223372036854775808",
		"9999999999999999999", "18446744073709551617", "10000000000000000000", "१", "1e3", "0x1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := wire.ParseID(s)
		n, std := strconv.ParseInt(s, 10, 64)
		strict := std == nil && n > 0 && strconv.FormatInt(n, 10) == s
		if strict != (err == nil) || strict && int64(id) != n || err != nil && !errors.Is(err, wire.ErrBadID) {
			t.Fatalf("ParseID(%q) = %d, %v", s, id, err)
		}
		if err == nil && id.String() != s {
			t.Errorf("%q reads as %d, which is written %q", s, id, id)
		}
		var into wire.ID
		if terr := into.UnmarshalText([]byte(s)); (terr == nil) != (err == nil) || into != id {
			t.Errorf("UnmarshalText(%q) gives %d, %v; ParseID %d, %v", s, into, terr, id, err)
		}
	})
}

func TestIDIsAStringInJSON(t *testing.T) {
	b, err := json.Marshal(map[string]wire.ID{"id": math.MaxInt64})
	if err != nil || string(b) != `{"id":"9223372036854775807"}` {
		t.Fatalf("got %s, %v", b, err)
	}
	var back map[string]wire.ID
	if err := json.Unmarshal(b, &back); err != nil || back["id"] != math.MaxInt64 {
		t.Errorf("back: %v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"id":123}`), &back); err == nil {
		t.Error("a JSON number was accepted as an ID")
	}
}

// The instants were computed with another language.
func TestTimeOfAnIDIsFixed(t *testing.T) {
	for id, want := range map[wire.ID]string{
		1:                   "2014-12-31T16:00:00Z",
		1<<22 + 5:           "2014-12-31T16:00:00.001Z",
		1573518342946488333: "2026-11-20T18:00:07.515Z",
		math.MaxInt64:       "2084-09-06T07:47:35.551Z",
	} {
		if got := id.Time().Format(time.RFC3339Nano); got != want {
			t.Errorf("%d: %s, want %s", id, got, want)
		}
	}
}
