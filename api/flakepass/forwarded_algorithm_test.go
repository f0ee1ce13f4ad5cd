package flakepass_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"hash"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
)

// TestOneAlgorithmSigns: a forwarded identity is believed with an HMAC-SHA-256,
// which is computed here a second time, and with nothing else, whatever the header
// says of itself.
func TestOneAlgorithmSigns(t *testing.T) {
	key := forwardKey(t, keyText)
	guard := &flakepass.Guard{Forwarded: &flakepass.Forwarded{Keys: []flakepass.ForwardKey{key}}}
	signed := forwardedHeader(t, key, "GET", "/orders")
	at, good, _ := strings.Cut(signed.Get("X-Auth-Signature"), ".")
	sum := func(mac hash.Hash) string {
		lines := []string{"flakepass forwarded identity 1", at, "GET", "/orders"}
		for _, name := range []string{"User-Id", "Username", "Role", "Session-Id", "Expires-In", "Idle-Expires-In"} {
			lines = append(lines, signed.Get("X-Auth-"+name))
		}
		mac.Write([]byte(strings.Join(lines, "\n") + "\n"))
		return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	}
	for name, c := range map[string]struct {
		signature string
		want      bool
	}{
		"HMAC-SHA-256":               {at + "." + sum(hmac.New(sha256.New, []byte(keyText))), true},
		"HMAC-SHA-512/256":           {at + "." + sum(hmac.New(sha512.New512_256, []byte(keyText))), false},
		"HMAC-SHA-512":               {at + "." + sum(hmac.New(sha512.New, []byte(keyText))), false},
		"HMAC-SHA-1":                 {at + "." + sum(hmac.New(sha1.New, []byte(keyText))), false},
		"SHA-256 without a key":      {at + "." + sum(sha256.New()), false},
		"HMAC-SHA-256, empty key":    {at + "." + sum(hmac.New(sha256.New, nil)), false},
		"half of it":                 {at + "." + good[:len(good)/2], false},
		"nothing":                    {at + ".", false},
		"no second part":             {at, false},
		"none":                       {at + ".none", false},
		"named, none":                {"none." + at + ".", false},
		"named, and right otherwise": {"hs256." + at + "." + good, false},
		"named behind":               {at + "." + good + ".none", false},
	} {
		h := signed.Clone()
		h.Set("X-Auth-Signature", c.signature)
		if _, ok := guard.Admit(httptest.NewRecorder(), forwarded(t, "9.9.9.9:1", h)); ok != c.want {
			t.Errorf("%s: believed %t, want %t", name, ok, c.want)
		}
	}
}
