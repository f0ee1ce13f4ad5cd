package flakepass_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
)

// keySealed is a text of 41 characters with the checksum that a key has.
func keySealed(b string) string {
	sum, out := crc32.ChecksumIEEE([]byte(b)), [6]byte{}
	for i := 5; i >= 0; i-- {
		out[i], sum = digits[sum%62], sum/62
	}
	return b + string(out[:])
}

// goldenKey is written down, so that a change of the form is noticed: keys live for years.
const goldenKey = "fpk_1TCKi1nFuNhSECRETMARKERWXYZQVJBKGPHXU2HwMSn"

// TestKeyHasItsForm: prefix, ID, secret and checksum, each where scanners look for it.
func TestKeyHasItsForm(t *testing.T) {
	if got := keySealed(goldenKey[:41]); got != goldenKey {
		t.Fatalf("the golden key is %s", got)
	}
	k, err := flakepass.ParseServiceKey(goldenKey)
	if err != nil || k.ID().String() != goldenID || k.Reveal() != goldenKey || k.IsZero() {
		t.Errorf("%v, %v", k, err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		id := randomID(r)
		made := flakepass.NewServiceKey(id)
		text := made.Reveal()
		if len(text) != flakepass.ServiceKeyLen || keySealed(text[:41]) != text || made.ID() != id {
			t.Fatalf("made %v of %d characters", made, len(text))
		}
		if again, err := flakepass.ParseServiceKey(text); err != nil || again.ID() != id {
			t.Fatalf("%v, %v", again, err)
		}
	}
	var zero flakepass.ServiceKey
	if !zero.IsZero() || zero.ID() != 0 || zero.Reveal() != "" || zero.String() != "service key(none)" {
		t.Errorf("the zero key is %v", zero)
	}
}

// TestKeyAndTokenAreNotTakenForEachOther: each is refused in the place of the other, and
// by its name.
func TestKeyAndTokenAreNotTakenForEachOther(t *testing.T) {
	if _, err := flakepass.ParseToken(goldenKey); !errors.Is(err, flakepass.ErrKeyNotAccepted) {
		t.Errorf("a key as a token: %v", err)
	}
	if _, err := flakepass.ParseServiceKey(goldenText); !errors.Is(err, flakepass.ErrKeyMalformed) {
		t.Errorf("a token as a key: %v", err)
	}
	for _, mistyped := range []string{goldenKey[:46], goldenKey + "0", strings.ToUpper(goldenKey), goldenKey[:46] + "Q", "fpk_", "fpk_" + goldenText[3:], "fp_" + goldenKey[4:]} {
		if _, err := flakepass.ParseToken(mistyped); !errors.Is(err, flakepass.ErrMalformed) {
			t.Errorf("%s as a token: %v", mistyped, err)
		}
		if _, err := flakepass.ParseServiceKey(mistyped); !errors.Is(err, flakepass.ErrKeyMalformed) {
			t.Errorf("%s as a key: %v", mistyped, err)
		}
	}
	for text, want := range map[string]error{goldenKey: nil, goldenText: nil, "fpk_x": flakepass.ErrKeyMalformed, "x": flakepass.ErrMalformed, "": flakepass.ErrMalformed} {
		header := http.Header{"Authorization": {"Bearer " + text}}
		token, key, err := flakepass.ServiceCredential(header, "")
		if !errors.Is(err, want) || err == nil && token.Reveal()+key.Reveal() != text {
			t.Errorf("%q: %v, %v, %v", text, token, key, err)
		}
	}
	if _, _, err := flakepass.ServiceCredential(http.Header{}, ""); !errors.Is(err, flakepass.ErrMissing) {
		t.Errorf("nothing: %v", err)
	}
	if _, _, err := flakepass.ServiceCredential(http.Header{"Authorization": {"Bearer " + goldenKey, "Bearer " + goldenText}}, ""); !errors.Is(err, flakepass.ErrAmbiguous) {
		t.Errorf("two: %v", err)
	}
}

// TestKeyDoesNotPrintItself: whoever writes it by mistake writes its ID.
func TestKeyDoesNotPrintItself(t *testing.T) {
	k, err := flakepass.ParseServiceKey(goldenKey)
	if err != nil {
		t.Fatal(err)
	}
	type holder struct {
		name string
		k    flakepass.ServiceKey
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("made", "key", k, "in", holder{"x", k}, "error", fmt.Errorf("key %v", k))
	texts := []string{log.String()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		texts = append(texts, fmt.Sprintf(verb, k), fmt.Sprintf(verb, &k), fmt.Sprintf(verb, holder{"x", k}), fmt.Sprintf(verb, []any{k, map[string]any{"k": k}}))
	}
	asJSON, _ := json.Marshal(struct{ K flakepass.ServiceKey }{k})
	asXML, _ := xml.Marshal(struct{ K flakepass.ServiceKey }{k})
	for _, text := range append(texts, string(asJSON), string(asXML)) {
		if strings.Contains(text, "SECRET") || strings.Contains(text, fmt.Sprintf("%x", "SECRET")) {
			t.Errorf("shown: %s", text)
		}
	}
	if string(asJSON) != `{"K":"service key(`+goldenID+`)"}` {
		t.Errorf("in JSON: %s", asJSON)
	}
}

func FuzzParseServiceKey(f *testing.F) {
	for _, text := range []string{goldenKey, goldenText, "", "fpk_", goldenKey[:46], goldenKey + " ", strings.Repeat("\xff", 47)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		texts := []string{text}
		if len(text) >= 41 {
			texts = append(texts, keySealed(text[:41])) // the fuzzer cannot guess a checksum
		}
		for _, text := range texts {
			k, err := flakepass.ParseServiceKey(text)
			var into flakepass.ServiceKey
			if !errors.Is(into.UnmarshalText([]byte(text)), err) || into.Reveal() != k.Reveal() {
				t.Errorf("UnmarshalText(%q) differs from ParseServiceKey", text)
			}
			token, both, of := flakepass.ParseServiceCredential(text)
			_, asToken := flakepass.ParseToken(text)
			switch {
			case err != nil && (!errors.Is(err, flakepass.ErrKeyMalformed) || !k.IsZero()):
				t.Errorf("%q: %v, %v", text, k, err)
			case err == nil && (k.Reveal() != text || k.ID() <= 0 || keySealed(text[:41]) != text):
				t.Errorf("%q: accepted as %v", text, k)
			case err == nil && (of != nil || both.Reveal() != text || !token.IsZero() || !errors.Is(asToken, flakepass.ErrKeyNotAccepted)):
				t.Errorf("%q: a key, and %v, %v, %v", text, both, of, asToken)
			case asToken == nil && (of != nil || token.Reveal() != text || !both.IsZero() || err == nil):
				t.Errorf("%q: a token, and %v, %v", text, token, of)
			case err != nil && asToken != nil && of == nil:
				t.Errorf("%q: neither, and accepted", text)
			}
		}
	})
}

// TestManualHasEveryCodeOfAGuard: what a Guard says to a service key is in the list, too.
func TestManualHasEveryCodeOfAGuard(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer "+flakepass.NewServiceKey(7).Reveal())
	w := httptest.NewRecorder()
	(&flakepass.Guard{}).Admit(w, r)
	var p struct{ Code string }
	manual, err := os.ReadFile("doc.go")
	if err != nil || json.Unmarshal(w.Body.Bytes(), &p) != nil || !strings.Contains(string(manual), "//\t401  "+p.Code) {
		t.Errorf("%d %q is not in the manual, %v", w.Code, p.Code, err)
	}
}
