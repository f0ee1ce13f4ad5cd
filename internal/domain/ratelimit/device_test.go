//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package ratelimit_test

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/internal/domain/ratelimit"
)

// A credential is of one account, one deployment and 90 days, stays that of the same
// device when it is renewed, and neither prints nor contains the name.
func TestDeviceCredentialIsOfOneAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := limiter(t, nil)
		c := g.NewDevice(ratelimit.Attempt{Account: "ada"})
		known := func(account string, c ratelimit.DeviceCredential) bool {
			t.Helper()
			taken, err := g.Login(t.Context(), ratelimit.Attempt{Account: account, Address: away, Credential: c})
			if err != nil {
				t.Fatal(err)
			}
			g.Return(t.Context(), taken)
			return taken.Known
		}
		if !known("ada", c) || known("bob", c) || known("nobody", g.NewDevice(ratelimit.Attempt{Account: "nobody"})) {
			t.Error("a credential is known for another than its account")
		}
		time.Sleep(89 * 24 * time.Hour)
		renewed := g.NewDevice(ratelimit.Attempt{Account: "ada", Credential: c})
		time.Sleep(2 * 24 * time.Hour)
		if known("ada", c) || !known("ada", renewed) {
			t.Error("a credential is known for 90 days from its issue")
		}
		if c.Reveal()[:25] != renewed.Reveal()[:25] || c.Reveal()[:25] == g.NewDevice(ratelimit.Attempt{Account: "ada"}).Reveal()[:25] {
			t.Error("renewed, it is that of another device")
		}
		text := c.Reveal()
		for i := range len(text) {
			b := []byte(text)
			b[i] ^= 1
			if _, err := ratelimit.ParseDeviceCredential(string(b)); err == nil {
				t.Errorf("changed at %d it is taken", i)
			}
		}
		printed, _ := json.Marshal(map[string]any{"c": c})
		all := fmt.Sprintf("%v %+v %#v %s %q %s %v", c, c, c, c, struct{ C ratelimit.DeviceCredential }{c}, printed, slog.AnyValue(c).Resolve())
		if strings.Contains(all, text[4:20]) {
			t.Errorf("it prints itself: %s", all)
		}
	})
}

// deviceForm is 39 bytes in base64 and a checksum.
var deviceForm = regexp.MustCompile(`^fpd_[\w-]{52}[0-9a-f]{8}$`)

func FuzzParseDeviceCredential(f *testing.F) {
	g := &ratelimit.Limiter{Key: []byte("secret")}
	f.Add(g.NewDevice(ratelimit.Attempt{Account: "ada"}).Reveal())
	f.Add("fpd_")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		texts := []string{text}
		if len(text) >= 56 { // the fuzzer cannot guess a checksum
			texts = append(texts, fmt.Sprintf("%s%08x", text[:56], crc32.ChecksumIEEE([]byte(text[:56]))))
		}
		for _, text := range texts {
			c, err := ratelimit.ParseDeviceCredential(text)
			if (err == nil) != !c.None() || err == nil && (c.Reveal() != text || !deviceForm.MatchString(text)) {
				t.Fatalf("%q: %v", text, err)
			}
		}
	})
}
