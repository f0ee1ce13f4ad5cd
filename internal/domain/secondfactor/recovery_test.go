package secondfactor_test

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/secondfactor"
)

// TestOnlyHashesOfRecoveryCodesAreKept: a reader of the table can use none. A
// plain hash is enough for codes of 112 bits and more (OWASP ASVS 5.0, 6.5.2).
func TestOnlyHashesOfRecoveryCodesAreKept(t *testing.T) {
	w, secret, codes := enrolled(t)
	kept := w.kept.kept
	if len(kept.Recovery) != secondfactor.RecoveryCodes*sha256.Size {
		t.Errorf("%d bytes are kept of %d codes", len(kept.Recovery), len(codes))
	}
	for i, c := range codes {
		text := strings.ReplaceAll(c.Reveal(), "-", "")
		if bits := 5 * len(text); bits < 112 { // base 32
			t.Errorf("code %d has %d bits", i, bits)
		}
		if bytes.Contains(kept.Recovery, []byte(text)[:16]) {
			t.Errorf("code %d is kept as it is", i)
		}
	}
	if bytes.Contains(kept.Sealed, []byte(secret)) {
		t.Error("the secret is kept as it is")
	}
}

// TestSecretsAndCodesDiffer: of 160 and of 120 random bits no two are the same.
func TestSecretsAndCodesDiffer(t *testing.T) {
	seen := map[string]bool{}
	const people = 20
	for range people {
		_, secret, codes := enrolled(t)
		if len(secret) < 32 { // base 32
			t.Errorf("a secret of %d characters", len(secret))
		}
		seen[secret] = true
		for _, c := range codes {
			seen[c.Reveal()] = true
		}
	}
	if want := people * (1 + secondfactor.RecoveryCodes); len(seen) != want {
		t.Errorf("%d different ones, want %d", len(seen), want)
	}
}
