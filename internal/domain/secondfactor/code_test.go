package secondfactor_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/secondfactor"
)

// People type spaces, and phones send what looks like a digit.
func TestCodesAreReadAsPeopleTypeThem(t *testing.T) {
	for typed, want := range map[string]string{
		"123456": "123456", " 123 456 ": "123456", "123-456": "123456", "１２３４５６": "123456", "123\u00a0456": "123456", "１２３　４５６": "123456",
		"0000-1111-2222-3333-4444-abcd": "00001111222233334444ABCD",
		"oooo iiii 2222 3333 4444 lbcd": "000011112222333344441BCD", "ＡＢＣＤ-1111-2222-3333-4444-5555": "ABCD11112222333344445555",
	} {
		if got := secondfactor.NewCode(typed); got.Reveal() != want || !got.Given() {
			t.Errorf("%q: not read as meant", typed)
		}
	}
	for _, typed := range []string{"12345", "1234567", "١٢٣٤٥٦", "12345a", "password", strings.Repeat("1", 200), "0000-1111-2222-3333-4444-555U", "\xff\xfe"} {
		if got := secondfactor.NewCode(typed); got.Reveal() != "" || !got.Given() {
			t.Errorf("%q was read as a code", typed)
		}
	}
	for _, typed := range []string{"", "  ", "\u3000", "-"} {
		if secondfactor.NewCode(typed).Given() {
			t.Errorf("%q counts as a code", typed)
		}
	}
}

// The vectors of RFC 6238 appendix B for SHA-1, of which six digits are shown.
func TestCodesAreThoseOfTheRFC(t *testing.T) {
	for at, want := range map[int64]string{
		59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037",
	} {
		if !secondfactor.Fits("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", want, time.Unix(at, 0)) {
			t.Errorf("at %d the code is not %s", at, want)
		}
	}
}

// FuzzNewCode: what is typed is a code in its one spelling, or none; and no text
// that is none is taken.
func FuzzNewCode(f *testing.F) {
	for _, s := range []string{"123456", "１２３ ４５６", "0000-1111-2222-3333-4444-5555", "", "-", "O", "\xff", strings.Repeat("9", 129)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		c := secondfactor.NewCode(typed)
		text := c.Reveal()
		if n := len(text); n != 0 && n != 6 && n != 24 {
			t.Fatalf("a code of %d letters", n)
		}
		if text != "" && (!c.Given() || secondfactor.NewCode(text).Reveal() != text) {
			t.Fatal("a code is read otherwise the second time")
		}
		if strings.Contains(fmt.Sprintf("%+v", c), text) && text != "" {
			t.Fatal("a code prints itself")
		}
	})
}

// FuzzRedeem: no text but a ticket is one.
func FuzzRedeem(f *testing.F) {
	f.Add("AAAA")
	f.Add("")
	f.Add("Af2C65w" + strings.Repeat("A", 37)) // with the ID of the key: what is encrypted is another
	f.Add("Af2C65wA")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := newWorld(t).Redeem(text); !errors.Is(err, secondfactor.ErrTicket) {
			t.Fatalf("%v", err)
		}
	})
}
