package cli

import (
	"strings"
	"testing"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/domain/limit"
)

// What is shown of a limit can be typed as it is.
func TestLimitIsReadAsItIsShown(t *testing.T) {
	want := limit.Default()
	var got limit.Limits
	for _, name := range limitNames {
		var c limitChange
		if err := c.UnmarshalText([]byte(name + "=" + limitText(&want, name))); err != nil {
			t.Fatal(err)
		}
		changeLimits(&got, []limitChange{c})
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if back := limitsIn(&wire.Policy{Limits: want.Doc()}); back != want {
		t.Errorf("through the API: %+v", back)
	}
	changeLimits(&got, []limitChange{{"login-place", want.LoginPlace[2:3]}})
	if n := got.Place(); n != 1 {
		t.Errorf("%d rules of a place, want the one that was given", n)
	}
}

func FuzzLimitChange(f *testing.F) {
	for _, text := range []string{"login-place=5/1m,20/1h,50/1d", "register=1/1s", "register=0/0s", "introspect=99999999999/1d", "login-place=,", "=", "login-address=5/99999999d"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var c limitChange
		if err := c.UnmarshalText([]byte(text)); err != nil {
			return
		}
		l := limit.Default()
		changeLimits(&l, []limitChange{c})
		for _, r := range c.rules {
			if r.None() {
				t.Fatalf("%q is read as no limit", text)
			}
		}
		var again limitChange
		if err := again.UnmarshalText([]byte(c.name + "=" + limitText(&l, c.name))); err != nil {
			t.Fatalf("%q is shown as %q: %v", text, limitText(&l, c.name), err)
		}
		if strings.Contains(text, "=") && len(again.rules) != len(c.rules) {
			t.Fatalf("%q: %v, then %v", text, c, again)
		}
	})
}
