package secondfactor

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"errors"
	"testing"
)

var sealKey = bytes.Repeat([]byte{'k'}, KeyLength)

func sealKeys(t *testing.T) Keys {
	t.Helper()
	k, err := NewKeys(sealKey)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestSealIsAES256GCM: it is opened here without our code, and with the key of 256
// bits.
func TestSealIsAES256GCM(t *testing.T) {
	sealed := sealKeys(t).seal(forSecret, 7, []byte("text"))
	id := sha256.Sum256(append([]byte("flakepass second factor key "), sealKey...))
	if !bytes.HasPrefix(sealed, append([]byte{1}, id[:4]...)) || len(sealed) != 5+12+len("text")+16 {
		t.Fatalf("%x: want a version, 4 bytes that name the key, a nonce of 96 bits, the text and 128 bits of proof", sealed)
	}
	block, err := aes.NewCipher(sealKey)
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	text, err := gcm.Open(nil, sealed[5:17], sealed[17:], []byte("secret\x00\x00\x00\x00\x00\x00\x00\x00\x07"))
	if err != nil || string(text) != "text" {
		t.Errorf("opened %q, %v", text, err)
	}
	for _, n := range []int{0, 16, 24, 31, 33} {
		if _, err := NewKeys(make([]byte, n)); !errors.Is(err, ErrKeys) {
			t.Errorf("a key of %d bytes: %v, want ErrKeys", n, err)
		}
	}
}

// TestEveryChangeOfWhatIsSealedIsNoticed: of each bit of it, of the user and of the
// purpose.
func TestEveryChangeOfWhatIsSealedIsNoticed(t *testing.T) {
	k := sealKeys(t)
	sealed := k.seal(forSecret, 7, []byte("text"))
	if text, err := k.open(forSecret, 7, sealed); err != nil || string(text) != "text" {
		t.Fatalf("opened %q, %v", text, err)
	}
	for i := range len(sealed) * 8 {
		changed := bytes.Clone(sealed)
		changed[i/8] ^= 1 << (i % 8)
		if text, err := k.open(forSecret, 7, changed); !errors.Is(err, ErrSealed) {
			t.Errorf("bit %d is another: opened %q, %v", i, text, err)
		}
	}
	for i := range sealed {
		if text, err := k.open(forSecret, 7, sealed[:i]); !errors.Is(err, ErrSealed) {
			t.Errorf("cut after %d bytes: opened %q, %v", i, text, err)
		}
	}
	if text, err := k.open(forSecret, 8, sealed); !errors.Is(err, ErrSealed) {
		t.Errorf("as another user's: opened %q, %v", text, err)
	}
	if text, err := k.open(forTicket, 7, sealed); !errors.Is(err, ErrSealed) {
		t.Errorf("for another purpose: opened %q, %v", text, err)
	}
}

// TestNoNonceComesTwice: the same text, sealed again and again.
func TestNoNonceComesTwice(t *testing.T) {
	k := sealKeys(t)
	seen := map[[12]byte]bool{}
	for range 10_000 {
		nonce := [12]byte(k.seal(forSecret, 7, []byte("text"))[5:17])
		if seen[nonce] {
			t.Fatalf("nonce %x came twice", nonce)
		}
		seen[nonce] = true
	}
}
