package flakepass_test

import (
	"errors"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
)

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

const goldenText = "fp_1TCKi1nFuNhSECRETMARKERWXYZQVJBKGPHXU3Q2FQU"

func TestEverySingleBitFlipIsRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		text := flakepass.NewToken(randomID(r)).Reveal()
		for bit := range len(text) * 8 {
			flipped := []byte(text)
			flipped[bit/8] ^= 1 << (bit % 8)
			mustRefuse(t, string(flipped))
		}
	}
}

// CRC-32 finds every burst of up to 32 bits, and so every swapped pair and
// every typing error in up to four neighbouring characters.
func TestTypingErrorsAreRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 20_000 {
		text := []byte(flakepass.NewToken(randomID(r)).Reveal())
		at, before := r.IntN(37), string(text)
		if r.IntN(2) == 0 {
			text[at], text[at+1] = text[at+1], text[at]
		} else {
			for i := range 4 {
				text[at+i] = secretAlphabet[r.IntN(len(secretAlphabet))]
			}
		}
		if string(text) != before {
			mustRefuse(t, string(text))
		}
	}
}

func TestEveryOtherLengthIsRefused(t *testing.T) {
	for n := range len(goldenText) {
		mustRefuse(t, goldenText[:n])
		mustRefuse(t, goldenText[len(goldenText)-n:])
		mustRefuse(t, goldenText[:n]+goldenText[n+1:])
	}
	for _, more := range []string{" ", "\n", "\x00", "0", "=", "\xff", goldenText} {
		mustRefuse(t, goldenText+more)
		mustRefuse(t, more+goldenText)
	}
	mustRefuse(t, strings.Repeat(goldenText, 400))
}

// The checksum is right in every text of this test; only the alphabet is not.
func TestForeignCharactersAreRefused(t *testing.T) {
	small := textOf(big.NewInt(1), "SECRETMARKERWXYZQVJBKGPHXU")
	for at := range 40 {
		for c := range 256 {
			char := string([]byte{byte(c)})
			text := sealed(small[:at] + char + small[at+1:40])
			var known bool
			switch {
			case at < 3:
				known = char == small[at:at+1]
			case at < 14:
				known = strings.Contains(digits, char) && inRange(text)
			default:
				known = strings.Contains(secretAlphabet, char)
			}
			if known {
				mustParse(t, text)
			} else {
				mustRefuse(t, text)
			}
		}
	}
	for at := 40; at < 46; at++ {
		for c := range 256 {
			if byte(c) != small[at] {
				mustRefuse(t, small[:at]+string([]byte{byte(c)})+small[at+1:])
			}
		}
	}
}

func inRange(text string) bool {
	id := number(text[3:14])
	return id.Sign() > 0 && id.BitLen() <= 63
}

// number reads base62 digits of any count.
func number(text string) *big.Int {
	v := new(big.Int)
	for _, c := range text {
		v.Mul(v, big.NewInt(62)).Add(v, big.NewInt(int64(strings.IndexRune(digits, c))))
	}
	return v
}

func TestIDOutOfRangeIsRefused(t *testing.T) {
	const secret = "SECRETMARKERWXYZQVJBKGPHXU"
	two63, two64 := new(big.Int).Lsh(big.NewInt(1), 63), new(big.Int).Lsh(big.NewInt(1), 64)
	plus := func(a *big.Int, b int64) *big.Int { return new(big.Int).Add(a, big.NewInt(b)) }

	mustParse(t, textOf(big.NewInt(1), secret))
	mustParse(t, textOf(plus(two63, -1), secret))
	for _, id := range []*big.Int{
		big.NewInt(0), two63, plus(two63, 1), plus(two64, -1),
		two64, plus(two64, 1), plus(two64, 123456), // these wrap to small numbers in 64 bits
		plus(new(big.Int).Lsh(two64, 1), 1),
		plus(new(big.Int).Exp(big.NewInt(62), big.NewInt(11), nil), -1), // zzzzzzzzzzz
	} {
		mustRefuse(t, textOf(id, secret))
	}
}

// A checksum has one spelling: 62^6 is larger than 2^32, so a careless reader
// would take a sum plus a multiple of 2^32 for the same.
func TestChecksumHasOneSpelling(t *testing.T) {
	body, sum := goldenText[:40], number(goldenText[40:])
	for k := int64(1); k <= 12; k++ {
		other := base62(new(big.Int).Add(sum, new(big.Int).Lsh(big.NewInt(k), 32)), 6)
		if len(other) != 6 {
			t.Fatalf("checksum plus %d * 2^32 does not fit in six digits", k)
		}
		mustRefuse(t, body+other)
	}
	for zeros := 1; zeros <= 5; zeros++ {
		mustRefuse(t, body+strings.Repeat("0", zeros)+goldenText[40:])
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add(goldenText)
	f.Add(goldenKey)
	f.Add("")
	f.Add("fp_")
	f.Add(goldenText[:45])
	f.Add(goldenText + " ")
	f.Add(strings.ToUpper(goldenText))
	f.Add(textOf(big.NewInt(0), "SECRETMARKERWXYZQVJBKGPHXU"))
	f.Add(textOf(new(big.Int).Lsh(big.NewInt(1), 64), "SECRETMARKERWXYZQVJBKGPHXU"))
	f.Add(strings.Repeat("\xff", 46))
	f.Fuzz(func(t *testing.T, text string) {
		// The fuzzer cannot guess a checksum: give it the right one as well.
		texts := []string{text}
		if len(text) >= 40 {
			texts = append(texts, sealed(text[:40]))
		}
		for _, text := range texts {
			token, err := flakepass.ParseToken(text)
			var into flakepass.Token
			switch {
			case !errors.Is(into.UnmarshalText([]byte(text)), err) || into.Reveal() != token.Reveal():
				t.Errorf("UnmarshalText(%q) differs from ParseToken", text)
			case err != nil && !errors.Is(err, flakepass.ErrMalformed) && !errors.Is(err, flakepass.ErrKeyNotAccepted):
				t.Errorf("ParseToken(%q): got error %v, want ErrMalformed", text, err)
			case err != nil && !token.IsZero():
				t.Errorf("ParseToken(%q): refused, yet gave a token", text)
			case err == nil && (token.Reveal() != text || token.ID() <= 0):
				t.Errorf("ParseToken(%q): accepted as ID %d, text %q", text, token.ID(), token.Reveal())
			case err == nil && textOf(big.NewInt(int64(token.ID())), text[14:40]) != text:
				t.Errorf("ParseToken(%q): accepted, but it is not how that token is written", text)
			}
		}
	})
}
