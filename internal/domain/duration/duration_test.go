package duration_test

import (
	"testing"

	"github.com/flakepass/flakepass/internal/domain/duration"
)

// FuzzParse: what is read is never below 0, and is read again as it is written.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"14d", "1d12h", "90m", "106751d23h47m16s", "1d1d", "999999999999999999s", "0d0h0m0s", "\xff", "1d\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := duration.Parse(text)
		if err != nil {
			return
		}
		if again, err := duration.Parse(duration.Format(d)); d < 0 || err != nil || again != d {
			t.Errorf("%q is %v, written %s, read %v, %v", text, d, duration.Format(d), again, err)
		}
	})
}
