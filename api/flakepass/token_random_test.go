package flakepass_test

import (
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
)

// TestEveryLetterOfTheSecretIsDrawn: each of its 26 places takes each of the 32
// letters, so the secret has 26 times 5 bits. That one is missing by chance in
// 20,000 tokens happens once in 10^272.
func TestEveryLetterOfTheSecretIsDrawn(t *testing.T) {
	const places = 26
	var drawn [places]map[byte]bool
	for i := range drawn {
		drawn[i] = make(map[byte]bool)
	}
	for range 20_000 {
		secret := flakepass.NewToken(7).Reveal()[14:40]
		for i := range places {
			drawn[i][secret[i]] = true
		}
	}
	for i, letters := range drawn {
		if len(letters) != 32 {
			t.Errorf("place %d of the secret takes %d letters, want 32", i, len(letters))
		}
	}
}
