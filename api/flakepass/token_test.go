package flakepass_test

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math/big"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unicode"

	"github.com/flakepass/flakepass/api/flakepass"
)

const secretAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

// base62 writes v in width digits. It takes its digits from math/big, which
// orders them 0-9a-zA-Z; tokens order them as ASCII does.
func base62(v *big.Int, width int) string {
	digits := strings.Map(func(r rune) rune {
		if unicode.IsLower(r) {
			return unicode.ToUpper(r)
		}
		return unicode.ToLower(r)
	}, v.Text(62))
	return strings.Repeat("0", max(0, width-len(digits))) + digits
}

// sealed appends the checksum to everything that stands before it.
func sealed(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	return body + base62(new(big.Int).SetUint64(uint64(sum)), 6)
}

// textOf is the text that a token with that ID and secret must have.
func textOf(id *big.Int, secret string) string { return sealed("fp_" + base62(id, 11) + secret) }

func mustParse(tb testing.TB, text string) flakepass.Token {
	tb.Helper()
	token, err := flakepass.ParseToken(text)
	if err != nil {
		tb.Fatalf("ParseToken(%q): %v", text, err)
	}
	return token
}

func mustRefuse(t *testing.T, text string) {
	t.Helper()
	token, err := flakepass.ParseToken(text)
	if !errors.Is(err, flakepass.ErrMalformed) {
		t.Errorf("ParseToken(%q): got error %v, want ErrMalformed", text, err)
	}
	if !token.IsZero() {
		t.Errorf("ParseToken(%q): refused, yet gave the token %v", text, token)
	}
}

// randomID has every length in bits equally often.
func randomID(r *rand.Rand) flakepass.ID {
	for {
		if id := flakepass.ID(r.Uint64() >> (1 + r.UintN(63))); id > 0 {
			return id
		}
	}
}

// The texts were computed with another language's zlib.
func TestTokenTextIsFixed(t *testing.T) {
	for _, c := range []struct {
		id           flakepass.ID
		secret, text string
	}{
		{1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "fp_00000000001ABCDEFGHIJKLMNOPQRSTUVWXYZ0gSzjR"},
		{1234567890123456789, "SECRETMARKERWXYZQVJBKGPHXU", "fp_1TCKi1nFuNhSECRETMARKERWXYZQVJBKGPHXU3Q2FQU"},
		{1<<63 - 1, "777777777777777777777777ZZ", "fp_AzL8n0Y58m7777777777777777777777777ZZ1QaTR1"},
	} {
		if got := textOf(big.NewInt(int64(c.id)), c.secret); got != c.text {
			t.Fatalf("the test's own builder: got %s, want %s", got, c.text)
		}
		token := mustParse(t, c.text)
		if token.ID() != c.id || token.Reveal() != c.text {
			t.Errorf("parsed %s: got ID %d and text %s, want ID %d", c.text, token.ID(), token.Reveal(), c.id)
		}
	}
}

func TestNewTokenHasTheText(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		id := randomID(r)
		text := flakepass.NewToken(id).Reveal()
		if len(text) != 46 || flakepass.TokenLen != 46 {
			t.Fatalf("NewToken(%d): got %d characters and TokenLen %d, want 46", id, len(text), flakepass.TokenLen)
		}
		secret := text[14:40]
		if strings.Trim(secret, secretAlphabet) != "" {
			t.Fatalf("NewToken(%d): secret %q is not in the alphabet of rand.Text", id, secret)
		}
		if want := textOf(big.NewInt(int64(id)), secret); text != want {
			t.Fatalf("NewToken(%d): got %s, want %s", id, text, want)
		}
		if got := mustParse(t, text); got.ID() != id || got.Reveal() != text {
			t.Fatalf("NewToken(%d): parsed back as ID %d, text %s", id, got.ID(), got.Reveal())
		}
	}
}

func TestNewTokenNeverRepeatsASecret(t *testing.T) {
	seen := make(map[string]bool)
	for range 20_000 {
		secret := flakepass.NewToken(7).Reveal()[14:40]
		if seen[secret] {
			t.Fatalf("secret %s was minted twice", secret)
		}
		seen[secret] = true
	}
}

func TestTextOrderIsIDOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		a, b := randomID(r), randomID(r)
		if r.IntN(4) == 0 {
			b = max(1, a-1) // neighbours carry and borrow
		}
		if a == b {
			continue
		}
		if x, y := flakepass.NewToken(a).Reveal(), flakepass.NewToken(b).Reveal(); (x < y) != (a < b) {
			t.Fatalf("IDs %d, %d are in another order than their tokens %s, %s", a, b, x, y)
		}
	}
}

func TestZeroTokenIsNoToken(t *testing.T) {
	var zero flakepass.Token
	if !zero.IsZero() || zero.ID() != 0 || zero.Reveal() != "" || zero.String() != "token(none)" {
		t.Errorf("zero Token: got IsZero %t, ID %d, text %q, String %q", zero.IsZero(), zero.ID(), zero.Reveal(), zero)
	}
	if flakepass.NewToken(1).IsZero() {
		t.Error("a minted token says that it is zero")
	}
}

func TestTokensCannotBeCompared(t *testing.T) {
	if reflect.TypeFor[flakepass.Token]().Comparable() {
		t.Error("Token is comparable: == takes the time of the first difference")
	}
}

func TestParseAndRefuseAllocateNothing(t *testing.T) {
	good := flakepass.NewToken(1 << 60).Reveal()
	mistyped := good[:20] + "0" + good[21:]
	wrongSum := good[:45] + string(good[45]^1)
	for name, text := range map[string]string{
		"accepted": good, "empty": "", "short": good[:45], "mistyped": mistyped, "checksum": wrongSum,
	} {
		if n := testing.AllocsPerRun(100, func() { _, _ = flakepass.ParseToken(text) }); n != 0 {
			t.Errorf("ParseToken of a text that is %s: got %v allocations, want 0", name, n)
		}
	}
	token := mustParse(t, good)
	if n := testing.AllocsPerRun(100, func() { _, _ = token.ID(), token.Reveal() }); n != 0 {
		t.Errorf("ID and Reveal: got %v allocations, want 0", n)
	}
}

// A Token holds a bare pointer to its text. These tests would crash, or find
// other bytes, if the garbage collector did not see it.
func TestTextOutlivesTheGarbageCollector(t *testing.T) {
	tokens := make([]flakepass.Token, 0, 30_000)
	for i := range 10_000 {
		tokens = append(tokens, flakepass.NewToken(flakepass.ID(i+1)))
		// A cut out of a larger buffer, as a header is.
		buffer := strings.Repeat("x", i%97) + flakepass.NewToken(flakepass.ID(i+1)).Reveal() + strings.Repeat("y", 500)
		tokens = append(tokens, mustParse(t, buffer[i%97:i%97+flakepass.TokenLen]))
		tokens = append(tokens, parseFromTemporary(t, flakepass.ID(i+1)))
	}
	var garbage [][]byte
	for range 3 {
		runtime.GC()
		for range 20_000 {
			garbage = append(garbage, []byte(strings.Repeat("z", 48)))
		}
	}
	runtime.KeepAlive(garbage)
	for i, token := range tokens {
		if want := flakepass.ID(i/3 + 1); mustParse(t, token.Reveal()).ID() != want {
			t.Fatalf("token %d: got ID %d, want %d", i, token.ID(), want)
		}
	}
}

// parseFromTemporary parses a string that dies, for the caller, with the
// expression: the compiler must not keep it on the stack.
//
//go:noinline
func parseFromTemporary(t *testing.T, id flakepass.ID) flakepass.Token {
	var buffer [flakepass.TokenLen]byte
	copy(buffer[:], flakepass.NewToken(id).Reveal())
	token, err := flakepass.ParseToken(string(buffer[:]))
	clear(buffer[:])
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func ExampleParseToken() {
	token := flakepass.NewToken(1234567890)
	again, err := flakepass.ParseToken(token.Reveal())
	fmt.Println(again, err)

	_, err = flakepass.ParseToken("fp_mistyped")
	fmt.Println(err)
	// Output:
	// token(1234567890) <nil>
	// not a token
}
