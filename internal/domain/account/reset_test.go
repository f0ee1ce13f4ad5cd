package account_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/invalid"
)

func TestResetTokensAreWellFormedAndDiffer(t *testing.T) {
	seen := map[account.ResetHash]bool{}
	for range 1000 {
		n := account.NewResetToken()
		text := n.Reveal()
		if !resetForm.MatchString(text) || len(text) != account.ResetTokenLen {
			t.Fatalf("not well formed: %d characters", len(text))
		}
		again, err := account.ParseResetToken(text)
		if err != nil || again.Hash() != n.Hash() {
			t.Fatalf("parsed again: %v", err)
		}
		seen[n.Hash()] = true
	}
	if len(seen) != 1000 {
		t.Errorf("%d different of 1000", len(seen))
	}
	if (account.ResetToken{}).Reveal() != "" {
		t.Error("the zero token is one")
	}
}

func TestMistypedResetTokenIsRefused(t *testing.T) {
	good := account.NewResetToken().Reveal()
	for i := range good {
		for _, c := range []string{"", "0", "Z", "é", good[i:i+1] + "A"} {
			bad := good[:i] + c + good[i+1:]
			if bad == good {
				continue
			}
			if _, err := account.ParseResetToken(bad); !errors.Is(err, account.ErrReset) {
				t.Errorf("place %d, %q: %v, want ErrReset", i, c, err)
			} else if strings.Contains(err.Error(), bad[4:20]) {
				t.Errorf("place %d: the error repeats the text", i)
			}
		}
	}
	for _, bad := range []string{"", " " + good, good + " ", strings.ToLower(good), good[4:], strings.Repeat("fpr_", 9) + "xx"} {
		if _, err := account.ParseResetToken(bad); !errors.Is(err, account.ErrReset) {
			t.Errorf("%d characters: %v", len(bad), err)
		}
	}
}

// resetForm is 26 characters of base32, which are 130 bits, and a checksum.
var resetForm = regexp.MustCompile(`^fpr_[A-Z2-7]{26}[0-9a-f]{8}$`)

func FuzzParseResetToken(f *testing.F) {
	f.Add(account.NewResetToken().Reveal())
	f.Add("fpr_" + strings.Repeat("A", 26) + "00000000")
	f.Add("fp_")
	f.Fuzz(func(t *testing.T, s string) {
		texts := []string{s}
		if len(s) >= 30 { // the fuzzer cannot guess a checksum
			texts = append(texts, fmt.Sprintf("%s%08x", s[:30], crc32.ChecksumIEEE([]byte(s[:30]))))
		}
		for _, s := range texts {
			p, err := account.ParseResetToken(s)
			switch {
			case err == nil && (p.Reveal() != s || !resetForm.MatchString(s)):
				t.Errorf("%q became %q", s, p.Reveal())
			case err != nil && (!errors.Is(err, account.ErrReset) || p.Reveal() != ""):
				t.Errorf("%q: %v", s, err)
			}
		}
	})
}

func TestResetTokenDoesNotPrint(t *testing.T) {
	token := account.NewResetToken()
	type holder struct {
		in  account.ResetToken
		Out account.ResetToken
	}
	var out bytes.Buffer
	for _, v := range []any{token, &token, holder{token, token}, &holder{token, token}, []account.ResetToken{token}, map[string]account.ResetToken{"x": token}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&out, verb, v)
		}
		if b, err := json.Marshal(v); err == nil {
			out.Write(b)
		}
		slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "v", v)
	}
	secret := token.Reveal()[4:]
	if strings.Contains(out.String(), secret) || strings.Contains(out.String(), fmt.Sprintf("%x", secret)) {
		t.Errorf("the token shows in %s", &out)
	}
}

// An invited account is opened by no password, not even by none, after the same
// work as any other.
func TestInvitedAccountHasNoPassword(t *testing.T) {
	s, users := newService(t)
	u, err := s.NewInvited(t.Context(), "Alice", account.RoleService)
	if err == nil {
		err = users.Create(t.Context(), u)
	}
	if err != nil || u.Username != "alice" || u.Role != account.RoleService || !u.PasswordHash.IsZero() || u.PasswordVersion != 1 {
		t.Fatalf("%+v, %v", u, err)
	}
	hashed := 0
	s.Hasher.Observe(true, func(string) { hashed++ })
	for _, p := range []string{"", "x", goodPassword} {
		if _, err := authenticate(s, t.Context(), account.Asker{}, "alice", account.NewPassword(p)); !errors.Is(err, account.ErrWrong) {
			t.Errorf("%q: %v, want ErrWrong", p, err)
		}
		if err := s.VerifyPassword(t.Context(), account.Asker{}, u, account.NewPassword(p)); !errors.Is(err, account.ErrWrong) {
			t.Errorf("%q: %v, want ErrWrong", p, err)
		}
	}
	if hashed != 6 {
		t.Errorf("%d hashes for 6 attempts", hashed)
	}
	if _, err := s.NewInvited(t.Context(), "ALICE", account.RoleUser); !errors.Is(err, account.ErrExists) {
		t.Errorf("the name again: %v", err)
	}
	_, err = s.NewInvited(t.Context(), "a", "root")
	if bad, ok := errors.AsType[*invalid.Error](err); !ok || len(bad.Fields) != 2 || bad.Fields[0].Code != account.CodeTooShort || bad.Fields[1].Code != account.CodeUnknown {
		t.Errorf("both wrong: %v", err)
	}
	users.lookup = errors.New("connection lost")
	if _, err := s.NewInvited(t.Context(), "bob", account.RoleUser); !errors.Is(err, users.lookup) {
		t.Errorf("store away: %v", err)
	}
}
