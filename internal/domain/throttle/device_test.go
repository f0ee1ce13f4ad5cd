package throttle_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/throttle"
)

// A credential is of one account, one deployment and 90 days, stays that of the same
// device when it is renewed, and neither prints nor tells the name.
func TestDeviceCredentialIsOfOneAccount(t *testing.T) {
	g := gate(t, nil)
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	g.Now = func() time.Time { return now }
	c := g.NewDevice(throttle.Attempt{Account: "ada"})
	known := func(account string, c throttle.DeviceCredential) bool {
		t.Helper()
		taken, err := g.Login(t.Context(), throttle.Attempt{Account: account, Address: away, Credential: c})
		if err != nil {
			t.Fatal(err)
		}
		g.Return(t.Context(), taken)
		return taken.Known
	}
	if !known("ada", c) || known("bob", c) || known("nobody", g.NewDevice(throttle.Attempt{Account: "nobody"})) {
		t.Error("a credential is known for another than its account")
	}
	now = now.Add(89 * 24 * time.Hour)
	renewed := g.NewDevice(throttle.Attempt{Account: "ada", Credential: c})
	now = now.Add(2 * 24 * time.Hour)
	if known("ada", c) || !known("ada", renewed) {
		t.Error("a credential is known for 90 days from its issue")
	}
	if c.Reveal()[:25] != renewed.Reveal()[:25] || c.Reveal()[:25] == g.NewDevice(throttle.Attempt{Account: "ada"}).Reveal()[:25] {
		t.Error("renewed, it is that of another device")
	}
	text := c.Reveal()
	for i := range len(text) {
		b := []byte(text)
		b[i] ^= 1
		if _, err := throttle.ParseDeviceCredential(string(b)); err == nil {
			t.Errorf("changed at %d it is taken", i)
		}
	}
	printed, _ := json.Marshal(map[string]any{"c": c})
	all := fmt.Sprintf("%v %+v %#v %s %q %s %v", c, c, c, c, struct{ C throttle.DeviceCredential }{c}, printed, slog.AnyValue(c).Resolve())
	if strings.Contains(all, text[4:20]) {
		t.Errorf("it prints itself: %s", all)
	}
}

func FuzzParseDeviceCredential(f *testing.F) {
	g := &throttle.Gate{Key: []byte("secret")}
	f.Add(g.NewDevice(throttle.Attempt{Account: "ada"}).Reveal())
	f.Add("fpd_")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := throttle.ParseDeviceCredential(text)
		if (err == nil) != !c.IsZero() || err == nil && c.Reveal() != text {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
